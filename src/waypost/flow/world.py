"""The ports, caches and settings that the steps use; the composition root builds one per server."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from waypost.flow.mailbox_cache import MailboxCache
from waypost.flow.number_cache import NumberCache
from waypost.flow.policy_cache import EffectivePolicy, PolicyCache
from waypost.flow.template_cache import TemplateCache
from waypost.model.conversation import TurnTiming
from waypost.model.gate import GateName
from waypost.model.ids import OrgId, WorkerId
from waypost.model.policy import RequestRate
from waypost.model.push import NotificationSettings
from waypost.model.sign_in import OfferedCode
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.ports.conversations.bot import Bot
from waypost.ports.history.history import History
from waypost.ports.ledger import Ledger
from waypost.ports.live.presence import Presence
from waypost.ports.live.push import Pusher
from waypost.ports.operations.meters import Meters
from waypost.ports.platform.clock import Ids, LedgerTime, RandomSource
from waypost.ports.platform.hints import Hints
from waypost.ports.platform.vault import Vault
from waypost.ports.receiving.media import BlobStore, MediaSource
from waypost.ports.sending.mailer import Mailer
from waypost.ports.sending.provider import Provider
from waypost.ports.sending.provider_extras import ProviderExtras
from waypost.rules.content.media import LARGEST_OF_ALL
from waypost.rules.limits.breaker import RecentAttempts
from waypost.rules.limits.error_catalogue import ErrorCatalogue
from waypost.rules.limits.recipient_pace import BURST
from waypost.rules.live.push_subscription import AllowedPushServices
from waypost.rules.sending.delivery import Unsettled
from waypost.rules.sending.retry import Backoff

TEN_MINUTES = minutes(10)
TWENTY_SECONDS = seconds(20)
FIVE_SECONDS = seconds(5)
THIRTY_DAYS = days(30)
YEAR = days(365)
HOUR = hours(1)
PAUSE_AFTER_TROUBLE: Span = seconds(0.2)
"""The pause before a step retries after a LedgerError."""
TIMED = 8
"""The latest claims, and reads: their quickest shows how slow the Ledger is. One after the other, so that a process
that stands still makes only one of them slow."""
UPLOADS_AT_ONCE = 2
"""Each file is held in memory, up to 100 MB; further callers wait before their files are read."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The operator's settings for the steps."""

    backoff: Backoff = field(default_factory=Backoff)
    stale: Span = TEN_MINUTES
    unsure: Unsettled = Unsettled.REQUEUE
    webhook_tick: Span = FIVE_SECONDS
    poll: Span = FIVE_SECONDS
    slots: int = 128
    """Concurrent sends per process."""
    batch: int = 100
    sync_timeout: Span = TWENTY_SECONDS
    adaptive_wait: bool = False
    never_wait: bool = False
    """Local mode: requests never wait for a status."""
    enforce_window: bool = True
    """False for providers that do not enforce Meta's 24-hour window."""
    quota: int | None = 1000
    """How many messages a new org may send in 24 hours."""
    pair_burst: int = BURST
    """How many messages a customer may get in a burst, before the limit of one in six seconds."""
    journal_kept: Span = THIRTY_DAYS
    """How long the journal keeps webhook items."""
    cursor_kept: Span | None = None
    """How long a list cursor is valid; None means forever."""
    feed_kept: Span = THIRTY_DAYS
    """How long feed items are kept for devices to catch up."""
    search_kept: Span | None = YEAR
    """How long messages can be searched; None means forever."""
    archive_grace: Span = HOUR
    """How long a body stays in the Ledger after it was archived."""
    history_retention: Span | None = None
    """How long a separate history store keeps messages; None means forever."""
    indexing: bool = True
    """Whether this server updates the search index."""
    figures: bool = True
    """Whether this server surveys queues and gates for the metrics."""
    pace: int = 80
    """Messages per second of a newly connected number."""
    default_region: str | None = None
    """The region of phone numbers in national format."""
    request_rate: RequestRate | None = None
    """For orgs that have set none."""
    turns: TurnTiming = field(default_factory=TurnTiming)
    turn_slots: int = 64
    """Concurrent turns per process."""
    answering: bool = False
    """Whether there is a bot: without one no turn becomes due, and messages wait for users."""
    media_limit: int = LARGEST_OF_ALL
    """The largest customer file that is fetched, in bytes."""
    media_kept: Span | None = None
    """How long customers' files are kept; None means forever."""
    push: NotificationSettings = field(default_factory=NotificationSettings)
    """When push notifications are sent to offline users."""
    push_reach: AllowedPushServices = field(default_factory=AllowedPushServices)

    @property
    def defaults(self) -> EffectivePolicy:
        """The policy of an org that has set none."""
        return EffectivePolicy(
            backoff=self.backoff,
            unsure=self.unsure,
            request_rate=self.request_rate,
            default_region=self.default_region,
            turns=self.turns,
            history_retention=self.history_retention,
        )

    @property
    def webhook_gap(self) -> Span:
        """A longer gap between two ticks counts as webhook downtime."""
        return Span(self.webhook_tick * 3)


