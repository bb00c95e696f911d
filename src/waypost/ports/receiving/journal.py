"""Applies webhooks: status updates and inbound messages; other items are kept in the webhook journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId
from waypost.model.message import Delivery
from waypost.model.time import Instant
from waypost.model.update import AccountUpdate
from waypost.model.webhook import JournalItem, WebhookBatch


class DeliveryChange(msgspec.Struct, frozen=True):
    """A delivery before and after a POST was applied."""

    before: Delivery
    after: Delivery


class AppliedWebhook(msgspec.Struct, frozen=True, kw_only=True):
    moved: Sequence[DeliveryChange]
    early: int
    """Status updates that came before our own settle."""
    late: int
    """Status updates that came after it."""
    unmatched: int
    """Status updates without a known message (yet)."""
    promoted: bool
    arrived: int = 0
    """New customers' messages, without duplicates."""
    buffered: int = 0
    """How many of them came while a turn of their conversation was running."""
    reached: Sequence[ConversationId] = ()
    """Their conversations."""
    confirmed: int = 0
    """Confirmations of STOP or START added to the outbox."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    item: JournalItem
    received_at: Instant


class UnmatchedStatuses(msgspec.Struct, frozen=True):
    """Status updates without a message: those older than the sync time, and those pruned after 8 days."""

    waiting: int
    forgotten: int


class Journal(Protocol):
    async def apply_webhook(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        """Apply one POST in one transaction; the same POST again changes nothing.

        A status update finds its message by the echoed id, within the number's own org only, or by its wamid. A status
        only advances; an update without a message is stored and linked if the message appears. A failure closes its
        gate only the first time it is reported. A STOP or START counts from when the customer wrote it, and is
        confirmed, unless a later consent is on record for that customer.
        """

    async def items(self, org: OrgId, state: str | None, limit: int) -> Sequence[JournalEntry]:
        """The org's journaled items, newest first."""

    async def find(self, org: OrgId, item: int) -> JournalEntry | None:
        """One item of the org by its id."""

    async def act(self, updates: Sequence[AccountUpdate], now: Instant) -> Sequence[bool]:
        """Apply the actions of journaled updates and mark them, in one transaction: True for each that was new.

        An item that is done, or stored without actions, is not applied again, however often it comes. Holds, tier,
        pace and template statuses are ordered by the provider's time: an older update changes nothing; at the same
        time, the later call wins. An account is held while any cause holds it, until the latest end; a release removes
        its own cause and any hold that a send had caused. A preference is written for its addresses and the dossier
        that has one of them, unless a later one is on record, with the audit entry CONSENT_CHANGED if it changes
        something. Alerts change nothing here.
        """

    async def forget(self, before: Instant, limit: int) -> int:
        """Prune items received before then, oldest first, at most `limit`; never a pending one. Returns how many."""

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> UnmatchedStatuses:
        """Count status updates without a message since before `waiting_since`; prune those before `forget_before`."""
