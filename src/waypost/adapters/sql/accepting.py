"""The short way for what happens most: the provider took a message that nobody has touched since it was claimed.

Decided by the rule on the delivery as claimed, written only where it still stands so (compare and set). Whatever does
not fit (a status came first, the fence moved on) changes nothing here and goes the long way through the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.intents import Settle, ended
from waypost.adapters.sql.plan import Plan, each
from waypost.model.ids import MessageId
from waypost.model.message import Attempt, Delivery
from waypost.ports.outbox import Settled
from waypost.rules.delivery import Accept, settle


def is_short(intent: Settle) -> bool:
    """An ordered message has a queue to promote, anything but acceptance more to decide."""
    return isinstance(intent.settlement.verdict, Accept) and intent.settlement.message.queue_id is None


def accept_together(intents: Sequence[Settle]) -> Plan[list[Settled | None]]:
    """One answer per intent; None where the long way is needed."""
    first = {intent.settlement.message.id: intent for intent in reversed(intents)}  # a second one changes nothing more
    ordered = [first[message_id] for message_id in sorted(first)]
    bound = yield from _bind(ordered)
    after = {message_id: _decided(first[message_id]) for message_id in bound}
    expected = [(*rows.delivery_progress(d), d.fence) for d in after.values()]
    moved = {row[0] for row in (yield from each("delivery_accept", expected))}
    tries = [rows.attempt_row(_ended(i)) for i in ordered if i.settlement.message.id in moved]
    yield from each("attempt_put", tries)
    return [_settled(i, after, moved) if first[i.settlement.message.id] is i else None for i in intents]


def _bind(intents: Sequence[Settle]) -> Plan[list[MessageId]]:
    """The messages whose wamid nobody has spoken of before us, in the order of their ids."""
    wanted = sorted((*_wamid(i), i.settlement.message.id, i.settlement.message.fence) for i in intents)
    return sorted(row[0] for row in (yield from each("wamid_claim", wanted)))


def _wamid(intent: Settle) -> tuple[str, str]:
    verdict = intent.settlement.verdict
    return intent.settlement.message.sender, verdict.wamid if isinstance(verdict, Accept) else ""


def _decided(intent: Settle) -> Delivery:
    message = intent.settlement.message
    return settle(message.delivery, message.fence, intent.settlement.verdict, intent.now)


def _ended(intent: Settle) -> Attempt:
    return ended(intent.settlement.message, intent.settlement.verdict, None, intent.now)


def _settled(intent: Settle, after: dict[MessageId, Delivery], moved: set[MessageId]) -> Settled | None:
    message = intent.settlement.message
    if message.id not in moved:
        return None
    return Settled(held=True, before=message.delivery, delivery=after[message.id], promoted=False, early=0)
