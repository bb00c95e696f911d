"""HTTP between simulated processes: late, lost, doubled, cut, or exactly as sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVarTuple, Unpack

from waypost.model.time import Span, as_seconds
from waypost.ports.platform.http_transport import (
    ConnectFailed,
    ConnectionCut,
    HttpReply,
    ReplyTimedOut,
    ReplyTooLarge,
    TransportError,
)
from waypost_testing.simulation.asgi import AsgiApp, SimulatedCall, SimulatedRequest
from waypost_testing.simulation.chance import RandomStreams
from waypost_testing.simulation.host import SimulatedHost
from waypost_testing.simulation.life import context_of
from waypost_testing.simulation.loop import SimulationLoop
from waypost_testing.simulation.node import Node
from waypost_testing.simulation.trace import Trace
from waypost_testing.simulation.weather import CALM, Loss, NetworkConditions, Outage, RequestCopy, RequestFate, draw

Ts = TypeVarTuple("Ts")
NetworkResult = HttpReply | TransportError

_UNAVAILABLE = HttpReply(status=503, headers={"content-type": "text/plain"}, body=b"Service Unavailable")


class Exchange:
    """One request of a caller, and the fate of its copies."""

    def __init__(
        self, serial: int, source: str, request: SimulatedRequest, answer: asyncio.Future[NetworkResult]
    ) -> None:
        self.serial = serial
        self.source = source
        self.target = request.host
        self.request = request
        self.answer = answer
        self.reached = False
        self.refused = False
        self.calls: list[SimulatedCall] = []

    def hang_up(self) -> None:
        for call in self.calls:
            call.hang_up()


class SimulatedTransport:
    """The HTTP transport of one node. A sent request travels on even when the sender dies."""

    def __init__(self, network: Network, node: Node) -> None:
        self._network = network
        self._node = node

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
        exchange = self._network.send(self._node.name, SimulatedRequest(method, url, headers, body))
        try:
            async with asyncio.timeout(timeout):
                outcome = await exchange.answer
        except TimeoutError as late:
            self._network.abandon(exchange, "timed-out")
            raise ReplyTimedOut(f"{method} {url}: no reply within {timeout} s") from late
        except asyncio.CancelledError:
            self._network.abandon(exchange, "cancelled")
            raise
        if isinstance(outcome, TransportError):
            raise outcome
        if limit is not None and len(outcome.body) > limit:
            raise ReplyTooLarge(f"{method} {url}: more than {limit} bytes")
        return outcome


class Network:
    """Hosts are names in URLs, ports are ignored. Faults: conditions per route, partitions and outages.

    A route runs from a node's name to a host's name.
    """

    def __init__(self, loop: SimulationLoop, chance: RandomStreams, trace: Trace) -> None:
        self._loop = loop
        self._chance = chance
        self._trace = trace
        self._hosts: dict[str, SimulatedHost] = {}
        self._weathers: dict[tuple[str | None, str | None], NetworkConditions] = {}
        self._parted: set[tuple[str, str]] = set()
        self._outages: dict[str, Outage] = {}
        self._context = context_of(loop.world)
        self._sent = 0
        self.faults: Counter[str] = Counter()
        """What the conditions of a route did to requests, by kind."""

    # Hosts

    def transport(self, node: Node) -> SimulatedTransport:
        return SimulatedTransport(self, node)

    def listen(self, name: str, node: Node, app: AsgiApp) -> SimulatedHost:
        """Open at once, without a lifespan. A later host of the same name replaces it."""
        host = SimulatedHost(name, node, app)
        return self._open(host)

    async def boot(self, name: str, node: Node, app: AsgiApp) -> SimulatedHost:
        """Run the app's lifespan startup, then listen, as a server does."""
        host = SimulatedHost(name, node, app)
        await host.startup()
        return self._open(host)

    def _open(self, host: SimulatedHost) -> SimulatedHost:
        host.open = True
        self._hosts[host.name] = host
        self._trace.note("listen", host=host.name, node=host.node.name)
        return host

    # Faults

    def set_conditions(
        self, weather: NetworkConditions, *, source: str | None = None, target: str | None = None
    ) -> None:
        """For one route, for all routes from `source` or to `target`, or for all. The most specific one applies."""
        self._weathers[source, target] = weather

    def part(self, a: str, b: str, *, both: bool = True) -> None:
        """Lose everything that travels from `a` to `b` (and back): names of nodes or hosts."""
        self._parted |= {(a, b), (b, a)} if both else {(a, b)}
        self._trace.note("part", a=a, b=b, both=both)

    def join(self, a: str, b: str) -> None:
        self._parted -= {(a, b), (b, a)}
        self._trace.note("join", a=a, b=b)

    def fail(self, host: str, outage: Outage) -> None:
        self._outages[host] = outage
        self._trace.note("outage", host=host, how=outage.value)

    def heal(self, host: str) -> None:
        self._outages.pop(host, None)
        self._trace.note("healed", host=host)

    def _weather(self, source: str, target: str) -> NetworkConditions:
        routes = ((source, target), (None, target), (source, None), (None, None))
        return next((self._weathers[route] for route in routes if route in self._weathers), CALM)

    def _is_parted(self, source: str, target: str) -> bool:
        """Either name of each end counts: the node's, and that of the host it serves."""
        if not self._parted:
            return False
        ends = [self._hosts[name].node.name if name in self._hosts else name for name in (source, target)]
        return not self._parted.isdisjoint({(a, b) for a in (source, ends[0]) for b in (target, ends[1])})

    # Travel

    def send(self, source: str, request: SimulatedRequest) -> Exchange:
        self._sent += 1
        exchange = Exchange(self._sent, source, request, self._loop.create_future())
        fate = self._fate(exchange)
        self.faults.update({"connection refused": fate.refused, "request doubled": len(fate.flights) - 1})
        self._note("send", exchange, method=request.method, path=request.target, size=len(request.body))
        if fate.refused:
            self._later(fate.flights[0].out, self._refuse, exchange, fate.flights[0])
            return exchange
        for flight in fate.flights:
            self._later(flight.out, self._arrive, exchange, flight)
        return exchange

    def abandon(self, exchange: Exchange, why: str) -> None:
        """The caller stops waiting; the other side learns of it a little later."""
        self._note("abandon", exchange, why=why)
        self._later(self._weather(exchange.source, exchange.target).latency[0], exchange.hang_up)

    def _fate(self, exchange: Exchange) -> RequestFate:
        stream = self._chance.stream(f"network:{exchange.source}>{exchange.target}")
        return draw(self._weather(exchange.source, exchange.target), stream)

    def _arrive(self, exchange: Exchange, flight: RequestCopy) -> None:
        outage, host = self._outages.get(exchange.target), self._hosts.get(exchange.target)
        if exchange.refused:
            return  # no connection was made, so there is nothing to double
        if flight.request_loss is not None:
            self._lose("request-lost", exchange, flight, flight.request_loss)
        elif outage is Outage.SILENT or self._is_parted(exchange.source, exchange.target):
            self._lose("request-lost", exchange, flight, Loss.SILENT)
        elif outage is Outage.REFUSING or host is None or not host.up:
            self._refuse(exchange, flight)
        elif outage is Outage.ERRORS:
            self._send_back(exchange, flight, _UNAVAILABLE)
        else:
            self._serve(host, exchange, flight)

    def _serve(self, host: SimulatedHost, exchange: Exchange, flight: RequestCopy) -> None:
        exchange.reached = True
        self._note("arrive", exchange, echo=flight.echo)

        def answered(reply: HttpReply | None, error: str | None) -> None:
            self._note("answer", exchange, status=reply.status if reply is not None else None, error=error)
            self._send_back(exchange, flight, reply if reply is not None else ConnectionCut("the connection broke"))

        exchange.calls.append(host.handle(exchange.request, exchange.source, answered))

    def _refuse(self, exchange: Exchange, flight: RequestCopy) -> None:
        """ConnectFailed promises that nothing arrived, so it becomes ConnectionCut when a copy did."""
        exchange.refused = not exchange.reached
        outcome: TransportError = (
            ConnectionCut("connection reset") if exchange.reached else ConnectFailed(f"{exchange.target} refused")
        )
        if not flight.echo:
            self._later(flight.back, self._settle, exchange, outcome)

    def _lose(self, kind: str, exchange: Exchange, flight: RequestCopy, loss: Loss) -> None:
        self.faults[kind.replace("-", " ")] += 1
        self._note(kind, exchange, how=loss.value, echo=flight.echo)
        if loss is Loss.CUT and not flight.echo:
            self._later(flight.back, self._settle, exchange, ConnectionCut("the connection broke"))

    def _send_back(self, exchange: Exchange, flight: RequestCopy, outcome: NetworkResult) -> None:
        if flight.echo and isinstance(outcome, TransportError):
            return
        if flight.response_loss is not None:
            self._lose("response-lost", exchange, flight, flight.response_loss)
        else:
            self._later(flight.back, self._settle, exchange, outcome)

    def _settle(self, exchange: Exchange, outcome: NetworkResult) -> None:
        silent = self._outages.get(exchange.target) is Outage.SILENT
        if silent or self._is_parted(exchange.target, exchange.source):
            self._note("response-lost", exchange, how=Loss.SILENT.value)
        elif exchange.answer.done():
            self._note("late", exchange)
        else:
            got = outcome.status if isinstance(outcome, HttpReply) else type(outcome).__name__
            self._note("settle", exchange, got=got)
            exchange.answer.set_result(outcome)

    def _later(self, span: Span, callback: Callable[[Unpack[Ts]], None], *args: *Ts) -> None:
        """Run in the world's context: what is under way belongs to neither end."""
        self._loop.call_later(as_seconds(span), callback, *args, context=self._context)

    def _note(self, kind: str, exchange: Exchange, **facts: str | int | None) -> None:
        self._trace.note(kind, id=exchange.serial, source=exchange.source, target=exchange.target, **facts)
