"""Looking for what must never be: the invariants as questions to live data, each cheap and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId
from waypost.model.ids import Fence
from waypost.model.time import Instant, Span
from waypost.rules.pacing import Permit


class Invariant(StrEnum):
    """What must never be; the label of `invariant_violation_total`."""

    QUEUED_NOWHERE = "queued_nowhere"
    """Its status says that it waits, and nobody will ever find it."""
    PLACED_NOT_QUEUED = "placed_not_queued"
    """It stands among those that wait, and its status says otherwise."""
    PLACED_TWICE = "placed_twice"
    STUCK_LINE = "stuck_line"
    """It stands in line behind a message that is out of the way."""
    UNSETTLED = "unsettled"
    """SENDING for much longer than the stale limit: the sweep does not see it."""
    WITHOUT_DELIVERY = "without_delivery"
    MISFIT_STATUS = "misfit_status"
    """A status without the time or the id that goes with it."""
    ACCEPTED_TWICE = "accepted_twice"
    """Two tries of one generation were accepted, and nobody had queued it again."""
    FOREIGN_WAMID = "foreign_wamid"
    """The provider's id of this message is bound to another message."""
    FOREIGN_STATUS = "foreign_status"
    """A status that another org's secret signed."""
    OUTSIDE_WINDOW = "outside_window"
    WITHOUT_CONSENT = "without_consent"
    ABOVE_QUOTA = "above_quota"
    TURNS_OVERLAP = "turns_overlap"
    """A message belongs to two turns, or what a turn has answered is not done."""
    TURNS_GAP = "turns_gap"
    """A message was passed over, and no person had the floor."""
    ANSWERED_TWICE = "answered_twice"
    """A turn has more replies than it ended with, or one before it ended."""
    TURN_NOWHERE = "turn_nowhere"
    """It asks for the bot's answer, and no worker will ever find it."""
    TURN_OVERDUE = "turn_overdue"
    """Due for much longer than a customer may wait, and nobody took it."""
    TURN_ABANDONED = "turn_abandoned"
    """Held long past its lease, and nobody took it over."""
    ENTRY_GAP = "entry_gap"
    FEED_GAP = "feed_gap"
    ARRIVAL_WITHOUT_ENTRY = "arrival_without_entry"
    POST_WITHOUT_ENTRY = "post_without_entry"
    """Somebody was told that their message is stored, and it is not where they were told."""
    BODY_LOST = "body_lost"
    """What a message says is neither in the Ledger nor in the Log."""


class Finding(msgspec.Struct, frozen=True):
    invariant: Invariant
    subject: str
    """Whom it is about: `message 7`, `org acme`. Nothing secret."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the Ledger, and by which limits it is judged."""

    after: int
    upto: int
    """Messages with an id above the first, up to the second."""
    unsettled: Span
    """Time of an open door after which nobody should still be SENDING."""
    accepted_since: Instant
    """Windows are judged for tries since then: later the pair may have been forgotten."""
    enforce_window: bool
    clock_slack: Span
    """How far apart two processes' clocks may be."""
    most: int
    """Of each kind; more of the same says nothing new."""


class TalkLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations."""

    after: int
    upto: int
    latest: int
    """Of a conversation or a feed, so many of its newest items are looked at."""
    arrived_since: Instant
    most: int


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that nobody took in time, as it stood at this look: only the same at the next one is wrong, since whoever
    has just come back finds many."""

    invariant: Invariant
    conversation_id: ConversationId
    fence: Fence
    since: Instant

    @property
    def finding(self) -> Finding:
        return Finding(self.invariant, f"conversation {self.conversation_id}")


class Detector(Protocol):
    async def newest(self) -> int:
        """The highest id of a message; 0 when there is none."""

    async def look(self, look: Look) -> Sequence[Finding]:
        """What is wrong in that range; every answer is a snapshot, so nothing that is under way is taken for wrong."""

    async def newest_conversation(self) -> int:
        """The highest id of a conversation; 0 when there is none."""

    async def talks(self, look: TalkLook) -> Sequence[Finding]:
        """What is wrong with the turns and entries of these conversations, and with the latest arrivals."""

    async def feeds(self, after: str, feeds: int, latest: int) -> tuple[Sequence[Finding], str | None]:
        """What is wrong with the next feeds by name; and where to go on, or None at the end."""

    async def late(self, due_before: Instant, lease_before: Instant, most: int) -> Sequence[Late]:
        """Turns that have been due, or held without a word, since before those moments."""

    async def quotas(self, most: int) -> Sequence[Permit]:
        """Every org's quota, up to that many."""
