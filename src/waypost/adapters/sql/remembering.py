"""What the org wrote to somebody before they ever answered: it begins the conversation that their answer opens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from waypost.adapters.sql.plan import Plan, Row, each
from waypost.adapters.sql.talks import Begun, Saying, Talks
from waypost.model.conversation import ConversationId
from waypost.model.ids import MessageId
from waypost.model.time import Instant
from waypost.rules import chat_content

MOST = 20
"""The latest: the beginning of a conversation, not an archive."""


class Told(NamedTuple):
    """A message of the outbox that no conversation shows."""

    conversation_id: ConversationId
    message_id: MessageId
    created_by: str
    template: str | None
    payload: str
    created_at: Instant
    scheduled_at: Instant | None


def told_before(talks: Talks) -> Plan[list[Told]]:
    """In the order in which they were written. Nothing is locked: whoever shows them locks them first."""
    rows = [row for begun in talks.begun for row in _asked(begun)]
    found = sorted(Told(*row) for row in (yield from each("told_before", rows)))
    return [told for where in dict.fromkeys(t.conversation_id for t in found) for told in _latest(where, found)]


def _asked(begun: Begun) -> Iterable[Row]:
    return ((begun.id, begun.org_id, begun.number, address, MOST) for address in begun.addresses)


def _latest(where: ConversationId, found: list[Told]) -> list[Told]:
    """They may have been written to under several addresses."""
    return [told for told in found if told.conversation_id == where][-MOST:]


def show(told: Iterable[Told], talks: Talks, now: Instant) -> None:
    """As if their conversation had been there; from now on screens are told what becomes of them."""
    for message in told:
        talks.shown.append((message.message_id, message.conversation_id))
        if message.scheduled_at is not None and message.scheduled_at > now:
            continue  # it is said when it goes out
        kind, body = chat_content.sent(message.template, message.payload)
        said = Saying(message.created_by, kind, body, message.created_at, message_id=message.message_id)
        talks.say(message.conversation_id, said, now)
