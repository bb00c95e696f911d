"""The surroundings of a stage: a network in memory, a clock and random source held by the test, and its hints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from waypost.adapters.local.hints import ProcessHints
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.http_transport import ConnectFailed, ConnectionCut, HttpReply, ReplyTimedOut, ReplyTooLarge
from waypost_testing.simulation.asgi import AsgiApp, SimulatedCall, SimulatedRequest, scope_of

WAYPOST = "http://waypost.test"
SANDBOX = "http://sandbox.test"


class Network:
    """Hosts in memory. A caller who gives up leaves the other side working, as on a real network."""

    def __init__(self) -> None:
        self.hosts: dict[str, AsgiApp] = {}
        self.unreachable: set[str] = set()
        self.lost_on_the_way: set[str] = set()
        self.late = asyncio.Event()
        self.late.set()
        """Cleared: the provider's replies are held back after it has acted, until it is set again. A test that puts
        another event here holds back only the replies to earlier requests."""
        self.asked = 0
        """Requests, so far."""
        self._under_way: set[asyncio.Task[None]] = set()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> HttpReply:
        self.asked += 1
        late = self.late  # not when the reply comes: the test may have put another event there
        request = SimulatedRequest(method, url, headers, body)
        if request.host in self.unreachable or request.host not in self.hosts:
            raise ConnectFailed("no connection could be made")
        answered: asyncio.Future[HttpReply | None] = asyncio.get_running_loop().create_future()
        if request.host not in self.lost_on_the_way:
            self._start(request, answered)
        try:
            async with asyncio.timeout(timeout):
                reply = await answered
                if url.startswith(f"{SANDBOX}/v"):
                    await late.wait()
        except TimeoutError:
            raise ReplyTimedOut(f"no answer within {timeout:g} s") from None
        if reply is None:
            raise ConnectionCut("the connection broke before a whole answer came")
        if limit is not None and len(reply.body) > limit:
            raise ReplyTooLarge(f"the answer has more than {limit} bytes")
        return reply

    def _start(self, request: SimulatedRequest, answered: asyncio.Future[HttpReply | None]) -> None:
        call = SimulatedCall(scope_of(request, "test", {}), request.body, lambda reply: _tell(answered, reply))
        task = asyncio.ensure_future(call.run(self.hosts[request.host]))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


def _tell(answered: asyncio.Future[HttpReply | None], reply: HttpReply | None) -> None:
    if not answered.done():
        answered.set_result(reply)


class SharedTime:
    """The sandbox's clock: the test's own time, but its pauses are real and short."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> Instant:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))


class SetDice:
    """Returns what the test set."""

    shows = 0.0

    def unit(self) -> float:
        return self.shows


class AudibleHints(ProcessHints):
    """Also notifies the test that something has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.something = asyncio.Event()
        self.deaf = False
        """Set: no listener is woken, as when hints are lost."""

    def deliver(self, topics: Iterable[str]) -> None:
        self.something.set()
        if not self.deaf:
            super().deliver(topics)
