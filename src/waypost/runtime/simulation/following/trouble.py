"""What goes wrong while people follow: lines, servers, hints, clocks, the Ledger, and feeds that are forgotten."""

from __future__ import annotations

from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.reading import Reader
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.failure import LedgerError
from waypost.runtime.simulation.cluster import GRAPH, SERVERS, Cluster
from waypost.runtime.simulation.following.lines import CALM_LINES, Lines
from waypost.runtime.simulation.following.log import SharedLog
from waypost.runtime.simulation.record import Record
from waypost.runtime.simulation.talking.trouble import TalkTrouble
from waypost.runtime.simulation.trouble import CALLERS, Incidents
from waypost.sandbox import Sandbox
from waypost.testing.simulation import CALM, Outage, Simulation

PEOPLE = CALLERS
"""The node of everybody's devices; the same routes are bad for them as for any caller."""


class FollowTrouble(TalkTrouble):
    longest_jump = minutes(2)

    def __init__(
        self,
        sim: Simulation,
        cluster: Cluster,
        sandbox: Sandbox,
        record: Record,
        lines: Lines,
        log: SharedLog | None = None,
    ) -> None:
        super().__init__(sim, cluster, sandbox, record)
        self._lines = lines
        self._log = log
        self._ledger = SqlLedger(cluster.ledger.engine(sim.node("operator")))

    def incidents(self) -> Incidents:
        return (
            (8, self._crash),
            (3, self._stop),
            (4, self._pause),
            (1, self._all_down),
            (2, self._server_outage),
            (8, self._lines_cut),
            (3, self._server_unreachable),
            (2, self._clock_jump),
            (2, self._ledger_outage),
            (3, self._feeds_forgotten),
            *(((4, self._log_outage),) if self._log is not None else ()),
        )

    async def _lines_cut(self) -> None:
        self._lines.cut(self._dice.choice(SERVERS), self._dice.choice((0.2, 1.0)))

    async def _server_unreachable(self) -> None:
        """From where people are: no new line, no request; lines that are open go silent or break."""
        name = self._dice.choice(SERVERS)
        self._lines.blocked.add(name)
        self._lines.cut(name)
        self._sim.network.part(PEOPLE, name)
        await self._pass(self._between(seconds(1), seconds(self._dice.choice((5, 40)))))
        self._lines.blocked.discard(name)
        self._sim.network.join(PEOPLE, name)

    async def _server_outage(self) -> None:
        name = self._dice.choice(SERVERS)
        self._sim.network.fail(name, self._dice.choice(list(Outage)))
        await self._pass(self._between(seconds(2), seconds(30)))
        self._sim.network.heal(name)

    async def _feeds_forgotten(self) -> None:
        """As if a month had gone by: what is older than a moment can be read no more."""
        before = Instant(self._cluster.ledger.clock.now() - self._dice.choice((seconds(5), seconds(30), seconds(90))))
        try:
            reader = None if self._log is None else Reader.LOG
            await self._ledger.feeds.forget(before, 10_000, unless_behind=reader)
        except LedgerError:
            return

    async def _log_outage(self) -> None:
        if self._log is not None:
            self._log.fail(self._dice.choice((0.2, 0.5, 1.0)))
            await self._pass(self._between(seconds(1), seconds(self._dice.choice((5, 60)))))
            self._log.fail(0.0)

    def calm(self) -> None:
        super().calm()
        if self._log is not None:
            self._log.fail(0.0)
        self._lines.weather = CALM_LINES
        self._lines.blocked.clear()
        for name in SERVERS:
            self._sim.network.set_weather(CALM, source=PEOPLE, target=name)
        self._sim.network.heal(GRAPH)
