"""What a message says when it is read back, beyond its own row: the rule that it waits for, and why it stands there."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.flow.world import World
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.model.time import Instant
from waypost.rules.deferral import Deferral, deferral
from waypost.rules.why import Circumstances


async def deferrals(messages: Sequence[Message], world: World) -> dict[MessageId, Deferral]:
    """The messages that a rule keeps waiting; one look at what stands before those that are due."""
    now = world.clock.now()
    queued = [message for message in messages if message.delivery.status is Status.QUEUED]
    due = [message.id for message in queued if _is_due(message, now)]
    standing = await world.ledger.gates.standing(due, now) if due else {}
    found: dict[MessageId, Deferral] = {}
    for message in queued:
        before = standing.get(message.id)
        outlet, permits = (before.outlet, before.permits) if before else (None, {})
        deferred = deferral(message.delivery, outlet, permits, now)
        if deferred is not None:
            found[message.id] = deferred
    return found


def _is_due(message: Message, now: Instant) -> bool:
    return message.delivery.due_at is None or message.delivery.due_at <= now


async def circumstances(message: Message, world: World) -> Circumstances:
    if message.delivery.status is not Status.QUEUED:
        return Circumstances()
    operating = world.ledger.operating
    place = await operating.place(message.id)
    return Circumstances(
        deferred=(await deferrals([message], world)).get(message.id),
        head=place.head,
        ready_since=place.ready_since,
        worker_seen_at=await operating.worker_seen_at(),
    )
