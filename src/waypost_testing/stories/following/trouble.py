"""Faults while users follow: connections, servers, hints, clocks, the Ledger, and pruned feeds."""

from __future__ import annotations

from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.consumer import Consumer
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.platform.failure import LedgerError
from waypost.sandbox import Sandbox
from waypost_testing.simulation import CALM, Outage, Simulation
from waypost_testing.stories.cluster import GRAPH, SERVERS, Cluster
from waypost_testing.stories.following.lines import CALM_LINES, SimulatedSockets
from waypost_testing.stories.following.log import SharedHistory
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.sending.trouble import CALLERS, Incidents
from waypost_testing.stories.talking.trouble import TurnFaultInjector

PEOPLE = CALLERS
"""The node of every device; it has the same bad routes as any caller."""


class FollowFaultInjector(TurnFaultInjector):
    jump_together = minutes(2)

    def __init__(
        self,
        sim: Simulation,
        cluster: Cluster,
        sandbox: Sandbox,
        record: SimulationRecord,
        lines: SimulatedSockets,
        log: SharedHistory | None = None,
    ) -> None:
        super().__init__(sim, cluster, sandbox, record)
        self._lines = lines
        self._log = log
        self._ledger = SqlLedger(cluster.ledger.engine(sim.node("operator")))

    def incidents(self) -> Incidents:
        return (
            (8, self._crash),
            (3, self._stop),
            (4, self._stand_still),
            (1, self._all_down),
            (2, self._server_outage),
            (8, self._lines_cut),
            (3, self._server_unreachable),
            (2, self._clock_jump),
            (2, self._ledger_outage),
            (3, self._feeds_forgotten),
            *(((4, self._log_outage), (6, self._log_crash)) if self._log is not None else ()),
        )

    async def _lines_cut(self) -> None:
        self._lines.cut(self._rng.choice(SERVERS), self._rng.choice((0.2, 1.0)))

    async def _server_unreachable(self) -> None:
        """Cut users off: no new connection, no request; open connections go silent or break."""
        name = self._rng.choice(SERVERS)
        self._lines.blocked.add(name)
        self._lines.cut(name)
        self._sim.network.part(PEOPLE, name)
        await self._pass(self._between(seconds(1), seconds(self._rng.choice((5, 40)))))
        self._lines.blocked.discard(name)
        self._sim.network.join(PEOPLE, name)

    async def _server_outage(self) -> None:
        name = self._rng.choice(SERVERS)
        self._sim.network.fail(name, self._rng.choice(list(Outage)))
        await self._pass(self._between(seconds(2), seconds(30)))
        self._sim.network.heal(name)

    async def _feeds_forgotten(self) -> None:
        """As if a month had passed: older items can no longer be read."""
        before = Instant(self._cluster.ledger.clock.now() - self._rng.choice((seconds(5), seconds(30), seconds(90))))
        try:
            reader = None if self._log is None else Consumer.ARCHIVE
            await self._ledger.feeds.forget(before, 10_000, unless_behind=reader)
        except LedgerError:
            return

    async def _log_outage(self) -> None:
        if self._log is not None:
            self._log.fail(self._rng.choice((0.2, 0.5, 1.0)))
            await self._pass(self._between(seconds(1), seconds(self._rng.choice((5, 60)))))
            self._log.fail(0.0)

    async def _log_crash(self) -> None:
        """It starts again soon, without the latest entries that it confirmed."""
        if self._log is not None:
            self._log.crash()
            await self._pass(self._between(seconds(0.2), seconds(self._rng.choice((2, 20)))))
            self._log.fail(0.0)

    def calm(self) -> None:
        super().calm()
        if self._log is not None:
            self._log.fail(0.0)
        self._lines.weather = CALM_LINES
        self._lines.blocked.clear()
        for name in SERVERS:
            self._sim.network.set_conditions(CALM, source=PEOPLE, target=name)
        self._sim.network.heal(GRAPH)
