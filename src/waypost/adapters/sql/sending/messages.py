"""Reads of messages; every statement is bound to an org."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Row
from waypost.adapters.sql.rows import message_rows
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Attempt, AttemptStatus, Message, Status
from waypost.ports.sending.messages import FoundMessages, MessageRecord, PageQuery, Query

LARGEST = 2**63 - 1


class SqlMessages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, org: OrgId, message: MessageId) -> Message | None:
        found = await self._engine.read("message_get", message, org)
        return message_rows.message(found[0]) if found else None

    async def some(self, org: OrgId, messages: Sequence[MessageId]) -> Sequence[Message]:
        found = await self._engine.read("messages_some", org, sorted(set(messages))) if messages else []
        return [message_rows.message(row) for row in found]

    async def life(self, org: OrgId, message: MessageId) -> MessageRecord | None:
        found = await self.get(org, message)
        if found is None:
            return None
        return MessageRecord(
            message=found,
            attempts=_with_current(
                found, [message_rows.attempt(row) for row in await self._engine.read("attempts_of", message)]
            ),
            statuses=[message_rows.status_record(row) for row in await self._engine.read("reports_of", message)],
            events=[message_rows.event(row) for row in await self._engine.read("events_of", message)],
        )

    async def lives(self, org: OrgId, dossier_id: int | None, limit: int) -> Sequence[MessageRecord]:
        messages = await self.find(org, Query(dossier_id=dossier_id), limit)
        if not messages:
            return []
        by, whose = ("org", ()) if dossier_id is None else ("dossier", (dossier_id,))
        bounds = (org, messages[-1].id, messages[0].id, *whose)
        attempts = _by_message(await self._engine.read(f"lives_attempts_{by}", *bounds))
        reports = _by_message(await self._engine.read(f"lives_reports_{by}", *bounds))
        events = _by_message(await self._engine.read(f"lives_events_{by}", *bounds))
        return [
            MessageRecord(
                message=each,
                attempts=_with_current(each, [message_rows.attempt(row) for row in sorted(attempts[each.id])]),
                statuses=[message_rows.status_record(row[1:]) for row in sorted(reports[each.id], key=_by_received)],
                events=[message_rows.event(row[2:]) for row in sorted(events[each.id])],
            )
            for each in messages
        ]

    async def used_key(self, org: OrgId, idempotency_key: str) -> bool:
        return bool(await self._engine.read("key_used", org, idempotency_key))

    async def find(self, org: OrgId, query: Query, limit: int) -> Sequence[Message]:
        """The most selective given filter determines the index."""
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
        return [message_rows.message(row) for row in found]

    async def dead(self, org: OrgId, error_code: str | None, before: MessageId | None, limit: int) -> Sequence[Message]:
        below = LARGEST if before is None else before
        if error_code is None:
            found = await self._engine.read("dead_letters", org, below, limit)
        else:
            found = await self._engine.read("dead_letters_by_code", org, below, limit, error_code)
        return [message_rows.message(row) for row in found]

    async def page(self, org: OrgId, query: PageQuery) -> FoundMessages:
        direction = "ascending" if query.ascending else "descending"
        offset = query.page * query.size
        if query.dossier_id is None:
            found = await self._engine.read(f"page_{direction}", org, query.size, offset)
            total = await self._engine.read("messages_count", org)
        else:
            found = await self._engine.read(f"page_dossier_{direction}", org, query.size, offset, query.dossier_id)
            total = await self._engine.read("messages_count_dossier", org, query.dossier_id)
        return FoundMessages([message_rows.message(row) for row in found], total[0][0])


def _by_message(found: Sequence[Row]) -> dict[MessageId, list[tuple[Any, ...]]]:
    grouped: dict[MessageId, list[tuple[Any, ...]]] = defaultdict(list)
    for row in found:
        grouped[row[0]].append(tuple(row))
    return grouped


def _by_received(row: Row) -> tuple[int, int]:
    return row[2], row[1]


def _with_current(message: Message, ended: list[Attempt]) -> list[Attempt]:
    """An attempt is stored when it ends; until then it is derived from the delivery."""
    delivery = message.delivery
    if delivery.status is not Status.SENDING or any(attempt.fence == delivery.fence for attempt in ended):
        return ended
    current = Attempt(
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
    return [*ended, current]
