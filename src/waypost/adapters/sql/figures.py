"""An operator's figures in SQL: a few bounded reads."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import gate_rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Row
from waypost.adapters.sql.talks import team_of
from waypost.model.conversation import CONTACT
from waypost.model.figures import ClosedGates, OpenTurns, QuotaUse, Survey, Waiting, WaitingFiles
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.overview import Lately, Moments
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
        waiting = await self._added_up(await read("outlets_depth", OUTLETS_AT_MOST, COUNT_AT_MOST, now), most, now)
        ((later,),) = await read("later_depth", LATER_AT_MOST)
        quotas = await read("quotas_fullest", now - pacing.WINDOW, most)
        closed = await read("gates_closed", now, most)
        ((backlog, first_due_at, first_claimed_at),) = await read("turns_depth", now, LATER_AT_MOST)
        ((files, file_due_at),) = await read("media_depth", now, LATER_AT_MOST)
        return Survey(
            waiting=waiting,
            later=later,
            quotas=[QuotaUse(OrgId(name.removeprefix("quota:")), used, limit) for name, used, limit in quotas],
            closed=[ClosedGates(*row) for row in closed],
            turns=OpenTurns(backlog=backlog, first_due_at=first_due_at, first_claimed_at=first_claimed_at),
            media=WaitingFiles(files=files, first_due_at=file_due_at),
        )

    async def _added_up(self, found: Sequence[Row], most: int, now: Instant) -> list[Waiting]:
        queues = [(gate_rows.outlet(row), row[7], row[17] or now) for row in found]
        names = pacing.needed([outlet for outlet, _, _ in queues])
        rows = await self._engine.read("permits_of", names) if names else []
        return added_up(queues, {row[0]: gate_rows.permit(row) for row in rows}, most, now)

    async def waiting(self, org: OrgId, now: Instant) -> Sequence[Waiting]:
        found = await self._engine.read("outlets_depth_org", org, OUTLETS_AT_MOST, COUNT_AT_MOST, now)
        return await self._added_up(found, OUTLETS_AT_MOST, now)

    async def lately(self, org: OrgId, most: int) -> Lately:
        read = self._engine.read
        gone = [await read("stations_recent", org, status.value, most) for status in _GONE]
        waiting = [row for status in _WAITING for row in await read("stations_oldest", org, status.value, most)]
        told = await read("told_recent", team_of(org), most)
        cut = [_happened_at(rows[-1]) for rows in gone if len(rows) == most]
        return Lately(
            messages=[_moments(row) for rows in (*gone, waiting) for row in rows],
            received=[Instant(at) for at, kind, sender in told if kind == "message" and sender == CONTACT],
            sent_since=max(cut, default=None),
            received_since=Instant(told[-1][0]) if len(told) == most else None,
        )


_GONE = (Status.SENT, Status.DELIVERED, Status.FAILED, Status.CANCELLED)
_WAITING = (Status.QUEUED, Status.SENDING)


def _happened_at(row: Row) -> Instant:
    """When it was sent, or else when it ended."""
    _, _, sent_at, _, _, updated_at = row
    return Instant(sent_at or updated_at)


def _moments(row: Row) -> Moments:
    created_at, scheduled_at, sent_at, delivered_at, status, updated_at = row
    is_over = status in (Status.FAILED.value, Status.CANCELLED.value)
    return Moments(
        created_at=created_at,
        wanted_at=max(created_at, scheduled_at or 0),
        sent_at=sent_at,
        delivered_at=delivered_at,
        failed_at=updated_at if status == Status.FAILED.value else None,
        done_at=sent_at or (updated_at if is_over else None),
    )