@dataclass
class HistoryWatch:
    """What this process knows of the history store's outages."""

    answered_at: Instant | None = None
    lost: tuple[Instant, Instant] | None = None
    """From its last answer before a failure to the latest failure; None: what it confirmed then was verified since."""

    def answered(self, now: Instant) -> None:
        self.answered_at = now

    def failed(self, now: Instant) -> None:
        since = self.lost[0] if self.lost is not None else self.answered_at
        self.lost = (now if since is None else since, now)


@dataclass(kw_only=True)
class WebhookRefusals:
    """Webhooks that this process did not store because it could not use the Ledger."""

    count: int = 0
    reported: int = 0
    """How many of them the Ledger knows of."""


@dataclass(frozen=True, kw_only=True)
class World:
    clock: LedgerTime
    random: RandomSource
    ids: Ids
    ledger: Ledger
    hints: Hints
    history: History
    """The Ledger itself, unless a separate history store is configured."""
    presence: Presence
    provider: Provider
    numbers: NumberCache
    templates: TemplateCache
    extras: ProviderExtras
    mailer: Mailer
    mailboxes: MailboxCache
    media: MediaSource
    blob_store: BlobStore
    policies: PolicyCache
    vault: Vault
    catalogues: Mapping[str, ErrorCatalogue]
    meters: Meters
    tuning: Tuning
    worker: WorkerId
    listener: str
    """The name under which this process counts webhook uptime; a restarted process has the same one."""
    predecessors: tuple[WorkerId, ...] = ()
    """Earlier workers in this one's place, known to be gone."""
    history_separate: bool = False
    """Whether a separate history store is configured, to which bodies are archived."""
    history_watch: HistoryWatch = field(default_factory=HistoryWatch)
    bot: Bot | None = None
    pusher: Pusher | None = None
    """None: push notifications are off."""
    breakers: dict[GateName, RecentAttempts] = field(default_factory=dict)
    """The results of this process's latest attempts with each provider."""
    just_closed: dict[tuple[OrgId, GateName], Instant] = field(default_factory=dict)
    """Gates that this process just closed; they also stop messages that it claimed before."""
    claims_took: deque[Span] = field(default_factory=lambda: deque(maxlen=TIMED))
    """How long the latest claims of messages took."""
    reads_took: deque[Span] = field(default_factory=lambda: deque(maxlen=TIMED))
    """How long the latest reads between claims took; a message may have to wait as long for its consent."""
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    """Limits concurrent uploads to the provider."""
    downloads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    """Limits concurrent downloads of customers' large files."""
    buckets: dict[OrgId, Instant] = field(default_factory=dict)
    """When each org's request bucket is full again."""
    offered_codes: dict[str, OfferedCode] = field(default_factory=dict)
    """One-time sign-in codes: only the demo offers one."""
    works: tuple[Callable[[], Awaitable[None]], ...] = ()
    """Background work that runs as long as the server."""
    refusals: WebhookRefusals = field(default_factory=WebhookRefusals)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops, so that waiting requests return."""
