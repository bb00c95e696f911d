"""Claims: their own short transaction, which waits for nobody and deadlocks with nobody (it skips what is locked)."""

from __future__ import annotations

from waypost.adapters.sql import rows
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.model.message import Claimed, Delivery
from waypost.model.time import Instant
from waypost.ports.outbox import Demand
from waypost.rules.delivery import claim

STAGE_AT_MOST = 2_000


def claim_due(demand: Demand, now: Instant) -> Plan[list[Claimed]]:
    yield from _stage(now)
    picked = yield Once("claim_pick", (demand.slots,))
    if not picked:
        return []
    ((open_total,),) = yield Once("door_total")
    yield from each("ready_drop", [(row[0],) for row in picked])
    taken, claimed = [], []
    for row in picked:
        before = rows.delivery(row)
        after = claim(before, demand.owner, open_total, now)
        if after is before:
            continue  # settled by evidence while it was on its way into ready: only the stale row goes
        taken.append((after.message_id, after.fence, after.tries, after.owner, after.open_at_claim, now))
        claimed.append(_claimed(row, after, now))
    yield from each("delivery_sending", sorted(taken, key=_by_message))
    return claimed


def _by_message(row: Row) -> int:
    return int(row[0])


def _claimed(row: Row, delivery: Delivery, now: Instant) -> Claimed:
    known = rows.Facts(*row[:6])
    recipient, template, payload, expires_at, created_at, ready_at = row[23:29]
    return Claimed(
        id=known.message_id,
        fence=delivery.fence,
        generation=delivery.generation,
        tries=delivery.tries,
        org_id=known.org_id,
        sender=known.sender,
        recipient=recipient,
        template=template,
        payload=payload,
        max_attempts=known.max_attempts,
        expires_at=expires_at,
        queue_id=known.queue_id,
        created_at=created_at,
        claimed_at=now,
        ready_at=ready_at,
        delivery=delivery,
    )


def _stage(now: Instant) -> Plan[None]:
    """What has become due moves from later to ready."""
    due = yield Once("later_due", (now, STAGE_AT_MOST))
    yield from each("later_drop", [(row[0],) for row in due])
    yield from each("ready_add", [(message_id, sender, standing, now) for message_id, sender, standing in due])
