"""One seed, one world: two servers on one Ledger, a provider, callers, a storm, calm, and checks."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from waypost.adapters.sql.ledger import SqlLedger
from waypost.flow.operations import check_invariants
from waypost.flow.world import Tuning
from waypost.model.time import Span, hours, minutes, seconds
from waypost.ports.operations.invariants import InvariantFinding
from waypost.rules.sending.delivery import Unsettled
from waypost.sandbox.graph.calls import RecordedCall
from waypost_testing.simulation import Simulation
from waypost_testing.stories.cluster import (
    GRAPH,
    WITHOUT_DEVICES,
    Cluster,
    CustomiseParts,
)
from waypost_testing.stories.record import ObservedAttempt, ObservedMessage
from waypost_testing.stories.sending.callers import ApiClient, Workload
from waypost_testing.stories.sending.customers import customers, intruder, revoke_and_grant_consent
from waypost_testing.stories.sending.levers import LedgerControls
from waypost_testing.stories.sending.trouble import FaultInjector, Severity
from waypost_testing.stories.story import StoryPlan, StoryResult, StoryRun

EVERYTHING = 2**40
LONGEST_CALM: Span = hours(4)
LOOK_EVERY: Span = minutes(5)
SETTLING, WAITING = 5, 24
"""Checks without a change: longer than an attempt takes to go stale, and than a gate closed by a clock far ahead."""


@dataclass(frozen=True, kw_only=True)
class ScenarioResult(StoryResult):
    """The state when everything has come to rest, as the API and the provider show it."""

    policy: Unsettled
    stale: Span
    told_within: Span
    """How long a server may take to report that it refused a webhook."""
    views: dict[tuple[str, int], ObservedMessage]
    attempts: dict[tuple[str, int], list[ObservedAttempt]]
    logged: dict[str, int]
    """Customers' messages by wamid: how many entries each has."""
    calls: list[RecordedCall]
    skew: list[tuple[int, Span]]
    """How far the Ledger's clock was off, from each moment on: the rules are judged by it."""
    detected: Sequence[InvariantFinding]
    """The findings of the invariant checks in the final database."""


@dataclass(frozen=True, kw_only=True)
class ScenarioPlan(StoryPlan):
    """What the seed decides before anything happens."""

    policy: Unsettled
    pace: float
    """Mean seconds between two messages of one caller."""
    tick: Span
    """How often servers poll; the default of 5 s takes most of a run's time, so most runs poll less often."""

    stale: Span
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
            stale=rng.choice((minutes(2), minutes(10))),
        )


class SendingRun(StoryRun[ScenarioResult]):
    storm_hours = 0.4

    def __init__(self, sim: Simulation, dress: CustomiseParts) -> None:
        super().__init__(sim, dress)
        self.plan: ScenarioPlan = ScenarioPlan.drawn(sim.chance.stream("plan"))
        self.levers = LedgerControls(self.ledger, self.record)
        plan = self.plan
        tuning = Tuning(
            figures=False,
            indexing=False,
            unsure=plan.policy,
            stale=plan.stale,
            webhook_tick=plan.tick,
            poll=plan.tick,
            slots=plan.slots,
            quota=None,
            pace=1000,
        )
        self.cluster = Cluster(sim, self.record, tuning, self.ledger, dress)
        self.cluster.roles = WITHOUT_DEVICES

    def injector(self) -> FaultInjector:
        return FaultInjector(self.sim, self.cluster, self.sandbox, self.record)

    def begin(self, until: int) -> None:
        orgs, sandbox, graph = self.orgs, self.sandbox, self.sim.node(GRAPH)
        self.crowd = crowd = Workload(self.sim, orgs, self.record, until)
        crowd.start(self.plan.pace)
        crowd.errand(intruder(crowd, orgs[1], orgs[0]))
        self.levers.set_limits(crowd)
        self.levers.pull(crowd)
        self.at_their_phones = [
            graph.spawn(customers(crowd, sandbox, sandbox.numbers.all())),
            *(graph.spawn(revoke_and_grant_consent(crowd, sandbox, org, self.ledger)) for org in orgs),
        ]

    async def storm(self, trouble: FaultInjector, until: int) -> None:
        brewing = asyncio.ensure_future(super().storm(trouble, until))
        await asyncio.sleep((until - self.record.now()) / 1_000_000)
        await brewing

    async def finish(self) -> None:
        await self.crowd.finish()
        await asyncio.gather(*self.at_their_phones)
        await self.levers.let_go(self.crowd)

    async def _come_to_rest(self, auditor: ApiClient) -> None:
        """Wait until nothing is under way, or nothing has changed for longer than any step takes."""
        seen: list[object] = []
        for _ in range(LONGEST_CALM // LOOK_EVERY):
            restless = [view for org in self.orgs for view in await auditor.all(org, "QUEUED", "SENDING")]
            seen.append([(v.id, v.status, v.attempt_count, v.error_message) for v in restless])
            patience = WAITING if any(view.status == "QUEUED" for view in restless) else SETTLING
            if not restless or (len(seen) > patience and all(past == seen[-1] for past in seen[-patience:])):
                return
            await asyncio.sleep(LOOK_EVERY / 1_000_000)

    async def ending(self) -> ScenarioResult:
        auditor = ApiClient(self.sim, self.sim.node("auditor"), self.record, self.sim.chance.stream("auditor"))
        await self._come_to_rest(auditor)
        views = {(org.name, view.id): view for org in self.orgs for view in await auditor.all(org)}
        for (org_name, message_id), view in views.items():
            self.sim.trace.note("final", org=org_name, id=message_id, status=view.status, key=view.idempotency_key)
        by_name = {org.name: org for org in self.orgs}
        calls = self.sandbox.calls.listed()
        wanted = [key for key in views if key in self.record.retried]
        return ScenarioResult(
            policy=self.plan.policy,
            stale=self.cluster.tuning.stale,
            told_within=self.cluster.tuning.webhook_gap,
            views=views,
            attempts={key: await auditor.attempts(by_name[key[0]], key[1]) for key in wanted},
            logged=self.ledger.logged(),
            calls=calls,
            skew=self.ledger.clock.history,
            detected=await self._detected(),
            messages=len(views),
            accepted=sum(1 for call in calls if call.wamid is not None),
            standing=Counter(view.status for view in views.values()),
            **self.ended(),
        )

    async def _detected(self) -> Sequence[InvariantFinding]:
        """All findings that do not depend on clocks, which the storm set wrong by hours."""
        tuning = self.cluster.tuning
        look = check_invariants.message_scan(tuning, self.ledger.clock.now(), 0, EVERYTHING)
        timeless = msgspec.structs.replace(look, enforce_window=False, clock_slack=hours(24))
        return await SqlLedger(self.ledger.engine(self.sim.node("auditor"))).invariants.look(timeless)
