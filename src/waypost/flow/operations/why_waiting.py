"""Explains why a message is not sent yet: the rule that defers it, its queue position and its turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.flow.world import World
from waypost.model.conversation import BOT, CONTACT, Position
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.model.time import Instant
from waypost.ports.platform.failure import LedgerError
from waypost.rules.conversations.reply_keys import turn_of
from waypost.rules.operations.timeline import AnsweredTurn
from waypost.rules.operations.why import WhyFacts
from waypost.rules.sending.deferral import Deferral, deferral

BURST_AT_MOST = 1000
"""How many messages are counted at most for the size of a burst."""


async def deferrals(messages: Sequence[Message], world: World) -> dict[MessageId, Deferral]:
    """The messages that a rule defers; one read of the gates and permits of those that are due."""
    now = world.clock.now()
    queued = [message for message in messages if message.delivery.status is Status.QUEUED]
    due = [message.id for message in queued if _is_due(message, now)]
    limits = await world.ledger.gates.standing(due, now) if due else {}
    found: dict[MessageId, Deferral] = {}
    for message in queued:
        before = limits.get(message.id)
        group, permits = (before.group, before.permits) if before else (None, {})
        deferred = deferral(message.delivery, group, permits, now)
        if deferred is not None:
            found[message.id] = deferred
    return found


async def heads(messages: Sequence[Message], world: World) -> Mapping[MessageId, MessageId]:
    """For due messages in an ordered queue, the message at its head."""
    now = world.clock.now()
    in_queues = [
        message.id
        for message in messages
        if message.delivery.status is Status.QUEUED and message.queue_id is not None and _is_due(message, now)
    ]
    return await world.ledger.operator_reads.heads(in_queues) if in_queues else {}


async def deferrals_if_known(messages: Sequence[Message], world: World) -> dict[MessageId, Deferral]:
    """As `deferrals`, empty if the Ledger does not answer: for callers whose change is already committed."""
    try:
        return await deferrals(messages, world)
    except LedgerError:
        return {}


async def heads_if_known(messages: Sequence[Message], world: World) -> Mapping[MessageId, MessageId]:
    """As `heads`, empty if the Ledger does not answer."""
    try:
        return await heads(messages, world)
    except LedgerError:
        return {}


def _is_due(message: Message, now: Instant) -> bool:
    return message.delivery.due_at is None or message.delivery.due_at <= now


async def answered_turn(message: Message, world: World) -> AnsweredTurn | None:
    """The turn that a bot's reply answers, from its idempotency key."""
    of = turn_of(message.draft.idempotency_key) if message.draft.created_by == BOT else None
    ended = await world.ledger.turn_queue.ended(message.draft.org_id, of.conversation_id, of.hi) if of else None
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


async def circumstances(message: Message, world: World) -> WhyFacts:
    answers = await answered_turn(message, world)
    if message.delivery.status is not Status.QUEUED:
        return WhyFacts(answers=answers)
    reads = world.ledger.operator_reads
    position = await reads.place(message.id)
    return WhyFacts(
        deferred=(await deferrals([message], world)).get(message.id),
        head=position.head,
        ready_since=position.ready_since,
        worker_seen_at=await reads.worker_seen_at(),
        answers=answers,
    )
