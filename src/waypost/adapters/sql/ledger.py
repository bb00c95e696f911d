"""The Ledger's ports, on any engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from waypost.adapters.sql.accounts.accounts import SqlAccounts
from waypost.adapters.sql.accounts.consents import SqlConsents
from waypost.adapters.sql.accounts.dossiers import SqlDossiers
from waypost.adapters.sql.accounts.mailboxes import SqlMailboxes
from waypost.adapters.sql.accounts.policies import SqlPolicies
from waypost.adapters.sql.accounts.quick_replies import SqlQuickReplies
from waypost.adapters.sql.conversations.chats import SqlChats
from waypost.adapters.sql.conversations.conversations import SqlConversations, SqlFeeds
from waypost.adapters.sql.conversations.devices import SqlDeviceFeeds
from waypost.adapters.sql.conversations.feed_consumers import SqlFeedConsumers
from waypost.adapters.sql.conversations.notifications import SqlNotifications
from waypost.adapters.sql.conversations.search_index import SqlSearch
from waypost.adapters.sql.conversations.turn_queue import SqlTurnQueue
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.history.archive_feed import SqlArchiveFeed
from waypost.adapters.sql.history.history import SqlHistory
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import FastPaths, Writer
from waypost.adapters.sql.kernel.outbox_intents import (
    ChangeMessage,
    ExpireMessages,
    ReturnClaims,
    Settle,
    SettleStaleAttempts,
    Submit,
)
from waypost.adapters.sql.limits.gates import SqlGates, SqlQuotas, SqlWindows
from waypost.adapters.sql.limits.money import SqlMoney
from waypost.adapters.sql.operations.invariants import SqlDetector
from waypost.adapters.sql.operations.operator_reads import SqlOperatorReads
from waypost.adapters.sql.operations.queue_stats import SqlQueueStats
from waypost.adapters.sql.receiving.journal import SqlJournalReader
from waypost.adapters.sql.receiving.media import SqlFiles
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.rows.audit import SqlAudit
from waypost.adapters.sql.sending.claims import claim_due, stage
from waypost.adapters.sql.sending.failover import SqlFailover
from waypost.adapters.sql.sending.messages import SqlMessages
from waypost.adapters.sql.sending.templates import SqlTemplates
from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId, WorkerId
from waypost.model.message import Delivery, Draft
from waypost.model.time import Instant, Span
from waypost.model.webhook import WebhookBatch
from waypost.ports.receiving.journal import AppliedWebhook, UnmatchedStatuses
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
        ((open_total,),) = await self._engine.read("door_total")
        stale_before = open_total - patience.limit - patience.slack
        found = await self._engine.read("stale_claims", stale_before, limit)
        if not found:
            return SweptAttempts([], [])
        candidates = tuple(row[0] for row in found)
        answer: SweptAttempts = await self._writer.decide(SettleStaleAttempts(candidates, patience, stale_before, now))
        return answer


class SqlJournal(SqlJournalReader):
    def __init__(self, engine: Engine, writer: Writer) -> None:
        super().__init__(engine)
        self._writer = writer

    async def take(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        return await self._writer.take(ApplyWebhook(post, now))

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> UnmatchedStatuses:
        pruned = await self._engine.transact(_prune(forget_before))
        ((waiting,),) = await self._engine.read("orphans_count", waiting_since)
        return UnmatchedStatuses(waiting, pruned)


def _prune(before: Instant) -> Plan[int]:
    pruned = yield Once("orphans_forget", (before,))
    yield from each("wamid_forget", sorted({(number, wamid) for number, wamid in pruned}))
    return len(pruned)


class SqlWebhookUptime:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def tick(self, gap: Span) -> int:
        return await self._engine.transact(_tick(self._engine.now(), gap))


def _tick(now: Instant, gap: Span) -> Plan[int]:
    ((total,),) = yield Once("door_tick", (now, gap))
    return int(total)


class SqlMessageLookup:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def delivery(self, message: MessageId) -> Delivery | None:
        found = await self._engine.read("delivery_get", message)
        return message_rows.delivery(found[0]) if found else None

    async def next_due(self) -> Instant | None:
        ((due_at,),) = await self._engine.read("next_due")
        return due_at if due_at is None else Instant(due_at)


class SqlLedger:
    """All ports of the Ledger on one engine."""

    def __init__(self, engine: Engine, ways: FastPaths | None = None) -> None:
        """`ways` are the engine's own fast paths; None uses the default ones."""
        self._engine = engine
        self._writer = writer = Writer(engine.run, ways)
        self.messages = SqlMessages(engine)
        self.outbox = SqlOutbox(engine, writer, self.messages)
        self.accounts = SqlAccounts(engine)
        self.failover = SqlFailover(engine)
        self.mailboxes = SqlMailboxes(engine)
        self.templates = SqlTemplates(engine)
        self.journal = SqlJournal(engine, writer)
        self.webhook_uptime = SqlWebhookUptime(engine)
        self.gates = SqlGates(engine)
        self.quotas = SqlQuotas(engine)
        self.windows = SqlWindows(engine)
        self.policies = SqlPolicies(engine)
        self.quick_replies = SqlQuickReplies(engine)
        self.money = SqlMoney(engine)
        self.queue_stats = SqlQueueStats(engine)
        self.files = SqlFiles(engine)
        self.lookup = SqlMessageLookup(engine)
        self.invariants = SqlDetector(engine)
        self.dossiers = SqlDossiers(engine)
        self.consents = SqlConsents(engine)
        self.audit = SqlAudit(engine)
        self.operator_reads = SqlOperatorReads(engine)
        self._open_conversations(engine, writer)

    def _open_conversations(self, engine: Engine, writer: Writer) -> None:
        self.turn_queue = SqlTurnQueue(engine, writer)
        self.conversations = SqlConversations(engine)
        self.feeds = SqlFeeds(engine, writer)
        self.chats = SqlChats(engine, writer)
        self.history = SqlHistory(engine)
        self.device_feeds = SqlDeviceFeeds(engine)
        self.feed_consumers = SqlFeedConsumers(engine)
        self.archive = SqlArchiveFeed(engine)
        self.search = SqlSearch(engine)
        self.notifications = SqlNotifications(engine)

    async def ping(self) -> None:
        await self._engine.ping()

    async def close(self) -> None:
        await self.device_feeds.close()
        await self._engine.close(self._writer.close)
