"""Live connections between devices and servers, without sockets: late, slow, cut at one end or both, or dead."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.client.types import Json
from waypost.client.websocket import ABNORMAL, NotOpened, WebSocketConnection
from waypost.http.live.gateway import Gateway
from waypost.ports.live.live_connection import Bundle, ConnectionHandler, HandshakeInfo
from waypost_testing.simulation import Node, Simulation
from waypost_testing.simulation.life import ProcessLife, context_of

HEAVY = 1_500
"""The weight of a byte on a slow connection, so that a few small frames fill it."""
GONE_WITHIN = 0.05


@dataclass(frozen=True, kw_only=True)
class SocketConditions:
    latency: tuple[float, float] = (0.001, 0.05)
    """Seconds, each way."""
    cut: float = 0.0
    """Per frame: the chance that the connection breaks while it travels."""
    slow: float = 0.0
    """Per connection: the chance that its device reads slowly."""
    unseen: float = 0.0
    """Per break: the chance that one end, or both, do not notice."""


CALM_LINES = SocketConditions()


class SimulatedSockets:
    """Opens connections to servers by name, and knows every open one."""

    def __init__(self, sim: Simulation, node_of: Callable[[str], Node], gateway_of: Callable[[str], Gateway | None]):
        self.sim = sim
        self.weather = CALM_LINES
        self.rng = sim.chance.stream("lines")
        self.blocked: set[str] = set()
        """Servers that cannot be reached."""
        self._node_of = node_of
        self._gateway_of = gateway_of
        self._cables: dict[SimulatedSocket, None] = {}
        self._opened = 0

    async def open(self, server: str, token: str, timeout: float) -> DeviceSocket:
        await asyncio.sleep(self.between())
        gateway = self._gateway_of(server)
        if gateway is None:
            raise NotOpened(f"{server} refuses")
        if server in self.blocked:
            await asyncio.sleep(timeout)
            raise NotOpened(f"{server} is silent")
        self._opened += 1
        cable = SimulatedSocket(self, self._opened, server, self._node_of(server).life, token)
        self._cables[cable] = None
        cable.accept(gateway)
        return cable.device

    def between(self) -> float:
        low, high = self.weather.latency
        return low + self.rng.random() * (high - low)

    def cut(self, server: str, share: float = 1.0) -> None:
        """Cut the connections to that server; which ends notice is random."""
        for cable in [each for each in self._cables if each.server == server]:
            if self.rng.random() < share:
                cable.cut()

    def forget(self, cable: SimulatedSocket) -> None:
        self._cables.pop(cable, None)


class SimulatedSocket:
    """One connection. Frames keep their order; what travels when it breaks is lost."""

    def __init__(self, lines: SimulatedSockets, serial: int, server: str, life: ProcessLife, token: str) -> None:
        self.server = server
        self.serial = serial
        self.lines = lines
        self.broken = False
        self._life = life
        self._world = context_of(lines.sim.loop.world)
        self._latest = [0, 0]
        slow = lines.rng.random() < lines.weather.slow
        self._pace, weight = (0.4, HEAVY) if slow else (0.0, 1)
        self.device = DeviceSocket(self)
        self.link = ServerSocket(self, HandshakeInfo(address="127.0.0.1", authorization=f"Bearer {token}"), weight)
        self._watch = life.watch(self._died)

    def accept(self, gateway: Gateway) -> None:
        self._later(self.lines.between(), lambda: self.link.accept(gateway), self.at_the_server())

    def at_the_server(self) -> Context:
        return context_of(self._life)

    # Travel

    def up(self, text: bytes) -> None:
        self._travel(0, lambda: self.link.received(text), self.at_the_server())

    def down(self, text: bytes, arrived: Callable[[], None]) -> None:
        def arrive() -> None:
            if not self.broken:
                arrived()
                self.device.put(text)

        self._travel(1, arrive, self._world)

    def closing(self, code: int) -> None:
        """The server's close, after everything it sent before."""
        self._travel(1, lambda: None if self.broken else self.device.end(code), self._world)

    def _travel(self, way: int, arrive: Callable[[], None], where: Context) -> None:
        if self.broken:
            return
        if self.lines.rng.random() < self.lines.weather.cut:
            self._later(self.lines.rng.random() * 0.1, self.cut, self._world)
        loop = self.lines.sim.loop
        due = loop.micros + round((self.lines.between() + self._pace * way * self.lines.rng.random()) * 1_000_000)
        self._latest[way] = max(self._latest[way] + 1, due)
        self._later((self._latest[way] - loop.micros) / 1_000_000, arrive, where)

    def _later(self, span: float, callback: Callable[[], Any], where: Context) -> None:
        self.lines.sim.loop.call_later(span, callback, context=where)

    # Endings

    def cut(self) -> None:
        """In the middle: each end notices soon, or only by the other's silence."""
        if self.broken:
            return
        rng, unseen = self.lines.rng, self.lines.weather.unseen
        self._break()
        if rng.random() >= unseen:
            self._later(rng.random() * GONE_WITHIN, self.link.lost, self.at_the_server())
        if rng.random() >= unseen:
            self._later(rng.random() * GONE_WITHIN, lambda: self.device.end(ABNORMAL), self._world)

    def dropped(self) -> None:
        """By the device, without a close frame."""
        if not self.broken:
            self._break()
            if self.lines.rng.random() >= self.lines.weather.unseen:
                self._later(self.lines.between(), self.link.lost, self.at_the_server())

    def hung_up(self) -> None:
        """By the server, after its close frame."""
        self._later(1 + self.lines.rng.random(), self.link.lost, self.at_the_server())

    def _died(self) -> None:
        if not self.broken:
            self._break()
            if self.lines.rng.random() >= self.lines.weather.unseen / 2:
                self._later(self.lines.between(), lambda: self.device.end(ABNORMAL), self._world)

    def _break(self) -> None:
        self.broken = True
        self.lines.forget(self)
        self.lines.sim.trace.note("line-broke", line=self.serial, server=self.server)


