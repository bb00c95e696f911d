"""The outbox: from a draft to its final status, one atomic operation at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId, WorkerId
from waypost.model.message import ClaimedMessage, Delivery, Draft, Message
from waypost.model.time import Instant, Span
from waypost.rules.limits.recipient_pace import BURST
from waypost.rules.limits.send_pace import Permit
from waypost.rules.sending.delivery import DeliveryVerdict, Unsettled


class Created(msgspec.Struct, frozen=True, tag=True):
    message: Message


class SameContent(msgspec.Struct, frozen=True, tag=True):
    """The key was used before, with the same content."""

    message_id: MessageId


class DifferentContent(msgspec.Struct, frozen=True, tag=True):
    """The key was used before, with other content."""

    message_id: MessageId


class BlockedByConsent(msgspec.Struct, frozen=True, tag=True):
    """Consent for the address was revoked, so the message was not stored."""

    reason: str


Submitted: TypeAlias = Created | SameContent | DifferentContent | BlockedByConsent


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    owner: WorkerId
    slots: int
    pair_burst: int = BURST
    """Messages that one customer may get in a burst."""
    after: int = 0
    """Where the last claim stopped; with few slots or many dispatch groups, each claim continues from there."""


class Batch(msgspec.Struct, frozen=True):
    claimed: Sequence[ClaimedMessage]
    after: int
    """For the next demand."""
    more: bool
    """More messages may be due: claim again at once if there are slots."""
    opens_at: Instant | None
    """When a gate or permit that stopped messages this time may open; None if unknown."""
    quotas: Mapping[OrgId, Permit] = {}
    """The quotas that this claim drew from, after the claim."""


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A worker's verdict on its claimed attempt."""

    message: ClaimedMessage
    verdict: DeliveryVerdict


class Settled(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    held: bool
    """False: the fence has changed. Evidence of acceptance was recorded nevertheless."""
    before: Delivery
    delivery: Delivery
    promoted: bool
    """The next message of an ordered queue became claimable."""
    early: int
    """Status updates that came before this settle and waited for its wamid."""


class MessageChanged(msgspec.Struct, frozen=True, tag=True):
    message: Message
    promoted: bool = False


class MessageNotFound(msgspec.Struct, frozen=True, tag=True):
    pass


class NotAllowed(msgspec.Struct, frozen=True, tag=True):
    """The message's status does not allow this; nothing changed."""

    message: Message


MessageChangeResult: TypeAlias = MessageChanged | MessageNotFound | NotAllowed


class StaleLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long an attempt may stay unsettled, and what happens then."""

    limit: Span
    slack: Span
    """How far the uptime counter may lag; added to the limit."""
    policy: Unsettled
    of_orgs: Mapping[OrgId, Unsettled] = {}
    """Orgs with their own policy."""

    def policy_of(self, org: OrgId) -> Unsettled:
        return self.of_orgs.get(org, self.policy)


class SweptAttempts(msgspec.Struct, frozen=True):
    requeued: Sequence[MessageId]
    parked: Sequence[MessageId]


class Outbox(Protocol):
    async def submit(self, draft: Draft, now: Instant) -> Submitted:
        """Store a new message, QUEUED and due at its `scheduled_at` or at once.

        Unique by (org, idempotency_key), also under concurrency: exactly one caller gets Created. An ordered message
        joins the queue of its (org, sender, recipient) and is claimable once all messages before it have been accepted
        or have ended. If consent for the address was revoked, only an audit entry is stored; a key that was used before
        still gets the answer of the first call.
        """

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        """Claim up to `slots` due messages for one attempt each: SENDING, fence + 1, attempt TRYING until settled.

        A message is in at most one claim at a time. Order within a dispatch group: rank (due time minus the
        priority's head start), then id; slots are shared fairly between groups. Messages behind a closed gate are
        skipped. Each message draws a permit of its org's quota and of its number's pace (`start_at` is its time slot)
        in the same transaction, so that all processes together never exceed them.
        """

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        """Record the outcome of a claimed attempt; conditional on its fence.

        A late verdict changes nothing, except that evidence of acceptance is kept and withdraws a queued retry of the
        same generation. Acceptance binds the wamid and applies earlier status updates in the same transaction.
        When the head of an ordered queue ends or is accepted, the next message is promoted.
        """

    async def hand_back(self, owner: WorkerId, holding: Sequence[MessageId], now: Instant) -> Sequence[MessageId]:
        """Requeue, without counting an attempt, messages that `owner` has claimed but that are not in `holding`.

        For an owner whose claim committed but whose answer was lost. Only the owner itself may call this.
        """

    async def cancel(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> MessageChangeResult:
        """QUEUED becomes CANCELLED and is never sent; anything else is NotAllowed.

        A change adds an audit entry of the actor in the same transaction.
        """

    async def retry(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> MessageChangeResult:
        """FAILED, CANCELLED or parked becomes QUEUED in a new generation: attempts from 0, due now; audited."""

    async def expire(self, limit: int, now: Instant) -> Sequence[MessageId]:
        """Cancel messages that are still QUEUED after their `expires_at`, with the code EXPIRED."""

    async def replay(
        self, org: OrgId, messages: Sequence[MessageId], now: Instant, actor: str = SYSTEM
    ) -> Sequence[MessageId]:
        """Like `retry`, for many messages, and only for FAILED ones; returns those that are QUEUED again."""

    async def sweep(self, patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
        """End the wait for attempts that stayed unsettled for the whole limit, measured in webhook uptime.

        An unmatched status update for the same number and recipient since the attempt means that the provider may have
        the message: it is parked for a person, never requeued. A refused webhook (see `WebhookUptime`) may have been
        the status update of any attempt, so it starts the limit anew for all of them.
        """


class UptimeTick(msgspec.Struct, frozen=True, kw_only=True):
    listener: str
    """The process that ticks."""
    place: str
    """The same for the process that replaces it, and for no other."""
    first: bool = False
    """Its first tick."""
    gap: Span
    forget: Span
    """A listener that is silent for longer is forgotten."""
    refused: bool = False
    """It refused a webhook since its last tick."""


class WebhookUptime(Protocol):
    """Total time that webhooks could reach us: the clock that determines when an attempt is stale.

    A process that cannot reach the Ledger refuses webhooks and cannot say so. So each process that webhooks can reach
    is a listener from its first tick until it leaves, and its silence is taken for a refusal.
    """

    async def tick(self, tick: UptimeTick) -> int:
        """Add the time since any process last ticked, and return the total.

        The time counts if neither it nor any listener's silence is longer than `gap` or negative, except before the
        first tick of a process: a server that restarts every few seconds has no uptime. It is measured by the Ledger's
        clock, so that neither an outage of ours nor a jump of one process's clock counts. A refusal is recorded if this
        process reports one, if it was itself silent for longer than `gap`, or when a listener is forgotten.

        The first tick replaces the listeners of the same place, which are not waited for; their silence is judged as
        this process's own. One that still runs is a listener again with its next tick.
        """

    async def leave(self, listener: str) -> None:
        """Webhooks no longer reach this process. A name that is unknown changes nothing."""


class MessageLookup(Protocol):
    """Read-only lookups for workers."""

    async def delivery(self, message: MessageId) -> Delivery | None:
        """The delivery of a message, as last committed."""

    async def next_due(self) -> Instant | None:
        """When the next scheduled or deferred message is due; None if there is none."""
