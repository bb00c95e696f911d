"""The outbox: from a draft to its last status, one atomic intent at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId, WorkerId
from waypost.model.message import Claimed, Delivery, Draft, Message
from waypost.model.time import Instant, Span
from waypost.rules.delivery import Unsettled, Verdict
from waypost.rules.pacing import Permit
from waypost.rules.pair import BURST


class Created(msgspec.Struct, frozen=True, tag=True):
    message: Message


class Same(msgspec.Struct, frozen=True, tag=True):
    """The key was used before, with the same content."""

    message_id: MessageId


class Different(msgspec.Struct, frozen=True, tag=True):
    """The key was used before, with other content."""

    message_id: MessageId


class Blocked(msgspec.Struct, frozen=True, tag=True):
    """Consent for its address was revoked, so it was not stored."""

    reason: str


Submitted: TypeAlias = Created | Same | Different | Blocked


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    owner: WorkerId
    slots: int
    pair_burst: int = BURST
    """Messages that one customer may get at once."""
    after: int = 0
    """Where the last claim stopped: with few slots or very many outlets, each claim goes on from there and round."""


class Batch(msgspec.Struct, frozen=True):
    claimed: Sequence[Claimed]
    after: int
    """For the next demand."""
    more: bool
    """There may be more that is due and open: claim again at once when there are slots."""
    opens_at: Instant | None
    """The moment at which something may go that a gate or a permit stopped this time; None when nobody knows."""
    quotas: Mapping[OrgId, Permit] = {}
    """Of the orgs that drew from theirs, as this claim left them."""


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A worker's verdict on the try that it claimed."""

    message: Claimed
    verdict: Verdict


class Settled(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    held: bool
    """False: the fence had moved on. Evidence of acceptance was kept all the same."""
    before: Delivery
    delivery: Delivery
    promoted: bool
    """The next of an ordered queue became claimable."""
    early: int
    """Statuses that had come before this settle and were waiting for its wamid."""


class Done(msgspec.Struct, frozen=True, tag=True):
    message: Message
    promoted: bool = False


class Missing(msgspec.Struct, frozen=True, tag=True):
    pass


class NotAllowed(msgspec.Struct, frozen=True, tag=True):
    """Its status does not allow this; nothing changed."""

    message: Message


Changed: TypeAlias = Done | Missing | NotAllowed


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a try may stay unsettled, and what then."""

    limit: Span
    slack: Span
    """How far the door's count may lag behind; waited on top of the limit."""
    policy: Unsettled
    of_orgs: Mapping[OrgId, Unsettled] = {}
    """Of those that chose for themselves."""

    def policy_of(self, org: OrgId) -> Unsettled:
        return self.of_orgs.get(org, self.policy)


class Swept(msgspec.Struct, frozen=True):
    requeued: Sequence[MessageId]
    parked: Sequence[MessageId]


class Outbox(Protocol):
    async def submit(self, draft: Draft, now: Instant) -> Submitted:
        """Store a new message, QUEUED and due at its `scheduled_at` or at once.

        Unique by (org, idempotency_key), also under concurrency: exactly one caller gets Created. An ordered message
        joins the queue of its (org, sender, recipient) and is claimable only when all before it are out of the way.
        Where consent for the address was revoked nothing is stored but the audit entry of it; a key that was used
        before gets the answer of the first call all the same.
        """

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        """Take up to `slots` due messages for one try each: SENDING, fence + 1; until settled, an attempt reads TRYING.

        A message is in at most one claim at a time. Order within an outlet: rank (due time less the priority's head
        start), then id; between outlets, slots are shared out fairly. What stands behind a closed gate is passed by.
        Each message draws a permit of its org's quota and of its number's pace (`start_at` is its turn) in the same
        transaction, so that all processes together never exceed them.
        """

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        """Record what became of a claimed try; conditional on its fence.

        A late verdict changes nothing, except that evidence of acceptance is kept and withdraws a queued retry of the
        same generation. Acceptance binds the wamid, and statuses that came before it are applied in the same
        transaction. What ends or accepts the head of a queue promotes the next.
        """

    async def hand_back(self, owner: WorkerId, holding: Sequence[MessageId], now: Instant) -> Sequence[MessageId]:
        """Queue again, without counting a try, whatever `owner` has claimed but does not know of.

        For an owner whose claim committed without its hearing of it. Only the owner itself may call this.
        """

    async def cancel(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> Changed:
        """QUEUED becomes CANCELLED and is never sent; anything else is NotAllowed.

        What changes a message leaves an audit entry of the actor in the same transaction.
        """

    async def retry(self, org: OrgId, message: MessageId, now: Instant, actor: str = SYSTEM) -> Changed:
        """FAILED, CANCELLED or parked becomes QUEUED in a new generation: tries from 0, due now; audited."""

    async def expire(self, limit: int, now: Instant) -> Sequence[MessageId]:
        """End what is still QUEUED after its `expires_at`, wherever it waits: CANCELLED with EXPIRED."""

    async def replay(
        self, org: OrgId, messages: Sequence[MessageId], now: Instant, actor: str = SYSTEM
    ) -> Sequence[MessageId]:
        """As `retry`, for many, and only for what is FAILED; returns those that are QUEUED again."""

    async def sweep(self, patience: Patience, limit: int, now: Instant) -> Swept:
        """Give up waiting for tries that nobody settled for the whole limit, counted while the door was open.

        An unmatched status for the same number and recipient since the try means that it may well be there: such a
        message is parked for a person, never queued again.
        """


class Door(Protocol):
    """How long, in all, webhooks could reach us: the clock by which a try goes stale."""

    async def tick(self, gap: Span) -> int:
        """Add the time since the last tick of anyone, unless it is longer than `gap` or negative; return the total.

        Counted by the Ledger's own clock, so that neither an outage of ours nor a jump of one process's clock counts.
        """


class Lookup(Protocol):
    """What a worker asks about one message without touching it."""

    async def delivery(self, message: MessageId) -> Delivery | None:
        """Where the message stands, as last committed."""

    async def next_due(self) -> Instant | None:
        """When the earliest message that waits for its time is due; None when none waits."""