class ServerSocket:
    """The server's end: a Link."""

    def __init__(self, cable: SimulatedSocket, caller: HandshakeInfo, weight: int) -> None:
        self._cable = cable
        self._weight = weight
        self._visitor: ConnectionHandler | None = None
        self._paused: deque[bytes] | None = None
        self._closed = self._gone = False
        self.caller = caller
        self.waiting = 0

    def accept(self, gateway: Gateway) -> None:
        self._visitor = gateway.welcome(self)

    def received(self, text: bytes) -> None:
        if self._visitor is None or self._closed or self._gone or self._cable.broken:
            return
        if self._paused is not None:
            self._paused.append(text)
            return
        try:
            self._visitor.received(text)
        except Exception as bug:  # noqa: BLE001  # as the door does it: seen, and the line ends
            context = {"message": "a visitor failed", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)
            self._cable.cut()

    def lost(self) -> None:
        if not self._gone and self._visitor is not None:
            self._gone = True
            self.waiting = 0
            self._visitor.gone()

    # What a session calls

    def send(self, bundle: Bundle) -> None:
        if self._closed or self._gone:
            return
        for frame in bundle.frames:
            weight = len(frame.text) * self._weight
            self.waiting += weight
            self._cable.down(frame.text, lambda weight=weight: self._taken(weight))  # type: ignore[misc]  # bound here

    def _taken(self, weight: int) -> None:
        self.waiting -= min(weight, self.waiting)

    def pause(self) -> None:
        self._paused = self._paused if self._paused is not None else deque()

    def resume(self) -> None:
        held, self._paused = self._paused, None
        for text in held or ():
            self.received(text)

    def close(self, code: int, reason: str) -> None:
        if self._closed or self._gone:
            return
        self._closed = True
        self._cable.lines.sim.trace.note("close", line=self._cable.serial, code=code, reason=reason)
        self._cable.closing(code)
        self._cable.hung_up()


class DeviceSocket(WebSocketConnection):
    """The device's end: what the client uses as its WebSocket."""

    def __init__(self, cable: SimulatedSocket) -> None:  # there is no socket
        self.cable = cable
        self._frames: deque[bytes] = deque()
        self._stirred = asyncio.Event()
        self._code: int | None = None

    @property
    def code(self) -> int:
        return self._code or ABNORMAL

    def put(self, text: bytes) -> None:
        if self._code is None:
            self._frames.append(text)
            self._stirred.set()

    def end(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self._stirred.set()

    async def send(self, frame: Mapping[str, Any]) -> None:
        if self._code is None:
            self.cable.up(msgspec.json.encode(frame))

    async def receive(self) -> Json | None:
        while not self._frames:
            if self._code is not None:
                return None
            self._stirred.clear()
            await self._stirred.wait()
        frame: Json = msgspec.json.decode(self._frames.popleft())
        return frame

    async def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        self.end(ABNORMAL)
        self._frames.clear()
        self.cable.dropped()


def drawn(rng: random.Random) -> SocketConditions:
    """How bad the connections are in this run."""
    level = rng.choice((0.0, 0.3, 1.0, 1.0))
    return SocketConditions(
        latency=(0.001, rng.choice((0.02, 0.3, 2.0))),
        cut=0.02 * level,
        slow=0.1 * level,
        unseen=rng.choice((0.0, 0.2, 0.5)),
    )
