"""The short way for what happens most: the provider took a message that nobody has touched since it was claimed.

Decided by the rule on the delivery as claimed, written only where it still stands so (compare and set). Whatever does
not fit (a status came first, the fence moved on) changes nothing here and goes the long way through the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.intents import Settle
from waypost.adapters.sql.plan import Plan, each
from waypost.adapters.sql.tries import ended
from waypost.model.ids import MessageId
from waypost.model.message import Attempt, Delivery
from waypost.ports.outbox import Settled
from waypost.rules.delivery import Accept, settle


def is_short(intent: Settle) -> bool:
    """An ordered message has a queue to promote, anything but acceptance more to decide."""
    message = intent.settlement.message
    plain = message.queue_id is None and message.talk is None  # screens are told of what is shown in a conversation
    return isinstance(intent.settlement.verdict, Accept) and plain


def accept_together(intents: Sequence[Settle]) -> Plan[list[Settled | None]]:
    """One answer per intent; None where the long way is needed."""
    ordered = once_each(intents)
    bound = yield from _bind(ordered)
    expected = [(*rows.delivery_progress(d), d.fence) for d in map(decided, ordered) if d.message_id in bound]
    moved = {row[0] for row in (yield from each("delivery_accept", expected))}
    tries = [rows.attempt_row(_ended(i)) for i in ordered if i.settlement.message.id in moved]
    yield from each("attempt_put", tries)
    return answers(intents, moved)


def once_each(intents: Sequence[Settle]) -> list[Settle]:
    """In the order of their messages; a second one of the same message changes nothing more."""
    first = {intent.settlement.message.id: intent for intent in reversed(intents)}
    return [first[message_id] for message_id in sorted(first)]


def answers(intents: Sequence[Settle], moved: set[MessageId]) -> list[Settled | None]:
    told = set()
    settled: list[Settled | None] = []
    for intent in intents:
        message = intent.settlement.message
        first = message.id in moved and message.id not in told
        told.add(message.id)
        settled.append(_settled(intent) if first else None)
    return settled


def _bind(intents: Sequence[Settle]) -> Plan[set[MessageId]]:
    """The messages whose wamid nobody has spoken of before us."""
    wanted = sorted(
        (i.settlement.message.sender, accepted(i).wamid, i.settlement.message.id, i.settlement.message.fence)
        for i in intents
    )
    return {row[0] for row in (yield from each("wamid_claim", wanted))}


def accepted(intent: Settle) -> Accept:
    verdict = intent.settlement.verdict
    if not isinstance(verdict, Accept):
        raise TypeError("only acceptance goes the short way")
    return verdict


def decided(intent: Settle) -> Delivery:
    message = intent.settlement.message
    return settle(message.delivery, message.fence, intent.settlement.verdict, intent.now)


def _ended(intent: Settle) -> Attempt:
    return ended(intent.settlement.message, intent.settlement.verdict, None, intent.now)


def _settled(intent: Settle) -> Settled:
    return Settled(
        held=True, before=intent.settlement.message.delivery, delivery=decided(intent), promoted=False, early=0
    )
