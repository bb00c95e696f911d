"""The Ledger with its metered ports, as the steps use it."""

from __future__ import annotations

from waypost.ports.ledger import Ledger
from waypost.runtime.telemetry.metered_files import MeteredFiles
from waypost.runtime.telemetry.metered_turns import MeteredTurnQueue
from waypost.runtime.telemetry.publish_counters import PublishedCounters
from waypost.runtime.telemetry.telemetry import MeteredJournal, MeteredOutbox, Telemetry


class MeteredLedger:
    """A Ledger whose outbox, journal, turns and files are metered."""

    def __init__(self, ledger: Ledger, telemetry: Telemetry, shown: PublishedCounters | None = None) -> None:
        drawn = shown or ledger
        self.outbox = MeteredOutbox(drawn.outbox, telemetry)
        self.journal = MeteredJournal(ledger.journal, telemetry)
        self.messages = ledger.messages
        self.accounts = ledger.accounts
        self.mailboxes = ledger.mailboxes
        self.failover = ledger.failover
        self.templates = ledger.templates
        self.webhook_uptime = ledger.webhook_uptime
        self.lookup = ledger.lookup
        self.invariants = ledger.invariants
        self.gates = drawn.gates
        self.quotas = drawn.quotas
        self.windows = ledger.windows
        self.dossiers = ledger.dossiers
        self.consents = ledger.consents
        self.audit = ledger.audit
        self.operator_reads = ledger.operator_reads
        self.policies = ledger.policies
        self.quick_replies = ledger.quick_replies
        self.money = ledger.money
        self.queue_stats = ledger.queue_stats
        self.files = MeteredFiles(ledger.files, telemetry)
        self.time = ledger.time
        self.ping = ledger.ping
        self.close = ledger.close
        self._of_conversations(ledger, telemetry)

    def _of_conversations(self, ledger: Ledger, telemetry: Telemetry) -> None:
        self.turn_queue = MeteredTurnQueue(ledger.turn_queue, telemetry)
        self.conversations = ledger.conversations
        self.feeds = ledger.feeds
        self.chats = ledger.chats
        self.history = ledger.history
        self.device_feeds = ledger.device_feeds
        self.feed_consumers = ledger.feed_consumers
        self.archive = ledger.archive
        self.search = ledger.search
        self.notifications = ledger.notifications
