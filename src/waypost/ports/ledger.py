"""The Ledger: all transactional state, one port per subject.

`adapters/sql/ledger.py` implements it; the adapter of `ports/receiving/journal.py` is
`adapters/sql/receiving/journal.py`, and so on. `runtime/wiring` puts counters around some of the ports.
"""

from __future__ import annotations

from typing import Protocol

from waypost.model.time import Instant
from waypost.ports.accounts.accounts import Accounts
from waypost.ports.accounts.consents import Consents
from waypost.ports.accounts.dossiers import Dossiers
from waypost.ports.accounts.mailboxes import Mailboxes
from waypost.ports.accounts.policies import Policies
from waypost.ports.accounts.quick_replies import QuickReplies
from waypost.ports.accounts.templates import Templates
from waypost.ports.conversations.chats import Chats, DeviceFeeds
from waypost.ports.conversations.conversations import Conversations, Feeds
from waypost.ports.conversations.search import Search
from waypost.ports.conversations.turn_queue import TurnQueue
from waypost.ports.history.archive import ArchiveFeed
from waypost.ports.history.feed_consumers import FeedConsumers
from waypost.ports.history.history import History
from waypost.ports.limits.gates import Gates, Quotas, Windows
from waypost.ports.limits.money import Money
from waypost.ports.live.push import Notifications
from waypost.ports.operations.audit import Audit
from waypost.ports.operations.invariants import Detector
from waypost.ports.operations.operator_reads import OperatorReads
from waypost.ports.operations.queue_stats import QueueStats
from waypost.ports.receiving.journal import Journal
from waypost.ports.receiving.media import Files
from waypost.ports.sending.failover import Failover
from waypost.ports.sending.messages import Messages
from waypost.ports.sending.outbox import MessageLookup, Outbox, WebhookUptime


class Ledger(Protocol):
    @property
    def outbox(self) -> Outbox: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def mailboxes(self) -> Mailboxes: ...
    @property
    def failover(self) -> Failover: ...
    @property
    def templates(self) -> Templates: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def turn_queue(self) -> TurnQueue: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def feeds(self) -> Feeds: ...
    @property
    def chats(self) -> Chats: ...
    @property
    def history(self) -> History:
        """The Ledger's own tables as the history store, used when no other is configured."""

    @property
    def device_feeds(self) -> DeviceFeeds: ...
    @property
    def feed_consumers(self) -> FeedConsumers: ...
    @property
    def archive(self) -> ArchiveFeed: ...
    @property
    def search(self) -> Search: ...
    @property
    def notifications(self) -> Notifications: ...
    @property
    def webhook_uptime(self) -> WebhookUptime: ...
    @property
    def lookup(self) -> MessageLookup: ...
    @property
    def invariants(self) -> Detector: ...
    @property
    def gates(self) -> Gates: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def windows(self) -> Windows: ...
    @property
    def dossiers(self) -> Dossiers: ...
    @property
    def consents(self) -> Consents: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def operator_reads(self) -> OperatorReads: ...
    @property
    def policies(self) -> Policies: ...
    @property
    def quick_replies(self) -> QuickReplies: ...
    @property
    def money(self) -> Money: ...
    @property
    def queue_stats(self) -> QueueStats: ...
    @property
    def files(self) -> Files: ...

    async def time(self) -> Instant:
        """The Ledger's own time: one clock for all processes, wherever they run."""

    async def ping(self) -> None:
        """Return if the Ledger answers and its schema matches this code; raise otherwise."""

    async def close(self) -> None:
        """Finish pending work, then close."""
