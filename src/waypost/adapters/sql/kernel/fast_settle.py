"""The fast path of the most frequent settlement: the provider accepted a message that has not changed since its claim.

The rule decides on the delivery as claimed, and the write applies only if the row is unchanged (compare and set). A
settlement that does not fit (a status came first, the fence moved on) changes nothing here and takes the full path.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.plan import Plan, each
from waypost.adapters.sql.kernel.attempts import ended_attempt
from waypost.adapters.sql.kernel.outbox_intents import Settle
from waypost.adapters.sql.rows import message_rows
from waypost.model.ids import MessageId
from waypost.model.message import Attempt, Delivery
from waypost.ports.sending.outbox import Settled
from waypost.rules.sending.delivery import Accept, settle


def is_fast_settle(intent: Settle) -> bool:
    """Exclude ordered messages, whose queue must be promoted, and every verdict but acceptance."""
    message = intent.settlement.message
    plain = message.queue_id is None and message.shown_in is None  # a shown message needs feed items
    return isinstance(intent.settlement.verdict, Accept) and plain


def settle_fast(intents: Sequence[Settle]) -> Plan[list[Settled | None]]:
    """Return one answer per intent; None if it needs the full path."""
    ordered = unique_by_message(intents)
    bound = yield from _bind(ordered)
    expected = [(*message_rows.delivery_progress(d), d.fence) for d in map(decided, ordered) if d.message_id in bound]
    moved = {row[0] for row in (yield from each("delivery_accept", expected))}
    attempts = [message_rows.attempt_row(_ended(i)) for i in ordered if i.settlement.message.id in moved]
    yield from each("attempt_put", attempts)
    return answers(intents, moved)


def unique_by_message(intents: Sequence[Settle]) -> list[Settle]:
    """The first intent of each message, in the order of the message ids."""
    first = {intent.settlement.message.id: intent for intent in reversed(intents)}
    return [first[message_id] for message_id in sorted(first)]


def answers(intents: Sequence[Settle], moved: set[MessageId]) -> list[Settled | None]:
    answered = set()
    settled: list[Settled | None] = []
    for intent in intents:
        message = intent.settlement.message
        first = message.id in moved and message.id not in answered
        answered.add(message.id)
        settled.append(_settled(intent) if first else None)
    return settled


def _bind(intents: Sequence[Settle]) -> Plan[set[MessageId]]:
    """Bind the wamids; returns the messages whose wamid had no row before."""
    wanted = sorted(
        (i.settlement.message.sender, accepted(i).wamid, i.settlement.message.id, i.settlement.message.fence)
        for i in intents
    )
    return {row[0] for row in (yield from each("wamid_claim", wanted))}


def accepted(intent: Settle) -> Accept:
    verdict = intent.settlement.verdict
    if not isinstance(verdict, Accept):
        raise TypeError("only an acceptance can take the fast path")
    return verdict


def decided(intent: Settle) -> Delivery:
    message = intent.settlement.message
    return settle(message.delivery, message.fence, intent.settlement.verdict, intent.now)


def _ended(intent: Settle) -> Attempt:
    return ended_attempt(intent.settlement.message, intent.settlement.verdict, None, intent.now)


def _settled(intent: Settle) -> Settled:
    return Settled(
        held=True, before=intent.settlement.message.delivery, delivery=decided(intent), promoted=False, early=0
    )
