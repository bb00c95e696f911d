"""The servers of a simulation: nodes that boot the real server over one shared Ledger, die, and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.ledger_clock import LedgerClock
from waypost.adapters.local.vault import AesVault
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.flow.claim_age import trusted_now
from waypost.flow.world import Tuning, World
from waypost.http.live.gateway import Gateway
from waypost.model.dossier import ConsentStatus
from waypost.model.time import Span, as_seconds
from waypost.ports.conversations.bot import Bot
from waypost.ports.history.history import History
from waypost.ports.ledger import Ledger
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.failure import Unavailable
from waypost.ports.platform.http_transport import HttpTransport
from waypost.rules.limits import send_pace
from waypost.runtime.process.server import Server
from waypost.runtime.settings.roles import ALL_ROLES, ProcessRole
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import Ports, ProcessNames, build_world
from waypost_testing.simulation import Node, NodeCrashed, Simulation
from waypost_testing.simulation.life import context_of
from waypost_testing.stories.record import ServerLife, SimulationRecord
from waypost_testing.stories.wires import RecordingTransport

SERVERS = ("server-1", "server-2")
GRAPH = "graph"
GRAPH_URL = f"http://{GRAPH}/v25.0"
GRAPH_TIMEOUT = 30.0
VAULT = AesVault("simulation")
WITHOUT_DEVICES = ALL_ROLES - {ProcessRole.GATEWAY}
"""For a story without devices: an idle gateway takes a fifth of a run's time."""
SKEWS = (0, 0.05, 3, 3 * 3600, 26 * 3600)
"""Seconds, at most, that a server's clock is wrong from the start."""


@dataclass(frozen=True, kw_only=True)
class HintFaults:
    """How hints travel between servers: late, lost or doubled."""

    lost: float = 0.3
    doubled: float = 0.0
    late: float = 0.01
    """Seconds, at most."""


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """The parts that a server is built from."""

    ledger: Ledger
    engine: InlineEngine
    transport: HttpTransport
    clock: Clock
    bot: Bot | None = None


BotFactory = Callable[[Node], Bot]
"""Makes the bot of one life of a server."""
HistoryFactory = Callable[[Node], History]
"""The history store as one server reaches it."""
CustomiseParts = Callable[[ServerParts], ServerParts]
"""Replaces some of the parts with other mechanisms; the real server is built from unchanged parts."""


def unchanged_parts(parts: ServerParts) -> ServerParts:
    return parts


def _statement(name: str, *arguments: object) -> Plan[None]:
    yield Once(name, arguments)


_CLAIMED = """SELECT (SELECT count(*) FROM delivery WHERE status = 'SENDING' AND owner IS NOT NULL)
    + (SELECT count(*) FROM lane WHERE owner IS NOT NULL)"""


