"""What webhooks brought: statuses applied, everything else kept whole until a later step takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId
from waypost.model.message import Delivery
from waypost.model.report import JournalItem, Post
from waypost.model.time import Instant
from waypost.model.update import Deed


class Move(msgspec.Struct, frozen=True):
    """A delivery before and after a POST was taken."""

    before: Delivery
    after: Delivery


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    moved: Sequence[Move]
    early: int
    """Statuses that came before our own settle."""
    late: int
    """Statuses that came after it."""
    unmatched: int
    """Statuses of messages we have not heard of (yet)."""
    promoted: bool
    arrived: int = 0
    """Messages of customers that are new."""
    buffered: int = 0
    """Of them, those that found their customer's turn taken."""
    reached: Sequence[ConversationId] = ()
    """Where they were said."""
    confirmed: int = 0
    """Answers to a customer's STOP or START that it put into the outbox."""


class Journaled(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    item: JournalItem
    received_at: Instant


class Orphans(msgspec.Struct, frozen=True):
    """Statuses without a message: how many are older than the sync time, and how many were let go after 8 days."""

    waiting: int
    forgotten: int


class Journal(Protocol):
    async def take(self, post: Post, now: Instant) -> Taken:
        """Take one POST whole: all of it commits together, and the same POST again changes nothing.

        A status finds its message by the echoed id, looked up inside the number's own org only, or by its wamid; the
        ladder only climbs; a status without a message is kept and linked if the message appears. A failure closes its
        gate only when it is told for the first time. A STOP or START counts
        from when the customer wrote it, and is confirmed, unless anybody has said something later for that customer.
        """

    async def items(self, org: OrgId, state: str | None, limit: int) -> Sequence[Journaled]:
        """The org's journaled items, newest first."""

    async def find(self, org: OrgId, item: int) -> Journaled | None:
        """One item of the org by its id."""

    async def act(self, deeds: Sequence[Deed], now: Instant) -> Sequence[bool]:
        """Do what journaled updates ask for and mark them, all in one transaction: True for each that was new.

        An item that is done, or kept and to be kept, is not touched again, whoever brings it and however often. What
        holds an account, its tier, a number's pace and the list of templates go by when the provider said it: an older
        word changes nothing, of the same moment the one that comes later counts. An account is held as long as one
        cause holds it, for the longest of them; a release takes away its own cause and any hold that a send had met. A
        preference is written for its addresses and the dossier that has one of them, unless a later word is on record,
        with the audit entry CONSENT_CHANGED where it changes something. Alerts change nothing here.
        """

    async def forget(self, before: Instant, limit: int) -> int:
        """Drop items that came before then, oldest first, at most `limit`; never a pending one. Returns how many."""

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> Orphans:
        """Count statuses that have waited for a message since before `waiting_since`, drop the very old ones."""
