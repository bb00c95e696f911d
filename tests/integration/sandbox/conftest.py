"""A sandbox in memory: virtual time, counted ids, and a webhook receiver that answers as it is told."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from waypost.model.time import Instant, Span
from waypost.ports.platform.http_transport import ConnectionCut, HttpReply, TransportError
from waypost.sandbox import Sandbox, SandboxLimits, SandboxNumber, SandboxTiming

NUMBER = SandboxNumber(
    phone_number_id="106540352242922",
    waba_id="102290129340398",
    token="EAAtoken",
    app_secret="app-secret",
    verify_token="verify-me",
    webhook_url="https://waypost.test/hook",
    display_phone_number="15550783881",
)
OTHER_NUMBER = SandboxNumber(
    phone_number_id="206540352242922",
    waba_id="202290129340398",
    token="EAAother",
    app_secret="other-secret",
    webhook_url="https://other.test/hook",
    display_phone_number="15550783882",
)
START = Instant(1_760_000_000_000_000)
PHONE = "16505551234"


JUNK: list[Any] = [None, True, 0, -1.5, "", "x", "x" * 5000, [], [1], [{}], {}, {"type": {}}]


def broken_copies(value: Any) -> Iterator[Any]:
    """Every copy in which one thing inside is left out or replaced by junk."""
    if isinstance(value, dict):
        for key, inner in value.items():
            rest = {other: kept for other, kept in value.items() if other != key}
            yield rest
            yield from ({**rest, key: junk} for junk in JUNK)
            yield from ({**rest, key: broken} for broken in broken_copies(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], broken, *value[place + 1 :]] for broken in [*JUNK, *broken_copies(inner)])


class VirtualClock:
    """Time that passes only when everybody waits: the next sleeper wakes after the loop had its turns."""

    def __init__(self) -> None:
        self._now = START
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._pump: asyncio.Task[None] | None = None

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return self._now / 1_000_000

    async def sleep(self, span: Span) -> None:
        waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._now + span, self._count, waking))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._wake_in_turn())
        await waking

    async def _wake_in_turn(self) -> None:
        while self._sleepers:
            for _ in range(20):
                await asyncio.sleep(0)
            wakes, _, waking = heapq.heappop(self._sleepers)
            self._now = Instant(max(self._now, wakes))
            if not waking.done():
                waking.set_result(None)


class LoadedDice:
    def __init__(self) -> None:
        self.throws: list[float] = []

    def unit(self) -> float:
        return self.throws.pop(0)


class CountedIds:
    def __init__(self) -> None:
        self._count = 0

    def token(self, size: int = 24) -> str:
        self._count += 1
        return f"{self._count:0{size}d}"


class Post(msgspec.Struct):
    url: str
    headers: dict[str, str]
    body: bytes
    at: Instant

    @property
    def value(self) -> dict[str, Any]:
        content: dict[str, Any] = msgspec.json.decode(self.body)["entry"][0]["changes"][0]["value"]
        return content

    @property
    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = self.value["statuses"][0]
        return told


class Receiver:
    """The server under test as the sandbox sees it; `answers` are given first, then 200 for ever."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.answers: list[int | TransportError] = []
        self.posts: list[Post] = []
        self.gets: list[str] = []
        self.challenge_token = NUMBER.verify_token

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
        if method == "GET":
            self.gets.append(url)
            challenge = url.split("hub.challenge=")[1].split("&", maxsplit=1)[0]
            return HttpReply(200 if self.challenge_token in url else 403, {}, challenge.encode())
        self.posts.append(Post(url, dict(headers), body, self._clock.now()))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, TransportError):
            raise answer
        return HttpReply(answer, {}, b"")

    def statuses(self) -> list[str]:
        return [post.status["status"] for post in self.posts if "statuses" in post.value]


class RigResponse(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> dict[str, Any]:
        told: dict[str, Any] = self.json["error"]
        return told


class Rig:
    """A sandbox and everything around it, spoken to as over HTTP."""

    def __init__(self, keep: SandboxLimits = SandboxLimits(), enforce_window: bool = False) -> None:  # noqa: B008 - frozen
        self.clock = VirtualClock()
        self.dice = LoadedDice()
        self.receiver = Receiver(self.clock)
        self.sandbox = Sandbox(
            self.clock,
            self.dice,
            CountedIds(),
            self.receiver,
            [NUMBER, OTHER_NUMBER],
            "http://sandbox.test",
            timing=SandboxTiming(),
            keep=keep,
            enforce_window=enforce_window,
        )

    async def call(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        body: bytes | None = None,
        token: str | None = NUMBER.token,
        headers: dict[str, str] | None = None,
    ) -> RigResponse:
        sent = dict(headers or {})
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        content = body if body is not None else b"" if json is None else msgspec.json.encode(json)
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        }
        return await self._exchange(scope, content)

    async def _exchange(self, scope: dict[str, Any], content: bytes) -> RigResponse:
        heard: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(event: Any) -> None:
            heard.append(event)

        await self.sandbox(scope, receive, send)
        if heard[-1].get("more_body"):
            raise ConnectionCut("the answer stopped half way")
        headers = {name.decode(): value.decode() for name, value in heard[0]["headers"]}
        return RigResponse(heard[0]["status"], headers, b"".join(event["body"] for event in heard[1:]))

    async def send(self, message: dict[str, Any] | None = None, to: str = f"+{PHONE}", **more: Any) -> RigResponse:
        """A message of the first number; a plain text unless told otherwise."""
        content = {"type": "text", "text": {"body": "hello"}} if message is None else message
        body = {"messaging_product": "whatsapp", "to": to, **content, **more}
        return await self.call("POST", f"/v25.0/{NUMBER.phone_number_id}/messages", body)

    async def control(self, method: str, path: str, json: object = None) -> RigResponse:
        return await self.call(method, f"/_sandbox/{path}", json, token=None)

    async def fault(self, **fault: Any) -> None:
        heard = await self.control("POST", "faults", fault)
        assert heard.status == 201, heard.body

    async def screen(self, phone: str = PHONE) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = (await self.control("GET", f"phones/{phone}/screen")).json["messages"]
        return shown

    async def calls(self, to: str | None = None) -> list[dict[str, Any]]:
        heard = await self.control("GET", "calls" + ("" if to is None else f"?to={to}"))
        listed: list[dict[str, Any]] = heard.json["calls"]
        return listed


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    await made.sandbox.close()
