"""One transaction in memory: what it has locked, what has been decided, what will be written.

Intents change deliveries here, by the rules, and never say how a row is stored; `_place` derives from the old and the
new status in which of ready, later and the line of a queue a message must stand. So no intent can forget one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from waypost.adapters.sql import rows
from waypost.adapters.sql.plan import Row
from waypost.adapters.sql.rows import Facts
from waypost.adapters.sql.talks import Talks
from waypost.model.audit import Entry
from waypost.model.gate import Closing, Gate, GateKind, GateName
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, QueueId, Wamid
from waypost.model.message import Attempt, Delivery, Draft, Status
from waypost.model.pair import Pair
from waypost.model.report import ReportName, StatusReport
from waypost.model.time import Instant, Span, minutes
from waypost.rules import gates

GateKey: TypeAlias = tuple[OrgId, GateName, GateKind]

HEAD_START: Span = minutes(1)
"""What one step of priority is worth in the queue: enough to overtake, too little to starve anyone."""


def rank(due_at: int, priority: int) -> int:
    return due_at - priority * HEAD_START


@dataclass(slots=True)
class Queue:
    """A locked queue row."""

    id: QueueId
    head: MessageId | None
    tail: int
    freed: bool = False
    """Its head is out of the way: the next in line is to be promoted."""
    changed: bool = False


@dataclass(slots=True)
class Binding:
    """A locked wamid row: whose try this is, if anybody has said so yet."""

    message_id: MessageId | None
    fence: Fence | None


NOBODY = Binding(None, None)


def outlet_name(draft: Draft) -> tuple[str, str, str]:
    return draft.org_id, draft.sender, draft.template or ""


def addressee(draft: Draft) -> tuple[str, str, str]:
    """Under which its address says yes or no."""
    return draft.org_id, f"address:{draft.recipient}", draft.channel.value


@dataclass(slots=True)
class Work:
    now: Instant
    facts: dict[MessageId, Facts] = field(default_factory=dict)
    originals: dict[MessageId, Delivery] = field(default_factory=dict)
    deliveries: dict[MessageId, Delivery] = field(default_factory=dict)
    queues: dict[QueueId, Queue] = field(default_factory=dict)
    bindings: dict[tuple[NumberId, Wamid], Binding] = field(default_factory=dict)
    waiting_reports: dict[tuple[NumberId, Wamid], list[StatusReport]] = field(default_factory=dict)
    told_before: set[ReportName] = field(default_factory=set)
    """Of the failures, those that are known."""
    outlets: dict[tuple[str, str, str], int] = field(default_factory=dict)
    gates: dict[GateKey, Gate] = field(default_factory=dict)
    pairs: dict[tuple[NumberId, str], Pair] = field(default_factory=dict)
    queue_names: dict[tuple[OrgId, NumberId, str], QueueId] = field(default_factory=dict)
    """(org, sender, recipient) -> the queue that orders what goes there."""
    stored: dict[tuple[OrgId, str], tuple[MessageId, bytes, bool]] = field(default_factory=dict)
    """(org, idempotency key) -> id, content digest, stored by this transaction."""

    revoked: set[tuple[str, str, str]] = field(default_factory=set)
    """Of the addressees, those who said no."""
    suspects: set[MessageId] = field(default_factory=set)
    """Of the doubtful tries, those whose status may have come without a name."""

    talks: Talks = field(default_factory=Talks)
    consents: dict[tuple[OrgId, str, str], tuple[str, Instant, Instant]] = field(default_factory=dict)
    """(org, subject, channel) -> what was said, when, and when we heard it."""
    audited: list[Entry] = field(default_factory=list)
    new_deliveries: list[Row] = field(default_factory=list)
    reports: list[Row] = field(default_factory=list)
    report_links: list[Row] = field(default_factory=list)
    costs: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    closed: dict[GateKey, Gate] = field(default_factory=dict)
    touched: set[tuple[NumberId, str]] = field(default_factory=set)
    """Pairs that changed."""
    expiring: list[Row] = field(default_factory=list)
    not_expiring: list[Row] = field(default_factory=list)
    expiring_again: list[Row] = field(default_factory=list)
    refunds: list[tuple[str, Instant]] = field(default_factory=list)
    """Permits to be given back: (name, when it was drawn)."""
    places: dict[MessageId, tuple[str, Row]] = field(default_factory=dict)
    """Message -> the statement that puts it where it waits, and its row: one place each, the latest."""
    unplaced: set[MessageId] = field(default_factory=set)
    """Messages to be taken out of ready, later and any line."""

    def bound(self, told: StatusReport) -> Binding:
        """Whose try a report is about, if that is known; never a message of another org than the one that signed it."""
        binding = self.bindings.get((told.number, told.wamid), NOBODY)
        known = self.facts.get(binding.message_id) if binding.message_id is not None else None
        return binding if known and known.org_id == told.org_id else NOBODY

    def add(
        self, message_id: MessageId, draft: Draft, queue_id: QueueId | None, now: Instant, talk: int | None
    ) -> None:
        """A message that this transaction stored."""
        outlet = self.outlets[outlet_name(draft)]
        known = Facts(
            message_id, draft.org_id, draft.sender, draft.priority, draft.max_attempts, queue_id, outlet, talk
        )
        fresh = rows.new_delivery(message_id, draft, now)
        self.facts[message_id] = known
        self.originals[message_id] = self.deliveries[message_id] = fresh
        self.new_deliveries.append((*known, *rows.delivery_state(fresh)[1:]))
        self._enqueue(known, fresh, now)
        if draft.expires_at is not None:
            self.expiring.append((message_id, draft.expires_at))

    def change(self, after: Delivery, now: Instant) -> Delivery:
        """Put a delivery that a rule returned in place of the one it was made from; returns the one before."""
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

    def _enqueue(self, known: Facts, delivery: Delivery, now: Instant) -> None:
        place: tuple[str, Row]
        due_at = delivery.due_at or now
        standing = rank(due_at, known.priority)
        if known.queue_id is not None and not self._is_head(self.queues[known.queue_id], delivery.message_id):
            queue = self.queues[known.queue_id]
            queue.tail += 1
            queue.changed = True
            # What is due when it joins the line stays so: whoever promotes it may have a slower clock.
            waits_until = due_at if due_at > now else 0
            place = "line_add", (queue.id, queue.tail, delivery.message_id, waits_until, standing)
        elif due_at <= now:
            place = "ready_add", (delivery.message_id, known.outlet, standing, now)
        else:
            place = "later_add", (delivery.message_id, known.outlet, standing, due_at)
        self.places[delivery.message_id] = place

    @staticmethod
    def _is_head(queue: Queue, message_id: MessageId) -> bool:
        if queue.head is None:
            queue.head = message_id
            queue.changed = True
        return queue.head == message_id and not queue.freed

    @staticmethod
    def _free(queue: Queue, message_id: MessageId) -> None:
        if queue.head == message_id:
            queue.freed = queue.changed = True

    def put_attempt(self, attempt: Attempt) -> None:
        """How a try ended, as far as anybody knows by now."""
        self.attempts.append(rows.attempt_row(attempt))

    def note(self, message_id: MessageId, now: Instant, kind: str, detail: str = "") -> None:
        self.events.append((message_id, now, kind, detail))

    def close(self, closing: Closing, now: Instant) -> Gate:
        """The gate as it stands afterwards."""
        key = (closing.org_id, closing.name, closing.kind)
        after = gates.closed(self.gates.get(key), closing, now)
        self.gates[key] = self.closed[key] = after
        return after

    def change_pair(self, after: Pair) -> None:
        self.pairs[after.sender, after.recipient] = after
        self.touched.add((after.sender, after.recipient))

    def pair(self, number: NumberId, customer: str) -> Pair:
        return self.pairs.get((number, customer)) or Pair(sender=number, recipient=customer)

    def placed(self, statement: str) -> list[Row]:
        """Where messages go that end this transaction QUEUED, in the order of their ids."""
        return [
            row
            for message_id, (place, row) in sorted(self.places.items())
            if place == statement and self.deliveries[message_id].status is Status.QUEUED
        ]

    def changed(self) -> list[Delivery]:
        """In the order of their ids, so that every transaction updates in the same order."""
        return [now for mid, now in sorted(self.deliveries.items()) if now is not self.originals.get(mid)]

    def all_queues(self) -> list[Queue]:
        """In the order of their ids."""
        return [self.queues[queue_id] for queue_id in sorted(self.queues)]

    @property
    def only_adds(self) -> bool:
        """Nothing that was there before moves, but its conversation: all of it can be written side by side."""
        told = self.reports or self.report_links or self.costs or self.refunds
        moved = self.unplaced or self.not_expiring or self.expiring_again or any(q.freed for q in self.queues.values())
        return not (told or moved or self.changed())
