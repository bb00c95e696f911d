"""One transaction in memory: the locked rows, the decisions, and the rows to write.

Intents change deliveries here, by the rules, and never write rows themselves: `_place` derives from the old and the
new status whether a message belongs in ready, in later, or in a queue's line. So no intent can forget one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from waypost.adapters.sql.engine.plan import Row
from waypost.adapters.sql.kernel.conversation_work import ConversationWork
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.rows.message_rows import MessageFacts
from waypost.model.audit import AuditEntry
from waypost.model.gate import Gate, GateClosing, GateKind, GateName
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, QueueId, Wamid
from waypost.model.message import Attempt, Delivery, Draft, Status
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, minutes
from waypost.model.webhook import StatusKey, StatusUpdate
from waypost.rules.limits import gates

GateKey: TypeAlias = tuple[OrgId, GateName, GateKind]

HEAD_START: Span = minutes(1)
"""The head start of one priority step: enough to overtake, too little to starve other messages."""


def rank(due_at: int, priority: int) -> int:
    return due_at - priority * HEAD_START


@dataclass(slots=True)
class LockedQueue:
    """A locked queue row."""

    id: QueueId
    head: MessageId | None
    tail: int
    freed: bool = False
    """The head has left the queue: the next in line must be promoted."""
    changed: bool = False


@dataclass(slots=True)
class WamidBinding:
    """A locked wamid row: the message and attempt it belongs to, if known."""

    message_id: MessageId | None
    fence: Fence | None


UNBOUND = WamidBinding(None, None)


def outlet_name(draft: Draft) -> tuple[str, str, str]:
    return draft.org_id, draft.sender, draft.template or ""


def addressee(draft: Draft) -> tuple[str, str, str]:
    """The consent key of the draft's recipient."""
    return draft.org_id, f"address:{draft.recipient}", draft.channel.value