class SharedLedger:
    """The real SQL in memory, shared by every server; sometimes slow, sometimes unavailable."""

    def __init__(self, sim: Simulation, record: SimulationRecord) -> None:
        self.store = SqliteStore(None)
        self.store.migrate()
        self.clock = sim.node("ledger").clock
        self._sim = sim
        self._record = record
        self._trouble = 0.0
        self._since = 0
        self._starving: set[str] = set()
        self._claims: dict[str, tuple[int, asyncio.Future[None]]] = {}

    def engine(self, node: Node) -> InlineEngine:
        return InlineEngine(self.store, self.clock.now, self._pause_of(node))

    def _pause_of(self, node: Node) -> Callable[[str], Awaitable[None]]:
        rng = self._sim.chance.stream(f"ledger:{node.name}")

        async def pause(point: str) -> None:
            """Where a crash may fall: before a commit, between it and its answer, in a read."""
            slow = rng.random()
            if point != "read" or slow < 0.1:
                self._tell_of_claim(node.name, point)
                await asyncio.sleep(0.0002 + (0.04 * slow if slow < 0.02 else 0.002 * slow))
            if self._trouble and rng.random() < self._trouble:
                raise Unavailable(f"the simulated Ledger is away ({point})")
            if node.name in self._starving and point != "after commit":
                raise Unavailable("the simulated Ledger has no free connection")

        return pause

    async def next_claim(self, name: str) -> None:
        """Return when the server has claimed a message or a turn, before it knows."""
        self._claims[name] = (self._claimed(), asyncio.get_running_loop().create_future())
        await self._claims[name][1]

    def _tell_of_claim(self, name: str, point: str) -> None:
        if point != "after commit" or name not in self._claims:
            return
        before, waiting = self._claims[name]
        if self._claimed() > before and not waiting.done():
            waiting.set_result(None)
            del self._claims[name]

    def _claimed(self) -> int:
        ((count,),) = self.rows(_CLAIMED)
        return int(count)

    def fail(self, share: float) -> None:
        """From now on this share of operations fails, before or after the commit."""
        self.heal()
        self._trouble, self._since = share, self._record.now()
        self._sim.trace.note("ledger", trouble=share)

    @property
    def starves(self) -> bool:
        return bool(self._starving)

    async def starve(self, server: str, span: Span) -> None:
        """Give one server no connection for a while; the other goes on."""
        self._starving.add(server)
        self._sim.trace.note("starve", node=server)
        since = self._record.now()
        try:
            await asyncio.sleep(as_seconds(span))
        finally:
            self._starving.discard(server)
            self._record.starved.append((server, since, self._record.now()))

    def limit(self, org: str, most: int) -> None:
        """An operator's PUT of a quota, applied at this moment."""
        self.store.transact(_statement("quota_limit", send_pace.quota_of(org), most))

    def grant(self, org: str, customer: str) -> None:
        """An operator's PUT of a consent, applied at this moment."""
        now, subject = self.clock.now(), f"address:{customer}"
        self.store.transact(_statement("consent_put", org, subject, "WHATSAPP", ConsentStatus.GRANTED.value, now, now))

    def has_inbound(self, wamid: str) -> bool:
        """Whether a customer's message is stored at this moment."""
        return bool(self.rows("SELECT 1 FROM arrival WHERE wamid = ?", wamid))

    def logged(self) -> dict[str, int]:
        """How many entries each customer's message has, by wamid."""
        return dict(
            self.rows("SELECT wamid, count(*) FROM entry WHERE wamid IS NOT NULL GROUP BY wamid ORDER BY wamid")
        )

    def rows(self, query: str, *arguments: str) -> list[Any]:
        """Read rows at this moment, without simulated faults."""
        return list(self.store._connection.execute(query, arguments))  # noqa: SLF001  # nobody but a checker reads past the ports

    def heal(self) -> None:
        if self._trouble:
            self._record.outages.append((self._since, self._record.now()))
            self._sim.trace.note("ledger", trouble=0.0)
        self._trouble = 0.0


