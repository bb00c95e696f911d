"""Writes the decided changes: each table set-wise, in a fixed order, in few round trips."""

from __future__ import annotations

from collections import Counter

from waypost.adapters.sql.engine.plan import Plan, Row, each, together
from waypost.adapters.sql.kernel import find_or_create_contacts
from waypost.adapters.sql.kernel.transaction_state import LockedQueue, TransactionState
from waypost.adapters.sql.rows import gate_rows, message_rows
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.time import Instant

_WITH_PROVIDER = (Status.SENT, Status.DELIVERED)


def write(work: TransactionState) -> Plan[dict[str, int]]:
    """Returns the new heads of the feeds that it wrote to."""
    yield from find_or_create_contacts.write_arrivals(work.conversations)
    fresh = _fresh(work)
    places = [each(statement, work.placed(statement)) for statement in ("ready_add", "later_add", "line_add")]
    if work.only_adds:
        changed = [(queue.id, queue.head, queue.tail) for queue in work.all_queues() if queue.changed]
        return (
            yield from find_or_create_contacts.write_feeds(
                work.conversations, *fresh, *places, each("queue_update", changed)
            )
        )
    yield from together(*fresh)
    yield from write_deliveries(work.changed())
    yield from each("report_link", work.status_links)
    yield from each("report_insert", work.status_rows)
    yield from each("cost_link", [link[:4] for link in work.status_links])
    yield from each("cost_insert", once_per_wamid(work.costs))
    yield from _leave_places(work)
    yield from together(*places)
    yield from each("expiring_drop", work.not_expiring)
    yield from each("expiring_again", work.expiring_again)
    yield from each("permit_refund", sorted(_refunds(work.refunds)))
    yield from _promote(work.all_queues(), work)
    return (yield from find_or_create_contacts.write_feeds(work.conversations))


def _fresh(work: TransactionState) -> list[Plan[list[Row]]]:
    """Each writes a table of its own."""
    return [
        *find_or_create_contacts.writes(work.conversations),
        each("delivery_insert", work.new_deliveries),
        each("delivery_show", work.conversations.shown),
        each("attempt_put", _once_per_try(work.attempts)),
        each("event_insert", work.events),
        each("journal_insert", work.items),
        each("expiring_add", work.expiring),
        each("gate_put", [gate_rows.gate_row(work.closed[key]) for key in sorted(work.closed)]),
        each("pair_put", [gate_rows.pair_row(work.recipients[key]) for key in sorted(work.touched)]),
        each("consent_told", [(*key, *work.consents[key]) for key in sorted(work.consents)]),
        each("audit_insert", [message_rows.audit_row(entry) for entry in work.audited]),
    ]


def once_per_wamid(costs: list[Row]) -> list[Row]:
    """The first row of each wamid, in the order of their keys."""
    first: dict[tuple[str, str], Row] = {}
    for row in costs:
        first.setdefault((row[0], row[1]), row)
    return [first[key] for key in sorted(first)]


def write_deliveries(changed: list[Delivery]) -> Plan[None]:
    """Update only the columns that can have changed: an accepted message no longer waits for anything."""
    yield from each(
        "delivery_progress", [message_rows.delivery_progress(d) for d in changed if d.status in _WITH_PROVIDER]
    )
    yield from each(
        "delivery_update", [message_rows.delivery_state(d) for d in changed if d.status not in _WITH_PROVIDER]
    )


def _refunds(refunds: list[tuple[str, Instant]]) -> list[tuple[str, Instant, int]]:
    return [(name, drawn_at, count) for (name, drawn_at), count in Counter(refunds).items()]


def _once_per_try(attempts: list[Row]) -> list[Row]:
    """A set-wise update may name a row once: a success is final, otherwise the last row counts."""
    last: dict[tuple[int, int], Row] = {}
    for row in attempts:
        known = last.get((row[0], row[1]))
        if known is None or known[4] != AttemptStatus.SUCCESS or row[7] is not None:
            last[row[0], row[1]] = row
    return [last[key] for key in sorted(last)]


def _leave_places(work: TransactionState) -> Plan[None]:
    gone = [(message_id,) for message_id in sorted(work.unplaced)]
    # Later before ready: a claim may be moving a row from later to ready, and this waits for it.
    yield from each("later_drop", gone)
    yield from each("ready_drop", gone)
    yield from each("line_drop", gone)


def _promote(queues: list[LockedQueue], work: TransactionState) -> Plan[None]:
    """Where the head has left the queue, the first in line becomes the head."""
    freed = [(queue.id,) for queue in queues if queue.freed]
    heads: dict[int, int] = {}
    ready, later, left = [], [], []
    for queue_id, position, message_id, dispatch_group, queue_rank, due_at in (yield from each("line_first", freed)):
        heads[queue_id] = message_id
        left.append((queue_id, position))
        if due_at <= work.now:
            ready.append((message_id, dispatch_group, queue_rank, work.now))
        else:
            later.append((message_id, dispatch_group, queue_rank, due_at))
    yield from each("line_leave", left)
    yield from each("ready_add", ready)
    yield from each("later_add", later)
    changed = [(q.id, heads.get(q.id) if q.freed else q.head, q.tail) for q in queues if q.changed]
    yield from each("queue_update", changed)