@dataclass(slots=True)
class TransactionState:
    now: Instant
    facts: dict[MessageId, MessageFacts] = field(default_factory=dict)
    originals: dict[MessageId, Delivery] = field(default_factory=dict)
    deliveries: dict[MessageId, Delivery] = field(default_factory=dict)
    queues: dict[QueueId, LockedQueue] = field(default_factory=dict)
    bindings: dict[tuple[NumberId, Wamid], WamidBinding] = field(default_factory=dict)
    waiting_statuses: dict[tuple[NumberId, Wamid], list[StatusUpdate]] = field(default_factory=dict)
    known_failures: set[StatusKey] = field(default_factory=set)
    """The failures that are already stored."""
    dispatch_groups: dict[tuple[str, str, str], int] = field(default_factory=dict)
    gates: dict[GateKey, Gate] = field(default_factory=dict)
    recipients: dict[tuple[NumberId, str], RecipientState] = field(default_factory=dict)
    queue_names: dict[tuple[OrgId, NumberId, str], QueueId] = field(default_factory=dict)
    """(org, sender, recipient) -> the queue that orders its messages."""
    stored: dict[tuple[OrgId, str], tuple[MessageId, bytes, bool]] = field(default_factory=dict)
    """(org, idempotency key) -> id, content digest, stored by this transaction."""

    revoked: set[tuple[str, str, str]] = field(default_factory=set)
    """The addressees who opted out."""
    suspects: set[MessageId] = field(default_factory=set)
    """The doubtful attempts for which a status without an echo may have come."""

    conversations: ConversationWork = field(default_factory=ConversationWork)
    consents: dict[tuple[OrgId, str, str], tuple[str, Instant, Instant]] = field(default_factory=dict)
    """(org, subject, channel) -> status, effective time, time of recording."""
    audited: list[AuditEntry] = field(default_factory=list)
    new_deliveries: list[Row] = field(default_factory=list)
    status_rows: list[Row] = field(default_factory=list)
    status_links: list[Row] = field(default_factory=list)
    costs: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    closed: dict[GateKey, Gate] = field(default_factory=dict)
    touched: set[tuple[NumberId, str]] = field(default_factory=set)
    """Recipient states that changed."""
    expiring: list[Row] = field(default_factory=list)
    not_expiring: list[Row] = field(default_factory=list)
    expiring_again: list[Row] = field(default_factory=list)
    refunds: list[tuple[str, Instant]] = field(default_factory=list)
    """Permits to give back: (name, when it was drawn)."""
    places: dict[MessageId, tuple[str, Row]] = field(default_factory=dict)
    """Message -> the statement that inserts it into ready, later or a line, and its row; the latest place counts."""
    unplaced: set[MessageId] = field(default_factory=set)
    """Messages to remove from ready, later and any line."""

    def bound(self, update: StatusUpdate) -> WamidBinding:
        """The message and attempt of a status update, if known; never a message of another org than the signing one."""
        binding = self.bindings.get((update.number, update.wamid), UNBOUND)
        known = self.facts.get(binding.message_id) if binding.message_id is not None else None
        return binding if known and known.org_id == update.org_id else UNBOUND

    def add(
        self, message_id: MessageId, draft: Draft, queue_id: QueueId | None, now: Instant, shown_in: int | None
    ) -> None:
        """Add a message that this transaction stored."""
        dispatch_group = self.dispatch_groups[outlet_name(draft)]
        known = MessageFacts(
            message_id,
            draft.org_id,
            draft.sender,
            draft.priority,
            draft.max_attempts,
            queue_id,
            dispatch_group,
            shown_in,
        )
        fresh = message_rows.new_delivery(message_id, draft, now)
        self.facts[message_id] = known
        self.originals[message_id] = self.deliveries[message_id] = fresh
        self.new_deliveries.append((*known, *message_rows.delivery_state(fresh)[1:]))
        self._enqueue(known, fresh, now)
        if draft.expires_at is not None:
            self.expiring.append((message_id, draft.expires_at))

    def change(self, after: Delivery, now: Instant) -> Delivery:
        """Replace a delivery by the one that a rule returned; returns the previous one."""
        before = self.deliveries[after.message_id]
        if after is before:
            return before
        self.deliveries[after.message_id] = after
        self._place(before, after, now)
        return before

    def _place(self, before: Delivery, after: Delivery, now: Instant) -> None:
        known = self.facts[after.message_id]
        if before.status is Status.QUEUED and after.status is not Status.QUEUED:
            self.unplaced.add(after.message_id)
        elif after.status is Status.QUEUED and before.status is not Status.QUEUED:
            self._enqueue(known, after, now)
        out_of_the_way = after.parked or after.status not in (Status.QUEUED, Status.SENDING)
        if known.queue_id is not None and out_of_the_way:
            self._free(self.queues[known.queue_id], after.message_id)

    def _enqueue(self, known: MessageFacts, delivery: Delivery, now: Instant) -> None:
        place: tuple[str, Row]
        due_at = delivery.due_at or now
        queue_rank = rank(due_at, known.priority)
        if known.queue_id is not None and not self._is_head(self.queues[known.queue_id], delivery.message_id):
            queue = self.queues[known.queue_id]
            queue.tail += 1
            queue.changed = True
            # A message that is due when it joins the line stays due: the promoting process may have a slower clock.
            waits_until = due_at if due_at > now else 0
            place = "line_add", (queue.id, queue.tail, delivery.message_id, waits_until, queue_rank)
        elif due_at <= now:
            place = "ready_add", (delivery.message_id, known.dispatch_group, queue_rank, now)
        else:
            place = "later_add", (delivery.message_id, known.dispatch_group, queue_rank, due_at)
        self.places[delivery.message_id] = place

    @staticmethod
    def _is_head(queue: LockedQueue, message_id: MessageId) -> bool:
        if queue.head is None:
            queue.head = message_id
            queue.changed = True
        return queue.head == message_id and not queue.freed

    @staticmethod
    def _free(queue: LockedQueue, message_id: MessageId) -> None:
        if queue.head == message_id:
            queue.freed = queue.changed = True

    def put_attempt(self, attempt: Attempt) -> None:
        """Record how an attempt ended, as far as is known."""
        self.attempts.append(message_rows.attempt_row(attempt))

    def note(self, message_id: MessageId, now: Instant, kind: str, detail: str = "") -> None:
        self.events.append((message_id, now, kind, detail))

    def close(self, closing: GateClosing, now: Instant) -> Gate:
        """Close the gate and return it."""
        key = (closing.org_id, closing.name, closing.kind)
        after = gates.closed(self.gates.get(key), closing, now)
        self.gates[key] = self.closed[key] = after
        return after

    def change_recipient(self, after: RecipientState) -> None:
        self.recipients[after.sender, after.recipient] = after
        self.touched.add((after.sender, after.recipient))

    def recipient(self, number: NumberId, customer: str) -> RecipientState:
        return self.recipients.get((number, customer)) or RecipientState(sender=number, recipient=customer)

    def placed(self, statement: str) -> list[Row]:
        """The rows of this statement for messages that end the transaction QUEUED, in the order of their ids."""
        return [
            row
            for message_id, (place, row) in sorted(self.places.items())
            if place == statement and self.deliveries[message_id].status is Status.QUEUED
        ]

    def changed(self) -> list[Delivery]:
        """In the order of their ids, so that every transaction updates in the same order."""
        return [now for mid, now in sorted(self.deliveries.items()) if now is not self.originals.get(mid)]

    def all_queues(self) -> list[LockedQueue]:
        """In the order of their ids."""
        return [self.queues[queue_id] for queue_id in sorted(self.queues)]

    @property
    def only_adds(self) -> bool:
        """Whether no existing row changes except conversations, so that all writes can go in one round trip."""
        statuses = self.status_rows or self.status_links or self.costs or self.refunds
        moved = self.unplaced or self.not_expiring or self.expiring_again or any(q.freed for q in self.queues.values())
        return not (statuses or moved or self.changed())
