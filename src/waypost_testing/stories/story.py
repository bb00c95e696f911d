"""The course of every story: orgs, a provider and servers, a storm of faults, calm, and the state in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from waypost.flow.accounts import access
from waypost.flow.world import World
from waypost.http.edge.webhook_endpoint import PATH
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import hours
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.sandbox import Sandbox, SandboxNumber
from waypost_testing.simulation import Complaint, Simulation, run_simulation
from waypost_testing.stories.cluster import (
    GRAPH,
    GRAPH_URL,
    Cluster,
    CustomiseParts,
    SharedLedger,
    unchanged_parts,
)
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.sending.callers import SimulatedOrg
from waypost_testing.stories.sending.trouble import FaultInjector, Severity
from waypost_testing.stories.wires import FRONT, BalancedTransport

ORGS = ("north", "south")


@dataclass(frozen=True, kw_only=True)
class StoryPlan:
    """What the seed decides before anything happens."""

    severity: Severity
    incidents: float
    """Mean seconds between two incidents."""


@dataclass(frozen=True, kw_only=True)
class StoryResult:
    """The state when everything has come to rest."""

    seed: int
    record: SimulationRecord
    faults: Counter[str]
    """By kind: the incidents of the injector, and what the network did to requests."""
    complaints: list[Complaint]
    crashes: int
    micros: int
    digest: str
    lines: list[str]
    messages: int
    accepted: int
    """Calls that the provider accepted."""
    standing: Counter[str]
    """How many messages, or what else the story is about, are in each state."""


R = TypeVar("R", bound=StoryResult)


class StoryRun(ABC, Generic[R]):
    """One seed of a story. A story sets up its plan and its servers, and says who takes part and what is seen."""

    storm_hours: ClassVar[float]
    """How long faults are injected, in simulated hours; then follows calm, in which everything must come to rest."""
    plan: StoryPlan
    cluster: Cluster
    orgs: list[SimulatedOrg]
    sandbox: Sandbox

    def __init__(self, sim: Simulation, dress: CustomiseParts) -> None:
        self.sim = sim
        self.dress = dress
        self.record = SimulationRecord(now=lambda: sim.loop.micros)
        self.ledger = SharedLedger(sim, self.record)

    async def through(self, storm_hours: float) -> R:
        world = self.cluster.world(self.sim.node("operator"), Telemetry())
        self.orgs = [await founded(name, number, world) for number, name in enumerate(ORGS, 1)]
        self.sandbox = self._provider()
        self.cluster.start()
        await self.settle_in(world)
        until = self.record.now() + hours(storm_hours)
        trouble = self.injector()
        trouble.weather(self.plan.severity)
        self.begin(until)
        await self.storm(trouble, until)
        trouble.calm()
        await self.finish()
        await self.sandbox.settled()
        return await self.ending()

    def _provider(self) -> Sandbox:
        sim, node = self.sim, self.sim.node(GRAPH)
        rng, servers = sim.chance.stream("balancer"), self.cluster.balanced
        transport = BalancedTransport(sim.network.transport(node), self.record, servers, rng)
        sandbox = Sandbox(node.clock, node.random, node.ids, transport, [sandbox_number(org) for org in self.orgs])
        sim.network.listen(GRAPH, node, sandbox)
        return sandbox

    async def settle_in(self, world: World) -> None:
        """What happens before the storm."""

    @abstractmethod
    def injector(self) -> FaultInjector: ...

    @abstractmethod
    def begin(self, until: int) -> None:
        """Start everybody who takes part; they go on until the storm is over."""

    async def storm(self, trouble: FaultInjector, until: int) -> None:
        await trouble.run_incidents(until, self.plan.incidents)

    @abstractmethod
    async def finish(self) -> None:
        """Wait for everybody who takes part."""

    @abstractmethod
    async def ending(self) -> R:
        """Wait until everything has come to rest, and look at it."""

    def ended(self) -> dict[str, Any]:
        """The fields that every result has; it is asked for last, because reading the others is part of the trace."""
        sim = self.sim
        return {
            "seed": sim.seed,
            "record": self.record,
            "faults": self.record.faults + sim.network.faults,
            "complaints": sim.complaints,
            "crashes": self.cluster.crashes,
            "micros": sim.loop.micros,
            "digest": sim.trace.digest(),
            "lines": sim.trace.lines(),
        }


def run_story(
    story: type[StoryRun[R]],
    seed: int,
    storm_hours: float | None = None,
    dress: CustomiseParts = unchanged_parts,
    trace_limit: int | None = 2_000,
) -> R:
    """The whole run of one seed."""

    async def main(sim: Simulation) -> R:
        return await story(sim, dress).through(story.storm_hours if storm_hours is None else storm_hours)

    return run_simulation(seed, main, shuffle=True, trace_limit=trace_limit, strict=False)


def sandbox_number(org: SimulatedOrg) -> SandboxNumber:
    url = f"http://{FRONT}{PATH}"
    return SandboxNumber(org.number, org.waba, org.token, org.app_secret, webhook_url=url)


async def founded(name: str, number: int, world: World) -> SimulatedOrg:
    issued = await access.create_org(OrgId(name), world)
    if issued is None:
        raise LookupError(f"org {name} exists already")
    org = SimulatedOrg(
        name=name,
        key=issued.secret,
        number=f"10654035224292{number}",
        waba=f"10229012934039{number}",
        token=f"token-of-{name}",
        app_secret=f"secret-of-{name}",
    )
    secrets = {"token": org.token, "app_secret": org.app_secret, "verify_token": f"verify-{name}"}
    new = access.NewNumber(number=NumberId(org.number), waba_id=org.waba, secrets=secrets, graph_url=GRAPH_URL)
    await access.connect_number(OrgId(name), new, world)
    return org
