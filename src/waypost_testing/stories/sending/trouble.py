"""All faults, drawn from the seed: crashes, outages, cuts, clock jumps, and provider errors."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from waypost.model.time import Span, hours, minutes, seconds
from waypost.sandbox import Fault, Sandbox
from waypost_testing.simulation import CALM, NetworkConditions, Outage, Simulation
from waypost_testing.stories.cluster import GRAPH, SERVERS, Cluster
from waypost_testing.stories.record import SimulationRecord

Incidents = tuple[tuple[int, Callable[[], Awaitable[None]]], ...]
"""The incidents, and their relative frequencies."""
CALLERS = "callers"
JUMP_ALONE: Span = hours(26)
"""At most: longer than a window, and than the period of a quota."""

FAULTS = (
    Fault(error_code=131016),
    Fault(error_code=131047),
    Fault(error_code=130429, retry_after=3),
    Fault(error_code=130429, retry_after=60),
    Fault(error_code=131056, retry_after=90),
    Fault(error_code=4, retry_after=45),
    Fault(error_code=80007, retry_after=120),
    Fault(error_code=190),
    Fault(http_status=500),
    Fault(raw_status=502),
    Fault(accept_then_raw_status=502),
    Fault(drop_response=True),
    Fault(drop_response=True, echo=False),
    Fault(drop_response=True, echo=False),
    Fault(drop_response=True, echo=False, status_first=True),
    Fault(drop_response=True, statuses="never"),
    Fault(echo=False),
    Fault(echo=False, status_first=True),
    Fault(status_first=True),
    Fault(status_first=True, drop_response=True),
    Fault(duplicate_statuses=2, reorder_statuses=True),
    Fault(reorder_statuses=True),
    Fault(statuses="never"),
    Fault(status_error=131026),
    Fault(delay_ms=28_000),
    Fault(delay_ms=40_000),
)
"""Retryable and other refusals, lost answers, missing echoes, statuses in any order or never."""


@dataclass(frozen=True)
class Severity:
    """How bad the network is in this run, as a share of what each route can suffer."""

    callers: float
    provider: float
    webhooks: float

    @classmethod
    def drawn(cls, rng: random.Random) -> Severity:
        return cls(*(rng.choice((0.0, 0.2, 0.5, 1.0)) for _ in range(3)))


def storm(level: float, *, doubled: bool) -> NetworkConditions:
    """A request to the provider is never doubled: nothing on that route repeats a POST by itself."""
    return NetworkConditions(
        latency=(Span(1_000), Span(300_000)),
        delayed=0.15 * level,
        delay=(Span(10_000), Span(25_000_000)),
        refused=0.05 * level,
        request_lost=0.08 * level,
        response_lost=0.12 * level,
        doubled=0.15 * level if doubled else 0.0,
    )


class FaultInjector:
    """One incident after another, some at the same time; each heals itself, and `calm` heals the rest."""

    faults: tuple[Fault, ...] = FAULTS
    jump_together: Span = hours(1)
    """At most; what was deferred by a Ledger that was ahead waits for as long."""
    pauses: tuple[Span, ...] = (seconds(8), seconds(40), minutes(16))
    """At most: longer than a claim may wait for its call, than a turn's lease, than the stale limit."""

    def __init__(self, sim: Simulation, cluster: Cluster, sandbox: Sandbox, record: SimulationRecord) -> None:
        self._sim = sim
        self._cluster = cluster
        self._sandbox = sandbox
        self._record = record
        self._rng = sim.chance.stream("trouble")
        self._same_machine = self._rng.random() < 0.3
        self._under_way: list[asyncio.Task[None]] = []

    def weather(self, severity: Severity) -> None:
        network = self._sim.network
        for name in SERVERS:
            network.set_conditions(storm(severity.callers, doubled=True), source=CALLERS, target=name)
            network.set_conditions(storm(severity.webhooks, doubled=True), source=GRAPH, target=name)
            network.set_conditions(storm(severity.provider, doubled=False), source=name, target=GRAPH)

    async def run_incidents(self, until: int, mean: float) -> None:
        """Start incidents until the storm is over."""
        incidents = self.incidents()
        weights = [weight for weight, _ in incidents]
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / mean))
            if self._record.now() >= until:
                return
            _, incident = self._rng.choices(incidents, weights)[0]
            self._record.faults[incident.__name__.strip("_").replace("_", " ")] += 1
            self._under_way.append(asyncio.ensure_future(incident()))

    def incidents(self) -> Incidents:
        return (
            (6, self._crash),
            (1, self._stop),
            (2, self._all_down),
            (2, self._provider_outage),
            (2, self._server_outage),
            (2, self._cut),
            (2, self._clock_jump),
            (6, self._stand_still),
            (2, self._ledger_outage),
            (3, self._starved_server),
            (6, self._provider_moods),
        )

    def calm(self) -> None:
        for task in self._under_way:
            task.cancel()
        network = self._sim.network
        for name in SERVERS:
            for source, target in ((CALLERS, name), (GRAPH, name), (name, GRAPH)):
                network.set_conditions(CALM, source=source, target=target)
                network.join(source, target)
            network.heal(name)
        network.heal(GRAPH)
        self._sandbox.faults.clear()
        self._cluster.calm()

    # The incidents

    async def _crash(self) -> None:
        steps = self._rng.choice((self._rng.randint(1, 40), self._rng.randint(1, 400)))
        away = self._between(seconds(0.1), minutes(self._rng.choice((0.2, 2))))
        await self._cluster.kill(self._rng.choice(SERVERS), steps, away)

    async def _stop(self) -> None:
        await self._cluster.stop(self._rng.choice(SERVERS), self._between(seconds(0.1), seconds(20)))

    async def _all_down(self) -> None:
        """Sometimes for longer than an attempt takes to go stale."""
        away = self._between(minutes(2), minutes(self._rng.choice((9, 14))))
        await asyncio.gather(*(self._cluster.kill(name, self._rng.randint(1, 200), away) for name in SERVERS))

    async def _provider_outage(self) -> None:
        await self._outage(GRAPH, self._between(seconds(2), minutes(self._rng.choice((1, 8)))))

    async def _server_outage(self) -> None:
        await self._outage(self._rng.choice(SERVERS), self._between(seconds(2), minutes(self._rng.choice((1, 12)))))

    async def _outage(self, host: str, span: Span) -> None:
        self._sim.network.fail(host, self._rng.choice(list(Outage)))
        await self._pass(span)
        self._sim.network.heal(host)

    async def _cut(self) -> None:
        """A route is cut in one direction or both, for one server or all."""
        other, both = self._rng.choice((CALLERS, GRAPH)), self._rng.random() < 0.6
        names = SERVERS if self._rng.random() < 0.3 else (self._rng.choice(SERVERS),)
        for name in names:
            ends = (other, name) if self._rng.random() < 0.5 else (name, other)
            self._sim.network.part(*ends, both=both)
        await self._pass(self._between(seconds(5), minutes(self._rng.choice((2, 13)))))
        for name in names:
            self._sim.network.join(other, name)

    async def _clock_jump(self) -> None:
        """One server's clock, or the clock of the machine that runs servers and Ledger."""
        most = self.jump_together if self._same_machine else self._rng.choice((self.jump_together, JUMP_ALONE))
        span = Span(self._rng.choice((-1, 1)) * self._between(minutes(1), most))
        nodes = [self._sim.node(name).clock for name in SERVERS]
        clocks = [*nodes, self._cluster.ledger.clock] if self._same_machine else [self._rng.choice(nodes)]
        for clock in clocks:
            clock.jump(span)
        await self._pass(self._between(minutes(1), minutes(20)))
        for clock in clocks:
            clock.jump(Span(-span))

    async def _stand_still(self) -> None:
        """A process, or the machine under it, stops and goes on later; its connections stay open."""
        name, span = self._rng.choice(SERVERS), self._between(seconds(1), self._rng.choice(self.pauses))
        if self._rng.random() < 0.7:  # in the worst moment: with a claim in its hands
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._cluster.ledger.next_claim(name), 120)
        await self._cluster.pause(name, span, unnoticed=self._rng.random() < 0.3)

    async def _ledger_outage(self) -> None:
        self._cluster.ledger.fail(self._rng.choice((0.2, 0.5, 1.0)))
        await self._pass(self._between(seconds(1), minutes(self._rng.choice((0.2, 3)))))
        self._cluster.ledger.heal()

    async def _starved_server(self) -> None:
        """One server gets no connection to the Ledger while it sends, and the balancer may send every webhook to it.

        Sometimes for longer than an attempt takes to go stale.
        """
        name, sticky = self._rng.choice(SERVERS), self._rng.random() < 0.7
        low, high = self._rng.choice(((seconds(5), minutes(2)), (minutes(12), minutes(18)), (minutes(12), minutes(18))))
        span = self._between(low, high)
        await self._sends(name, minutes(3))
        if self._cluster.ledger.starves:
            return
        if sticky:
            self._cluster.balanced[:] = [name]
        try:
            await self._cluster.ledger.starve(name, span)
        finally:
            self._cluster.balanced[:] = SERVERS

    async def _sends(self, name: str, longest: Span) -> None:
        """Return when this server has a caller's message under way to the provider."""
        until, texts = self._record.now() + longest, self._record.wishes
        while self._record.now() < until:
            sent = self._record.sent[-1] if self._record.sent else None
            if sent and (sent.server, sent.answered) == (name, None) and tuple(sent.text.split(":")) in texts:
                return
            await self._pass(seconds(0.05))

    async def _provider_moods(self) -> None:
        """A few calls, or a share of all, fail in one way."""
        fault = self._rng.choice(self.faults)
        few = {"times": self._rng.randint(1, 3), "probability": None}
        many = {"times": None, "probability": self._rng.choice((0.3, 1.0))}
        chosen = few if self._rng.random() < 0.6 else many
        fields = {name: getattr(fault, name) for name in fault.__struct_fields__}
        self._sandbox.faults.add(Fault(**{**fields, **chosen}))
        await self._pass(self._between(minutes(0.5), minutes(4)))
        if chosen is many:
            self._sandbox.faults.clear()

    def _between(self, low: Span, high: Span) -> Span:
        return Span(low + round(self._rng.random() * (high - low)))

    async def _pass(self, span: Span) -> None:
        await asyncio.sleep(span / 1_000_000)
