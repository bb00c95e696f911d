"""Queue statistics in SQL: a few bounded reads."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Row
from waypost.adapters.sql.kernel.conversation_work import team_of
from waypost.adapters.sql.rows import gate_rows
from waypost.model.conversation import CONTACT
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.overview import MessageMoments, RecentTraffic
from waypost.model.queue_stats import ClosedGates, OpenTurns, QueueSurvey, QuotaUse, WaitingFiles, WaitingMessages
from waypost.model.time import Instant
from waypost.rules.limits import send_pace
from waypost.rules.limits.queue_survey import waiting_totals

OUTLETS_AT_MOST = 500
COUNT_AT_MOST = 10_000
LATER_AT_MOST = 100_000


class SqlQueueStats:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def survey(self, most: int, now: Instant) -> QueueSurvey:
        """Several reads without a common snapshot, which statistics do not need."""
        read = self._engine.read
        waiting = await self._added_up(await read("outlets_depth", OUTLETS_AT_MOST, COUNT_AT_MOST, now), most, now)
        ((later,),) = await read("later_depth", LATER_AT_MOST)
        quotas = await read("quotas_fullest", now - send_pace.WINDOW, most)
        closed = await read("gates_closed", now, most)
        ((backlog, first_due_at, first_claimed_at),) = await read("turns_depth", now, LATER_AT_MOST)
        ((files, file_due_at),) = await read("media_depth", now, LATER_AT_MOST)
        return QueueSurvey(
            waiting=waiting,
            later=later,
            quotas=[QuotaUse(OrgId(name.removeprefix("quota:")), used, limit) for name, used, limit in quotas],
            closed=[ClosedGates(*row) for row in closed],
            turns=OpenTurns(backlog=backlog, first_due_at=first_due_at, first_claimed_at=first_claimed_at),
            media=WaitingFiles(files=files, first_due_at=file_due_at),
        )

    async def _added_up(self, found: Sequence[Row], most: int, now: Instant) -> list[WaitingMessages]:
        queues = [(gate_rows.dispatch_group(row), row[7], row[17] or now) for row in found]
        names = send_pace.needed([group for group, _, _ in queues])
        rows = await self._engine.read("permits_of", names) if names else []
        return waiting_totals(queues, {row[0]: gate_rows.permit(row) for row in rows}, most, now)

    async def waiting(self, org: OrgId, now: Instant) -> Sequence[WaitingMessages]:
        found = await self._engine.read("outlets_depth_org", org, OUTLETS_AT_MOST, COUNT_AT_MOST, now)
        return await self._added_up(found, OUTLETS_AT_MOST, now)

    async def lately(self, org: OrgId, most: int) -> RecentTraffic:
        read = self._engine.read
        gone = [await read("stations_recent", org, status.value, most) for status in _GONE]
        waiting = [row for status in _WAITING for row in await read("stations_oldest", org, status.value, most)]
        items = await read("told_recent", team_of(org), most)
        cut = [_happened_at(rows[-1]) for rows in gone if len(rows) == most]
        return RecentTraffic(
            messages=[_moments(row) for rows in (*gone, waiting) for row in rows],
            received=[Instant(at) for at, kind, sender in items if kind == "message" and sender == CONTACT],
            sent_since=max(cut, default=None),
            received_since=Instant(items[-1][0]) if len(items) == most else None,
        )


_GONE = (Status.SENT, Status.DELIVERED, Status.FAILED, Status.CANCELLED)
_WAITING = (Status.QUEUED, Status.SENDING)


def _happened_at(row: Row) -> Instant:
    """When the message was sent, else when it ended."""
    _, _, sent_at, _, _, updated_at = row
    return Instant(sent_at or updated_at)


def _moments(row: Row) -> MessageMoments:
    created_at, scheduled_at, sent_at, delivered_at, status, updated_at = row
    is_over = status in (Status.FAILED.value, Status.CANCELLED.value)
    return MessageMoments(
        created_at=created_at,
        wanted_at=max(created_at, scheduled_at or 0),
        sent_at=sent_at,
        delivered_at=delivered_at,
        failed_at=updated_at if status == Status.FAILED.value else None,
        done_at=sent_at or (updated_at if is_over else None),
    )
