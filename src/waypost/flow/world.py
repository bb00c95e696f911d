"""Everything that the steps stand on; built once by the composition root, so that several can live in one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from waypost.flow.mail_book import MailBook
from waypost.flow.numbers import NumberBook
from waypost.flow.policy_book import InForce, PolicyBook
from waypost.flow.template_book import TemplateBook
from waypost.model.conversation import Times
from waypost.model.gate import GateName
from waypost.model.ids import OrgId, WorkerId
from waypost.model.policy import RequestRate
from waypost.model.push import Habits
from waypost.model.sign_in import OfferedCode
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.ports.bot import Bot
from waypost.ports.clock import Clock, Dice, Ids
from waypost.ports.extras import Extras
from waypost.ports.hints import Hints
from waypost.ports.ledger import Ledger
from waypost.ports.log import Log
from waypost.ports.mailer import Mailer
from waypost.ports.media import Shelf, Source
from waypost.ports.meters import Meters
from waypost.ports.provider import Provider
from waypost.ports.push import Pusher
from waypost.ports.vault import Vault
from waypost.ports.whereabouts import Whereabouts
from waypost.rules.breaker import Record
from waypost.rules.catalogue import Catalogue
from waypost.rules.delivery import Unsettled
from waypost.rules.media import LARGEST_OF_ALL
from waypost.rules.pair import BURST
from waypost.rules.push_subscription import Reach
from waypost.rules.retry import Backoff

TEN_MINUTES = minutes(10)
TWENTY_SECONDS = seconds(20)
FIVE_SECONDS = seconds(5)
THIRTY_DAYS = days(30)
YEAR = days(365)
HOUR = hours(1)
PAUSE_AFTER_TROUBLE: Span = seconds(0.2)
"""Before a step asks a Ledger again that was away."""
UPLOADS_AT_ONCE = 2
"""Each is held in memory whole, up to 100 MB; further callers wait before their files are read."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What an operator may set of the steps."""

    backoff: Backoff = field(default_factory=Backoff)
    stale: Span = TEN_MINUTES
    unsure: Unsettled = Unsettled.REQUEUE
    door_tick: Span = FIVE_SECONDS
    poll: Span = FIVE_SECONDS
    slots: int = 128
    """Sends under way at once, per process."""
    batch: int = 100
    sync_timeout: Span = TWENTY_SECONDS
    adaptive_wait: bool = False
    never_wait: bool = False
    """In local mode nobody waits for a status."""
    enforce_window: bool = True
    """A provider that is not Meta may know no 24-hour window."""
    quota: int | None = 1000
    """What a new org may send in 24 hours."""
    pair_burst: int = BURST
    """Messages that one customer may get at once, before one in six seconds."""
    journal_kept: Span = THIRTY_DAYS
    """How long what webhooks brought stays in the journal."""
    cursor_kept: Span | None = None
    """How long a cursor of a list works; None is for ever."""
    feed_kept: Span = THIRTY_DAYS
    """How long what screens were told can be read again."""
    search_kept: Span | None = YEAR
    """How long what was said can be searched; None is for ever."""
    log_grace: Span = HOUR
    """How long a body stays in the Ledger after the Log has it."""
    log_kept: Span | None = None
    """How long messages stay in a Log of its own; None is for ever."""
    indexing: bool = True
    """Whether this server keeps the index of words."""
    figures: bool = True
    """Whether this server looks at queues and gates for an operator's board."""
    pace: int = 80
    """Messages per second of a newly connected number."""
    default_region: str | None = None
    """Whose national phone numbers are understood."""
    request_rate: RequestRate | None = None
    """Of an org that has set none itself."""
    turns: Times = field(default_factory=Times)
    turn_slots: int = 64
    """Turns under way at once, per process."""
    answering: bool = False
    """Whether there is a bot: else nobody's turn ever comes, and messages wait for people only."""
    media_limit: int = LARGEST_OF_ALL
    """Bytes of a customer's file; a larger one is not fetched."""
    media_kept: Span | None = None
    """How long customers' files are kept; None is for ever."""
    push: Habits = field(default_factory=Habits)
    """How those who are away are told that a message waits."""
    push_reach: Reach = field(default_factory=Reach)

    @property
    def defaults(self) -> InForce:
        """What holds for an org that has set nothing."""
        return InForce(
            backoff=self.backoff,
            unsure=self.unsure,
            request_rate=self.request_rate,
            default_region=self.default_region,
            turns=self.turns,
            log_kept=self.log_kept,
        )

    @property
    def door_gap(self) -> Span:
        """A longer silence means that the door was closed."""
        return Span(self.door_tick * 3)


@dataclass(frozen=True, kw_only=True)
class World:
    clock: Clock
    dice: Dice
    ids: Ids
    ledger: Ledger
    hints: Hints
    log: Log
    """The Ledger's own, unless another one is connected: then bodies are handed over to it."""
    whereabouts: Whereabouts
    provider: Provider
    numbers: NumberBook
    templates: TemplateBook
    extras: Extras
    mailer: Mailer
    mailboxes: MailBook
    media: Source
    shelf: Shelf
    policies: PolicyBook
    vault: Vault
    catalogues: Mapping[str, Catalogue]
    meters: Meters
    tuning: Tuning
    worker: WorkerId
    predecessors: tuple[WorkerId, ...] = ()
    """Workers that were in this one's place and are gone."""
    log_apart: bool = False
    """Whether the Log is another one than the Ledger's own."""
    bot: Bot | None = None
    pusher: Pusher | None = None
    """None: nobody who is away is told."""
    breakers: dict[GateName, Record] = field(default_factory=dict)
    """How the latest tries with each provider went, as far as this process saw."""
    just_closed: dict[tuple[OrgId, GateName], Instant] = field(default_factory=dict)
    """Gates that this process closed a moment ago, for what it had claimed before."""
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    """Places for files on their way to the provider."""
    downloads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    """Places for large files of customers on their way to the shelf."""
    buckets: dict[OrgId, Instant] = field(default_factory=dict)
    """When each org's bucket of requests is full again."""
    offered_codes: dict[str, OfferedCode] = field(default_factory=dict)
    """Links that sign somebody in once: the demo prints one, other servers offer none."""
    works: tuple[Callable[[], Awaitable[None]], ...] = ()
    """What must run beside the steps, for as long as the server does."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops, so that nobody is kept waiting."""
