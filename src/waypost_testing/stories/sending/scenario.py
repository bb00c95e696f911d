"""One seed, one world: two servers on one Ledger, a provider, callers, a storm, calm, and checks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from waypost.adapters.sql.ledger import SqlLedger
from waypost.flow.accounts import access
from waypost.flow.operations import check_invariants
from waypost.flow.world import Tuning, World
from waypost.http.edge.webhook_endpoint import PATH
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Span, hours, minutes, seconds
from waypost.ports.operations.invariants import InvariantFinding
from waypost.rules.sending.delivery import Unsettled
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.sandbox import Sandbox, SandboxNumber
from waypost.sandbox.graph.calls import RecordedCall
from waypost_testing.simulation import Complaint, Simulation, run_simulation
from waypost_testing.stories.cluster import (
    GRAPH,
    GRAPH_URL,
    SERVERS,
    Cluster,
    CustomiseParts,
    SharedLedger,
    unchanged_parts,
)
from waypost_testing.stories.record import ObservedAttempt, ObservedMessage, SimulationRecord
from waypost_testing.stories.sending.callers import ApiClient, SimulatedOrg, Workload
from waypost_testing.stories.sending.customers import customers, intruder, revoke_and_grant_consent
from waypost_testing.stories.sending.levers import LedgerControls
from waypost_testing.stories.sending.trouble import FaultInjector, Severity
from waypost_testing.stories.wires import FRONT, BalancedTransport

STORM = 0.4
"""The share of the requested hours; the rest is calm, in which everything must come to rest."""
EVERYTHING = 2**40
LONGEST_CALM: Span = hours(4)
LOOK_EVERY: Span = minutes(5)
SETTLING, WAITING = 5, 24
"""Checks without a change: longer than an attempt takes to go stale, and than a gate closed by a clock far ahead."""


@dataclass(frozen=True, kw_only=True)
class ScenarioResult:
    """The state when everything has come to rest, as the API and the provider show it."""

    seed: int
    record: SimulationRecord
    policy: Unsettled
    stale: Span
    views: dict[tuple[str, int], ObservedMessage]
    attempts: dict[tuple[str, int], list[ObservedAttempt]]
    logged: dict[str, int]
    """Customers' messages by wamid: how many entries each has."""
    calls: list[RecordedCall]
    skews: dict[str, list[tuple[int, Span]]]
    """Server -> how far its clock was off, from each moment on."""
    detected: Sequence[InvariantFinding]
    """The findings of the invariant checks in the final database."""
    complaints: list[Complaint]
    crashes: int
    micros: int
    digest: str
    lines: list[str]


@dataclass(frozen=True, kw_only=True)
class ScenarioPlan:
    """What the seed decides before anything happens."""

    policy: Unsettled
    severity: Severity
    pace: float
    """Mean seconds between two messages of one caller."""
    incidents: float
    """Mean seconds between two incidents."""
    tick: Span
    """How often servers poll; the default of 5 s takes most of a run's time, so most runs poll less often."""

    slots: int
    """Sends under way at once, per server."""

    @classmethod
    def drawn(cls, rng: random.Random) -> ScenarioPlan:
        return cls(
            policy=rng.choice((Unsettled.REQUEUE, Unsettled.REQUEUE, Unsettled.PARK)),
            severity=Severity.drawn(rng),
            pace=rng.choice((90, 150, 200)),
            slots=rng.choice((1, 3, 128)),
            incidents=rng.choice((60, 120, 240)),
            tick=rng.choice((seconds(5), seconds(20), seconds(30), seconds(30))),
        )


def run_seed(
    seed: int, length: float = 1.0, dress: CustomiseParts = unchanged_parts, trace_limit: int | None = 2_000
) -> ScenarioResult:
    """The whole run of one seed; `length` is in simulated hours, roughly."""

    async def main(sim: Simulation) -> ScenarioResult:
        return await _Run(sim, dress).through(hours(length))

    return run_simulation(seed, main, shuffle=True, trace_limit=trace_limit, strict=False)