class Cluster:
    def __init__(
        self,
        sim: Simulation,
        record: SimulationRecord,
        tuning: Tuning,
        ledger: SharedLedger,
        dress: CustomiseParts = unchanged_parts,
        bot_of: BotFactory | None = None,
        grapevine: HintFaults | None = None,
        history_of: HistoryFactory | None = None,
    ) -> None:
        self._bot_of = bot_of
        self._history_of = history_of
        self._grapevine = grapevine or HintFaults()
        self.tuning = tuning
        self.ledger = ledger
        self._sim = sim
        self._record = record
        self._dress = dress
        self._servers: dict[str, Server] = {}
        self._listening: set[str] = set()
        self._hints: dict[str, ProcessHints] = {}
        self._holds = dict.fromkeys(SERVERS, 0)
        self.balanced = list(SERVERS)
        """The servers to which the balancer sends webhooks."""
        self.crashes = 0
        self.roles: frozenset[ProcessRole] = ALL_ROLES

    def start(self) -> None:
        rng = self._sim.chance.stream("skew")
        for name in SERVERS:
            node = self.node(name)
            node.clock.jump(Span(round(rng.choice(SKEWS) * rng.uniform(-1, 1) * 1_000_000)))
            self._start(name)

    def node(self, name: str) -> Node:
        return self._sim.node(name)

    def _start(self, name: str) -> None:
        self._servers.pop(name, None)
        self._listening.discard(name)
        self.node(name).restart(lambda: self._boot(name))

    async def _boot(self, name: str) -> None:
        """Start as `serve` does: ports, world, server, start, listen."""
        node = self.node(name)
        telemetry = Telemetry()
        world = self.world(node, telemetry)
        server = Server(world, telemetry, self.roles)
        self._servers[name] = server
        lived = ServerLife(name, node.generation, self._record.now())
        self._record.lives.append(lived)
        node.life.watch(lambda: setattr(lived, "until", self._record.now()))
        await trusted_now(world)  # as a process that begins to serve has measured it
        await server.start()
        self._sim.network.listen(name, node, server.app)
        self._listening.add(name)

    def world(self, node: Node, telemetry: Telemetry) -> World:
        engine = self.ledger.engine(node)
        transport = RecordingTransport(self._sim.network.transport(node), self._record, node.name, node.generation)
        bot = self._bot_of(node) if self._bot_of is not None else None
        parts = self._dress(
            ServerParts(ledger=SqlLedger(engine), engine=engine, transport=transport, clock=node.clock, bot=bot)
        )
        ports = Ports(
            clock=LedgerClock(node.clock, parts.ledger.time),
            random=node.random,
            ids=node.ids,
            ledger=parts.ledger,
            hints=self._hints_of(node),
            wire=parts.transport,
            vault=VAULT,
            bot=parts.bot,
            history=self._history_of(node) if self._history_of is not None else None,
        )
        names = ProcessNames(listener=node.name)
        return build_world(ports, self.tuning, telemetry, graph_url=GRAPH_URL, graph_timeout=GRAPH_TIMEOUT, names=names)

    def _hints_of(self, node: Node) -> ProcessHints:
        self._hints[node.name] = ProcessHints(lambda topics: self._forward(node.name, topics))
        return self._hints[node.name]

    def _forward(self, giver: str, topics: Iterable[str]) -> None:
        """Hints reach the other server late, never, or twice."""
        given, vine = list(topics), self._grapevine
        rng = self._sim.chance.stream("hints")
        for name in SERVERS:
            if name != giver and name in self._hints and rng.random() >= vine.lost:
                self._whisper(name, given, 0.001 + vine.late * rng.random())
                if vine.doubled and rng.random() < vine.doubled:
                    self._whisper(name, given, 0.001 + 10 * vine.late * rng.random())

    def _whisper(self, name: str, given: list[str], after: float) -> None:
        life = self.node(name).life
        self._sim.loop.call_later(after, self._hints[name].deliver, given, context=context_of(life))

    def gateway(self, name: str) -> Gateway | None:
        """The gateway of a server that listens."""
        node, server = self.node(name), self._servers.get(name)
        return server.gateway if server is not None and node.alive and name in self._listening else None

    # Crashes and restarts

    async def kill(self, name: str, steps: int, away: Span) -> None:
        """Kill it at its `steps`-th callback from now, or soon after, and keep it down for `away`."""
        self._holds[name] += 1
        node = self.node(name)
        node.crash_after(steps)
        try:
            await asyncio.wait([asyncio.ensure_future(node.gone())], timeout=10)
            node.crash()
            self.crashes += 1
            await asyncio.sleep(as_seconds(away))
        finally:
            self._let_go(name)

    async def stop(self, name: str, away: Span) -> None:
        """An orderly stop, as by SIGTERM, and a start after `away`."""
        self._holds[name] += 1
        node = self.node(name)
        try:
            if node.alive and name in self._servers:
                await node.run(self._servers[name].stop())
        except NodeCrashed:
            pass
        finally:
            node.crash()
        try:
            await asyncio.sleep(as_seconds(away))
        finally:
            self._let_go(name)

    async def pause(self, name: str, span: Span, *, unnoticed: bool = False) -> None:
        """As by SIGSTOP and SIGCONT: it continues as if nothing had happened, even if it lost its leases meanwhile.

        `unnoticed`: the whole machine stood still, and the clock that counts its uptime with it.
        """
        node = self.node(name)
        if not node.alive or node.life.paused:
            return
        life, since = node.pause(), self._record.now()
        try:
            await asyncio.sleep(as_seconds(span))
        finally:
            if unnoticed:
                node.clock.lose(Span(self._record.now() - since))
            node.resume(life)
            self._record.pauses.append((since, self._record.now()))

    def _let_go(self, name: str) -> None:
        self._holds[name] -= 1
        if not self._holds[name] and not self.node(name).alive:
            self._start(name)

    def calm(self) -> None:
        """Start every server, cancel pending kills and correct the clocks."""
        for name in SERVERS:
            node = self.node(name)
            node.spare()
            node.clock.jump(Span(-node.clock.skew))
            if not node.alive:
                self._start(name)
        self.ledger.clock.jump(Span(-self.ledger.clock.skew))
        self.ledger.heal()
