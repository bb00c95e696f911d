"""What a message says when it is read back, beyond its own row: the rule that it waits for, and why it stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.flow.world import World
from waypost.model.conversation import BOT, CONTACT, Position
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.model.time import Instant
from waypost.ports.failure import LedgerError
from waypost.rules.deferral import Deferral, deferral
from waypost.rules.reply_keys import turn_of
from waypost.rules.timeline import AnsweredTurn
from waypost.rules.why import Circumstances

BURST_AT_MOST = 1000
"""Messages that are looked at to say how long a burst was."""


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


async def heads(messages: Sequence[Message], world: World) -> Mapping[MessageId, MessageId]:
    """Of the messages that are due and stand in line behind another, the first of their line."""
    now = world.clock.now()
    in_queues = [
        message.id
        for message in messages
        if message.delivery.status is Status.QUEUED and message.queue_id is not None and _is_due(message, now)
    ]
    return await world.ledger.operating.heads(in_queues) if in_queues else {}


async def deferrals_if_known(messages: Sequence[Message], world: World) -> dict[MessageId, Deferral]:
    """For messages that were changed a moment ago: that is done, whether or not the Ledger answers once more."""
    try:
        return await deferrals(messages, world)
    except LedgerError:
        return {}


async def heads_if_known(messages: Sequence[Message], world: World) -> Mapping[MessageId, MessageId]:
    """The same of heads."""
    try:
        return await heads(messages, world)
    except LedgerError:
        return {}


def _is_due(message: Message, now: Instant) -> bool:
    return message.delivery.due_at is None or message.delivery.due_at <= now


async def answered_turn(message: Message, world: World) -> AnsweredTurn | None:
    """Of a bot's reply, the turn that it answers; its key tells which."""
    of = turn_of(message.draft.idempotency_key) if message.draft.created_by == BOT else None
    ended = await world.ledger.lanes.ended(message.draft.org_id, of.conversation_id, of.hi) if of else None
    if of is None or ended is None or ended.lo != of.lo:
        return None
    before, span = Position(of.hi + 1), min(of.hi - of.lo, BURST_AT_MOST)
    entries = await world.ledger.conversations.entries(of.conversation_id, before, span)
    return AnsweredTurn(
        id=of.id,
        burst=sum(entry.sender == CONTACT for entry in entries) or of.hi - of.lo,
        tries=ended.tries,
        claimed_at=ended.started_at,
        ended_at=ended.ended_at,
    )


async def circumstances(message: Message, world: World) -> Circumstances:
    answers = await answered_turn(message, world)
    if message.delivery.status is not Status.QUEUED:
        return Circumstances(answers=answers)
    operating = world.ledger.operating
    place = await operating.place(message.id)
    return Circumstances(
        deferred=(await deferrals([message], world)).get(message.id),
        head=place.head,
        ready_since=place.ready_since,
        worker_seen_at=await operating.worker_seen_at(),
        answers=answers,
    )
