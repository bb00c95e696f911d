"""An operator's figures in SQL: a few bounded reads."""

from __future__ import annotations

from waypost.adapters.sql import gate_rows
from waypost.adapters.sql.engine import Engine
from waypost.model.figures import ClosedGates, OpenTurns, QuotaUse, Survey, WaitingFiles
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules import pacing
from waypost.rules.survey import added_up

OUTLETS_AT_MOST = 500
COUNT_AT_MOST = 10_000
LATER_AT_MOST = 100_000


class SqlFigures:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def survey(self, most: int, now: Instant) -> Survey:
        """Only reads, and not all of one moment: figures need no more."""
        read = self._engine.read
        found = await read("outlets_depth", OUTLETS_AT_MOST, COUNT_AT_MOST, now)
        queues = [(gate_rows.outlet(row), row[7], row[17] or now) for row in found]
        names = pacing.needed([outlet for outlet, _, _ in queues])
        permits = {row[0]: gate_rows.permit(row) for row in (await read("permits_of", names) if names else [])}
        ((later,),) = await read("later_depth", LATER_AT_MOST)
        quotas = await read("quotas_fullest", now - pacing.WINDOW, most)
        closed = await read("gates_closed", now, most)
        ((backlog, first_due_at, first_claimed_at),) = await read("turns_depth", now, LATER_AT_MOST)
        ((files, file_due_at),) = await read("media_depth", now, LATER_AT_MOST)
        return Survey(
            waiting=added_up(queues, permits, most, now),
            later=later,
            quotas=[QuotaUse(OrgId(name.removeprefix("quota:")), used, limit) for name, used, limit in quotas],
            closed=[ClosedGates(*row) for row in closed],
            turns=OpenTurns(backlog=backlog, first_due_at=first_due_at, first_claimed_at=first_claimed_at),
            media=WaitingFiles(files=files, first_due_at=file_due_at),
        )