class _Run:
    def __init__(self, sim: Simulation, dress: CustomiseParts) -> None:
        self.sim = sim
        self.record = SimulationRecord(now=lambda: sim.loop.micros)
        self.plan = ScenarioPlan.drawn(sim.chance.stream("plan"))
        self.ledger = SharedLedger(sim, self.record)
        self.levers = LedgerControls(self.ledger, self.record)
        plan = self.plan
        tuning = Tuning(
            figures=False,
            indexing=False,
            unsure=plan.policy,
            webhook_tick=plan.tick,
            poll=plan.tick,
            slots=plan.slots,
            quota=None,
            pace=1000,
        )
        self.cluster = Cluster(sim, self.record, tuning, self.ledger, dress)

    async def through(self, length: Span) -> ScenarioResult:
        orgs = await self._found_orgs()
        until = self.record.now() + round(length * STORM)
        crowd, trouble, sandbox = self._set_up(orgs, until)
        at_their_phones = [
            self.sim.node(GRAPH).spawn(customers(crowd, sandbox, sandbox.numbers.all())),
            *(self.sim.node(GRAPH).spawn(revoke_and_grant_consent(crowd, sandbox, org, self.ledger)) for org in orgs),
        ]
        brewing = asyncio.ensure_future(trouble.run_incidents(until, self.plan.incidents))
        await asyncio.sleep((until - self.record.now()) / 1_000_000)
        await brewing
        trouble.calm()
        await crowd.finish()
        await asyncio.gather(*at_their_phones)
        await self.levers.let_go(crowd)
        await sandbox.settled()
        auditor = ApiClient(self.sim, self.sim.node("auditor"), self.record, self.sim.chance.stream("auditor"))
        await self._come_to_rest(auditor, orgs)
        return await self._ending(auditor, orgs, sandbox)

    def _set_up(self, orgs: list[SimulatedOrg], until: int) -> tuple[Workload, FaultInjector, Sandbox]:
        sim, node = self.sim, self.sim.node(GRAPH)
        transport = BalancedTransport(sim.network.transport(node), self.record, SERVERS, sim.chance.stream("balancer"))
        sandbox = Sandbox(node.clock, node.random, node.ids, transport, [sandbox_number(org) for org in orgs])
        sim.network.listen(GRAPH, node, sandbox)
        trouble = FaultInjector(sim, self.cluster, sandbox, self.record)
        trouble.weather(self.plan.severity)
        self.cluster.start()
        crowd = Workload(sim, orgs, self.record, until)
        crowd.start(self.plan.pace)
        crowd.errand(intruder(crowd, orgs[1], orgs[0]))
        self.levers.set_limits(crowd)
        self.levers.pull(crowd)
        return crowd, trouble, sandbox

    async def _found_orgs(self) -> list[SimulatedOrg]:
        node = self.sim.node("operator")
        world = self.cluster.world(node, Telemetry())
        return [await founded(name, number, world) for number, name in enumerate(("north", "south"), 1)]

    async def _come_to_rest(self, auditor: ApiClient, orgs: list[SimulatedOrg]) -> None:
        """Wait until nothing is under way, or nothing has changed for longer than any step takes."""
        seen: list[object] = []
        for _ in range(LONGEST_CALM // LOOK_EVERY):
            restless = [view for org in orgs for view in await auditor.all(org, "QUEUED", "SENDING")]
            seen.append([(v.id, v.status, v.attempt_count, v.error_message) for v in restless])
            patience = WAITING if any(view.status == "QUEUED" for view in restless) else SETTLING
            if not restless or (len(seen) > patience and all(past == seen[-1] for past in seen[-patience:])):
                return
            await asyncio.sleep(LOOK_EVERY / 1_000_000)

    async def _ending(self, auditor: ApiClient, orgs: list[SimulatedOrg], sandbox: Sandbox) -> ScenarioResult:
        views = {(org.name, view.id): view for org in orgs for view in await auditor.all(org)}
        for (org_name, message_id), view in views.items():
            self.sim.trace.note("final", org=org_name, id=message_id, status=view.status, key=view.idempotency_key)
        by_name = {org.name: org for org in orgs}
        wanted = [key for key in views if key in self.record.retried]
        return ScenarioResult(
            seed=self.sim.seed,
            record=self.record,
            policy=self.plan.policy,
            stale=self.cluster.tuning.stale,
            views=views,
            attempts={key: await auditor.attempts(by_name[key[0]], key[1]) for key in wanted},
            logged=self.ledger.logged(),
            calls=sandbox.calls.listed(),
            skews={name: self.sim.node(name).clock.history for name in SERVERS},
            detected=await self._detected(),
            complaints=self.sim.complaints,
            crashes=self.cluster.crashes,
            micros=self.sim.loop.micros,
            digest=self.sim.trace.digest(),
            lines=self.sim.trace.lines(),
        )

    async def _detected(self) -> Sequence[InvariantFinding]:
        """All findings that do not depend on clocks, which the storm set wrong by hours."""
        tuning = self.cluster.tuning
        look = check_invariants.message_scan(tuning, self.ledger.clock.now(), 0, EVERYTHING)
        timeless = msgspec.structs.replace(look, enforce_window=False, clock_slack=hours(24))
        return await SqlLedger(self.ledger.engine(self.sim.node("auditor"))).invariants.look(timeless)


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
