"""Invariant checks on live data, each cheap and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId
from waypost.model.ids import Fence
from waypost.model.time import Instant, Span
from waypost.rules.limits.send_pace import Permit


class Invariant(StrEnum):
    """Checked invariants; the label of `invariant_violation_total`."""

    QUEUED_NOWHERE = "queued_nowhere"
    """QUEUED, but not in the send queue."""
    PLACED_NOT_QUEUED = "placed_not_queued"
    """In the send queue, but not QUEUED."""
    PLACED_TWICE = "placed_twice"
    STUCK_LINE = "stuck_line"
    """It waits in an ordered queue behind a message that no longer blocks it."""
    UNSETTLED = "unsettled"
    """SENDING for much longer than the stale limit: the sweep missed it."""
    WITHOUT_DELIVERY = "without_delivery"
    MISFIT_STATUS = "misfit_status"
    """A status without its timestamp or provider id."""
    ACCEPTED_TWICE = "accepted_twice"
    """Two attempts of one generation were accepted, although it was not requeued."""
    FOREIGN_WAMID = "foreign_wamid"
    """The provider's id of this message is bound to another message."""
    FOREIGN_STATUS = "foreign_status"
    """A status update signed with another org's secret."""
    OUTSIDE_WINDOW = "outside_window"
    WITHOUT_CONSENT = "without_consent"
    ABOVE_QUOTA = "above_quota"
    TURNS_OVERLAP = "turns_overlap"
    """A message belongs to two turns, or an answered message is not marked done."""
    TURNS_GAP = "turns_gap"
    """A message was skipped although no agent had the floor."""
    ANSWERED_TWICE = "answered_twice"
    """A turn has more replies than recorded at its end, or one from before its end."""
    TURN_NOWHERE = "turn_nowhere"
    """It needs the bot's answer, but no worker can find it."""
    TURN_OVERDUE = "turn_overdue"
    """Due for much longer than a customer may wait, and not claimed."""
    TURN_ABANDONED = "turn_abandoned"
    """Claimed long past its lease, and not taken over."""
    ENTRY_GAP = "entry_gap"
    FEED_GAP = "feed_gap"
    ARRIVAL_WITHOUT_ENTRY = "arrival_without_entry"
    POST_WITHOUT_ENTRY = "post_without_entry"
    """A post was acknowledged, but its entry does not exist at that position."""
    BODY_LOST = "body_lost"
    """The body of a message is neither in the Ledger nor in history."""


class InvariantFinding(msgspec.Struct, frozen=True):
    invariant: Invariant
    subject: str
    """The affected object: `message 7`, `org acme`. Contains no secrets."""


class MessageScan(msgspec.Struct, frozen=True, kw_only=True):
    """The range of messages to check, and the limits to check against."""

    after: int
    upto: int
    """Messages with an id above `after`, up to `upto`."""
    unsettled: Span
    """Webhook uptime after which no message should still be SENDING."""
    accepted_since: Instant
    """Windows are checked for attempts since then: the recipient state of older ones may have been pruned."""
    enforce_window: bool
    clock_slack: Span
    """Maximum difference between two processes' clocks."""
    most: int
    """Maximum number of findings of each kind."""


class ConversationScan(msgspec.Struct, frozen=True, kw_only=True):
    """The range of conversations to check."""

    after: int
    upto: int
    latest: int
    """How many of the newest items of each conversation are checked."""
    arrived_since: Instant
    most: int


class LateTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was not claimed in time. It is a violation only if the next check finds it unchanged, since there
    are many right after an outage."""

    invariant: Invariant
    conversation_id: ConversationId
    fence: Fence
    since: Instant

    @property
    def finding(self) -> InvariantFinding:
        return InvariantFinding(self.invariant, f"conversation {self.conversation_id}")


class Detector(Protocol):
    async def newest(self) -> int:
        """The highest message id; 0 if there is none."""

    async def look(self, look: MessageScan) -> Sequence[InvariantFinding]:
        """Violations in that range; each query reads a snapshot, so pending transactions cause no false findings."""

    async def newest_conversation(self) -> int:
        """The highest conversation id; 0 if there is none."""

    async def conversations(self, look: ConversationScan) -> Sequence[InvariantFinding]:
        """Violations in the turns and entries of these conversations, and in the latest inbound messages."""

    async def feeds(self, after: str, feeds: int, latest: int) -> tuple[Sequence[InvariantFinding], str | None]:
        """Violations in the next feeds by name, and the name to continue from, or None at the end."""

    async def late(self, due_before: Instant, lease_before: Instant, most: int) -> Sequence[LateTurn]:
        """Turns that have been due, or whose lease ended, before those moments."""

    async def quotas(self, most: int) -> Sequence[Permit]:
        """The quotas of all orgs, up to `most`."""
