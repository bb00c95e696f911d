"""Faults during conversations: shorter than the provider retries a webhook, and with paused processes."""

from __future__ import annotations

import asyncio

from waypost.model.time import Span, minutes, seconds
from waypost.sandbox import Fault
from waypost_testing.stories.cluster import GRAPH, SERVERS
from waypost_testing.stories.sending.trouble import FaultInjector, Incidents


class TurnFaultInjector(FaultInjector):
    """Every accepted call is reported in the end: without a report, a second send would not be a bug."""

    faults = (
        Fault(error_code=131016),
        Fault(error_code=130429, retry_after=3),
        Fault(http_status=500),
        Fault(raw_status=502),
        Fault(accept_then_raw_status=502),
        Fault(drop_response=True),
        Fault(status_first=True),
        Fault(status_first=True, drop_response=True),
        Fault(duplicate_statuses=2, reorder_statuses=True),
        Fault(status_error=131026),
        Fault(delay_ms=28_000),
        Fault(delay_ms=40_000),
    )
    jump_together = minutes(4)
    pauses = (seconds(8), seconds(25))

    def incidents(self) -> Incidents:
        return (
            (8, self._crash),
            (2, self._stop),
            (8, self._stand_still),
            (1, self._all_down),
            (1, self._provider_outage),
            (2, self._server_outage),
            (2, self._cut),
            (2, self._clock_jump),
            (2, self._ledger_outage),
            (3, self._provider_moods),
        )

    async def _crash(self) -> None:
        steps = self._rng.choice((self._rng.randint(1, 40), self._rng.randint(1, 400)))
        away = self._between(seconds(0.1), seconds(self._rng.choice((1, 20))))
        await self._cluster.kill(self._rng.choice(SERVERS), steps, away)

    async def _all_down(self) -> None:
        away = self._between(seconds(5), minutes(2))
        await asyncio.gather(*(self._cluster.kill(name, self._rng.randint(1, 200), away) for name in SERVERS))

    async def _provider_outage(self) -> None:
        await self._outage(GRAPH, self._between(seconds(2), minutes(1)))

    async def _server_outage(self) -> None:
        await self._outage(self._rng.choice(SERVERS), self._between(seconds(2), minutes(1)))

    async def _cut(self) -> None:
        """Between the provider and one of the servers."""
        name, both = self._rng.choice(SERVERS), self._rng.random() < 0.6
        ends = (GRAPH, name) if self._rng.random() < 0.5 else (name, GRAPH)
        self._sim.network.part(*ends, both=both)
        await self._pass(self._between(seconds(5), minutes(2)))
        self._sim.network.join(GRAPH, name)

    async def _ledger_outage(self) -> None:
        self._cluster.ledger.fail(self._rng.choice((0.2, 0.5, 1.0)))
        await self._pass(self._between(seconds(0.5), seconds(self._rng.choice((5, 40)))))
        self._cluster.ledger.heal()

    async def _pass(self, span: Span) -> None:
        await asyncio.sleep(min(span, minutes(4)) / 1_000_000)
