"""The Ledger's ports, on any engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.accounts import SqlAccounts
from waypost.adapters.sql.audit import SqlAudit
from waypost.adapters.sql.behind import SqlBehind
from waypost.adapters.sql.claiming import claim_due, stage
from waypost.adapters.sql.consents import SqlConsents
from waypost.adapters.sql.conversations import SqlConversations, SqlFeeds
from waypost.adapters.sql.detector import SqlDetector
from waypost.adapters.sql.dossiers import SqlDossiers
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.failover import SqlFailover
from waypost.adapters.sql.figures import SqlFigures
from waypost.adapters.sql.gates import SqlGates, SqlQuotas, SqlWindows
from waypost.adapters.sql.handing_over import SqlHandOver
from waypost.adapters.sql.intents import Change, ExpireWaiting, GiveUpWaiting, HandBack, Settle, Submit
from waypost.adapters.sql.journal import JournalKeeping
from waypost.adapters.sql.lanes import SqlLanes
from waypost.adapters.sql.live import SqlChats, SqlFollows
from waypost.adapters.sql.log import SqlLog
from waypost.adapters.sql.mailboxes import SqlMailboxes
from waypost.adapters.sql.media import SqlFiles
from waypost.adapters.sql.money import SqlMoney
from waypost.adapters.sql.operating import SqlOperating
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.adapters.sql.policies import SqlPolicies
from waypost.adapters.sql.pushing import SqlNotices
from waypost.adapters.sql.quick_replies import SqlQuickReplies
from waypost.adapters.sql.reading import SqlMessages
from waypost.adapters.sql.searching import SqlSearch
from waypost.adapters.sql.taking import Take
from waypost.adapters.sql.templates import SqlTemplates
from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId, WorkerId
from waypost.model.message import Delivery, Draft
from waypost.model.report import Post
from waypost.model.time import Instant, Span
from waypost.ports.journal import Orphans, Taken
from waypost.ports.outbox import (
    Batch,
    Changed,
    Demand,
    Done,
    Missing,
    NotAllowed,
    Patience,
    Settled,
    Settlement,
    Submitted,
    Swept,
)


class SqlOutbox:
    def __init__(self, engine: Engine, messages: SqlMessages) -> None:
        self._engine = engine
        self._messages = messages

    async def submit(self, draft: Draft, now: Instant) -> Submitted:
        answer: Submitted = await self._engine.writer.decide(Submit(draft, now))
        return answer

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        ((due_at,),) = await self._engine.read("next_due")
        if due_at is not None and due_at <= now:
            await self._engine.transact(stage(now))
        return await self._engine.transact(claim_due(demand, now))

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        return await self._engine.writer.settle(Settle(settlement, now))

    async def hand_back(self, owner: WorkerId, holding: Sequence[MessageId], now: Instant) -> Sequence[MessageId]:
        held = set(holding)
        mine = await self._engine.read("claims_of", owner)
        unknown = tuple(sorted(row[0] for row in mine if row[0] not in held))
        if not unknown:
            return []
        answer: list[MessageId] = await self._engine.writer.decide(HandBack(owner, unknown, now))
        return answer

    async def cancel(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> Changed:
        return await self._change(Change(org, message, "cancelled", now, actor))

    async def retry(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> Changed:
        return await self._change(Change(org, message, "retried", now, actor))

    async def replay(
        self, org: OrgId, messages: Sequence[MessageId], now: Instant, actor: str = SYSTEM
    ) -> Sequence[MessageId]:
        decide = self._engine.writer.decide
        answers = await asyncio.gather(*(decide(Change(org, message, "replayed", now, actor)) for message in messages))
        moved = [answer[1] for answer in answers if answer is not None and answer[1] is not answer[0]]
        return [delivery.message_id for delivery in moved]

    async def _change(self, change: Change) -> Changed:
        answer = await self._engine.writer.decide(change)
        message = await self._messages.get(change.org, change.message) if answer else None
        if answer is None or message is None:
            return Missing()
        before, after, promoted = answer
        return NotAllowed(message) if after is before else Done(message, promoted)

    async def expire(self, limit: int, now: Instant) -> Sequence[MessageId]:
        due = await self._engine.read("expiring_due", now, limit)
        if not due:
            return []
        answer: list[MessageId] = await self._engine.writer.decide(ExpireWaiting(tuple(row[0] for row in due), now))
        return answer

    async def sweep(self, patience: Patience, limit: int, now: Instant) -> Swept:
        ((open_total,),) = await self._engine.read("door_total")
        stale_before = open_total - patience.limit - patience.slack
        found = await self._engine.read("stale_claims", stale_before, limit)
        if not found:
            return Swept([], [])
        candidates = tuple(row[0] for row in found)
        answer: Swept = await self._engine.writer.decide(GiveUpWaiting(candidates, patience, stale_before, now))
        return answer


class SqlJournal(JournalKeeping):
    async def take(self, post: Post, now: Instant) -> Taken:
        return await self._engine.writer.take(Take(post, now))

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> Orphans:
        forgotten = await self._engine.transact(_forget(forget_before))
        ((waiting,),) = await self._engine.read("orphans_count", waiting_since)
        return Orphans(waiting, forgotten)


def _forget(before: Instant) -> Plan[int]:
    forgotten = yield Once("orphans_forget", (before,))
    yield from each("wamid_forget", sorted({(number, wamid) for number, wamid in forgotten}))
    return len(forgotten)


class SqlDoor:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def tick(self, gap: Span) -> int:
        return await self._engine.transact(_tick(self._engine.now(), gap))


def _tick(now: Instant, gap: Span) -> Plan[int]:
    ((total,),) = yield Once("door_tick", (now, gap))
    return int(total)


class SqlLookup:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def delivery(self, message: MessageId) -> Delivery | None:
        found = await self._engine.read("delivery_get", message)
        return rows.delivery(found[0]) if found else None

    async def next_due(self) -> Instant | None:
        ((due_at,),) = await self._engine.read("next_due")
        return due_at if due_at is None else Instant(due_at)


class SqlLedger:
    """Every noun of the Ledger on one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.messages = SqlMessages(engine)
        self.outbox = SqlOutbox(engine, self.messages)
        self.accounts = SqlAccounts(engine)
        self.failover = SqlFailover(engine)
        self.mailboxes = SqlMailboxes(engine)
        self.templates = SqlTemplates(engine)
        self.journal = SqlJournal(engine)
        self.door = SqlDoor(engine)
        self.gates = SqlGates(engine)
        self.quotas = SqlQuotas(engine)
        self.windows = SqlWindows(engine)
        self.policies = SqlPolicies(engine)
        self.quick_replies = SqlQuickReplies(engine)
        self.money = SqlMoney(engine)
        self.figures = SqlFigures(engine)
        self.files = SqlFiles(engine)
        self.lookup = SqlLookup(engine)
        self.detector = SqlDetector(engine)
        self.dossiers = SqlDossiers(engine)
        self.consents = SqlConsents(engine)
        self.audit = SqlAudit(engine)
        self.operating = SqlOperating(engine)
        self._talk(engine)

    def _talk(self, engine: Engine) -> None:
        self.lanes = SqlLanes(engine)
        self.conversations = SqlConversations(engine)
        self.feeds = SqlFeeds(engine)
        self.chats = SqlChats(engine)
        self.log = SqlLog(engine)
        self.follows = SqlFollows(engine)
        self.behind = SqlBehind(engine)
        self.hand_over = SqlHandOver(engine)
        self.search = SqlSearch(engine)
        self.notices = SqlNotices(engine)

    async def ping(self) -> None:
        await self._engine.ping()

    async def close(self) -> None:
        await self.follows.close()
        await self._engine.close()
