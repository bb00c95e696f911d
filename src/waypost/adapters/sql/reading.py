"""Reading messages, every statement bound to an org."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Row
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Attempt, AttemptStatus, Message, Status
from waypost.ports.messages import Life, Page, PageQuery, Query

LARGEST = 2**63 - 1


class SqlMessages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, org: OrgId, message: MessageId) -> Message | None:
        found = await self._engine.read("message_get", message, org)
        return rows.message(found[0]) if found else None

    async def some(self, org: OrgId, messages: Sequence[MessageId]) -> Sequence[Message]:
        found = await self._engine.read("messages_some", org, sorted(set(messages))) if messages else []
        return [rows.message(row) for row in found]

    async def life(self, org: OrgId, message: MessageId) -> Life | None:
        found = await self.get(org, message)
        if found is None:
            return None
        return Life(
            message=found,
            attempts=_with_current(
                found, [rows.attempt(row) for row in await self._engine.read("attempts_of", message)]
            ),
            reports=[rows.heard(row) for row in await self._engine.read("reports_of", message)],
            events=[rows.event(row) for row in await self._engine.read("events_of", message)],
        )

    async def lives(self, org: OrgId, dossier_id: int | None, limit: int) -> Sequence[Life]:
        messages = await self.find(org, Query(dossier_id=dossier_id), limit)
        if not messages:
            return []
        by, whose = ("org", ()) if dossier_id is None else ("dossier", (dossier_id,))
        bounds = (org, messages[-1].id, messages[0].id, *whose)
        attempts = _by_message(await self._engine.read(f"lives_attempts_{by}", *bounds))
        reports = _by_message(await self._engine.read(f"lives_reports_{by}", *bounds))
        events = _by_message(await self._engine.read(f"lives_events_{by}", *bounds))
        return [
            Life(
                message=each,
                attempts=_with_current(each, [rows.attempt(row) for row in sorted(attempts[each.id])]),
                reports=[rows.heard(row[1:]) for row in sorted(reports[each.id], key=_heard_first)],
                events=[rows.event(row[2:]) for row in sorted(events[each.id])],
            )
            for each in messages
        ]

    async def used_key(self, org: OrgId, idempotency_key: str) -> bool:
        return bool(await self._engine.read("key_used", org, idempotency_key))

    async def find(self, org: OrgId, query: Query, limit: int) -> Sequence[Message]:
        """The most selective filter that is given picks the index."""
        status = query.status.value if query.status else None
        below = LARGEST if query.before is None else query.before
        if query.dossier_id is not None:
            found = await self._engine.read(
                "messages_by_dossier", org, limit, query.dossier_id, status, query.recipient, below
            )
        elif query.recipient is not None:
            found = await self._engine.read("messages_by_recipient", org, limit, query.recipient, status, below)
        elif status is not None:
            found = await self._engine.read("messages_by_status", org, limit, status, below)
        else:
            found = await self._engine.read("messages_newest", org, limit, below)
        return [rows.message(row) for row in found]

    async def dead(self, org: OrgId, error_code: str | None, before: MessageId | None, limit: int) -> Sequence[Message]:
        below = LARGEST if before is None else before
        if error_code is None:
            found = await self._engine.read("dead_letters", org, below, limit)
        else:
            found = await self._engine.read("dead_letters_by_code", org, below, limit, error_code)
        return [rows.message(row) for row in found]

    async def page(self, org: OrgId, query: PageQuery) -> Page:
        direction = "ascending" if query.ascending else "descending"
        offset = query.page * query.size
        if query.dossier_id is None:
            found = await self._engine.read(f"page_{direction}", org, query.size, offset)
            total = await self._engine.read("messages_count", org)
        else:
            found = await self._engine.read(f"page_dossier_{direction}", org, query.size, offset, query.dossier_id)
            total = await self._engine.read("messages_count_dossier", org, query.dossier_id)
        return Page([rows.message(row) for row in found], total[0][0])


def _by_message(found: Sequence[Row]) -> dict[MessageId, list[tuple[Any, ...]]]:
    grouped: dict[MessageId, list[tuple[Any, ...]]] = defaultdict(list)
    for row in found:
        grouped[row[0]].append(tuple(row))
    return grouped


def _heard_first(row: Row) -> tuple[int, int]:
    return row[2], row[1]


def _with_current(message: Message, ended: list[Attempt]) -> list[Attempt]:
    """A try is written when it ends; while it is under way, the delivery tells of it."""
    delivery = message.delivery
    if delivery.status is not Status.SENDING or any(attempt.fence == delivery.fence for attempt in ended):
        return ended
    trying = Attempt(
        message_id=message.id,
        fence=delivery.fence,
        generation=delivery.generation,
        attempt_no=delivery.tries,
        status=AttemptStatus.TRYING,
        error_code=None,
        error_message=None,
        response=None,
        next_retry_at=None,
        created_at=delivery.claimed_at or delivery.updated_at,
        finished_at=None,
    )
    return [*ended, trying]
