"""The outbox in SQL: each method is an intent, which the writer commits together with others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.kernel.outbox_intents import (
    ChangeMessage,
    ExpireMessages,
    ReturnClaims,
    Settle,
    SettleStaleAttempts,
    Submit,
)
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.sending.claims import claim_due, stage
from waypost.adapters.sql.sending.messages import SqlMessages
from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId, WorkerId
from waypost.model.message import Delivery, Draft
from waypost.model.time import Instant
from waypost.ports.sending.outbox import (
    Batch,
    Demand,
    MessageChanged,
    MessageChangeResult,
    MessageNotFound,
    NotAllowed,
    Settled,
    Settlement,
    StaleLimits,
    Submitted,
    SweptAttempts,
    UptimeTick,
)


class SqlOutbox:
    def __init__(self, engine: Engine, writer: Writer, messages: SqlMessages) -> None:
        self._engine = engine
        self._writer = writer
        self._messages = messages

    async def submit(self, draft: Draft, now: Instant) -> Submitted:
        answer: Submitted = await self._writer.decide(Submit(draft, now))
        return answer

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        ((due_at,),) = await self._engine.read("next_due")
        if due_at is not None and due_at <= now:
            await self._engine.transact(stage(now))
        return await self._engine.transact(claim_due(demand, now))

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        return await self._writer.settle(Settle(settlement, now))

    async def hand_back(self, owner: WorkerId, holding: Sequence[MessageId], now: Instant) -> Sequence[MessageId]:
        held = set(holding)
        mine = await self._engine.read("claims_of", owner)
        unknown = tuple(sorted(row[0] for row in mine if row[0] not in held))
        if not unknown:
            return []
        answer: list[MessageId] = await self._writer.decide(ReturnClaims(owner, unknown, now))
        return answer

    async def cancel(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> MessageChangeResult:
        return await self._change(ChangeMessage(org, message, "cancelled", now, actor))

    async def retry(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> MessageChangeResult:
        return await self._change(ChangeMessage(org, message, "retried", now, actor))

    async def replay(
        self, org: OrgId, messages: Sequence[MessageId], now: Instant, actor: str = SYSTEM
    ) -> Sequence[MessageId]:
        decide = self._writer.decide
        answers = await asyncio.gather(
            *(decide(ChangeMessage(org, message, "replayed", now, actor)) for message in messages)
        )
        moved = [answer[1] for answer in answers if answer is not None and answer[1] is not answer[0]]
        return [delivery.message_id for delivery in moved]

    async def _change(self, change: ChangeMessage) -> MessageChangeResult:
        answer = await self._writer.decide(change)
        message = await self._messages.get(change.org, change.message) if answer else None
        if answer is None or message is None:
            return MessageNotFound()
        before, after, promoted = answer
        return NotAllowed(message) if after is before else MessageChanged(message, promoted)

    async def expire(self, limit: int, now: Instant) -> Sequence[MessageId]:
        due = await self._engine.read("expiring_due", now, limit)
        if not due:
            return []
        answer: list[MessageId] = await self._writer.decide(ExpireMessages(tuple(row[0] for row in due), now))
        return answer

    async def sweep(self, patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
        ((open_total, refused_total),) = await self._engine.read("door_total")
        stale_before = open_total - patience.limit - patience.slack
        if refused_total > stale_before:
            return SweptAttempts([], [])
        found = await self._engine.read("stale_claims", stale_before, limit)
        if not found:
            return SweptAttempts([], [])
        candidates = tuple(row[0] for row in found)
        answer: SweptAttempts = await self._writer.decide(SettleStaleAttempts(candidates, patience, stale_before, now))
        return answer


class SqlWebhookUptime:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def tick(self, tick: UptimeTick) -> int:
        return await self._engine.transact(_tick(self._engine.now(), tick))

    async def leave(self, listener: str) -> None:
        await self._engine.transact(_leave(listener))


def _tick(now: Instant, tick: UptimeTick) -> Plan[int]:
    """The row of the count is locked first, so that listeners cannot deadlock."""
    counted, replaced = (0, tick.place) if tick.first else (tick.gap, None)
    names = (tick.listener, tick.refused, tick.gap, replaced)
    ((total,),) = yield Once("door_tick", (now, counted, tick.forget, *names))
    yield Once("listener_forget", (tick.forget,))
    if tick.first:
        yield Once("listener_replace", (tick.place,))
    yield Once("listener_tick", (tick.listener, tick.place))
    return int(total)


def _leave(listener: str) -> Plan[None]:
    yield Once("listener_leave", (listener,))


class SqlMessageLookup:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def delivery(self, message: MessageId) -> Delivery | None:
        found = await self._engine.read("delivery_get", message)
        return message_rows.delivery(found[0]) if found else None

    async def next_due(self) -> Instant | None:
        ((due_at,),) = await self._engine.read("next_due")
        return due_at if due_at is None else Instant(due_at)
