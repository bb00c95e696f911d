"""The Ledger on any engine: each port has an adapter of the same area in this folder."""

from __future__ import annotations

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
from waypost.adapters.sql.history.archive_feed import SqlArchiveFeed
from waypost.adapters.sql.history.history import SqlHistory
from waypost.adapters.sql.kernel.commit_queues import FastPaths, Writer
from waypost.adapters.sql.limits.gates import SqlGates, SqlQuotas, SqlWindows
from waypost.adapters.sql.limits.money import SqlMoney
from waypost.adapters.sql.operations.invariants import SqlDetector
from waypost.adapters.sql.operations.operator_reads import SqlOperatorReads
from waypost.adapters.sql.operations.queue_stats import SqlQueueStats
from waypost.adapters.sql.receiving.journal import SqlJournal
from waypost.adapters.sql.receiving.media import SqlFiles
from waypost.adapters.sql.rows.audit import SqlAudit
from waypost.adapters.sql.sending.failover import SqlFailover
from waypost.adapters.sql.sending.messages import SqlMessages
from waypost.adapters.sql.sending.outbox import SqlMessageLookup, SqlOutbox, SqlWebhookUptime
from waypost.adapters.sql.sending.templates import SqlTemplates
from waypost.model.time import Instant


class SqlLedger:
    """All ports of the Ledger on one engine."""

    def __init__(self, engine: Engine, fast_paths: FastPaths | None = None) -> None:
        """`fast_paths` are the engine's own fast paths; None uses the default ones."""
        self._engine = engine
        self._writer = writer = Writer(engine.run, fast_paths)
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

    async def time(self) -> Instant:
        return await self._engine.time()

    async def ping(self) -> None:
        await self._engine.ping()

    async def close(self) -> None:
        await self.device_feeds.close()
        await self._engine.close(self._writer.close)
