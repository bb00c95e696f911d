"""Backfill: a new conversation starts with the last messages that the org sent to this customer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from waypost.adapters.sql.engine.plan import Plan, Row, each
from waypost.adapters.sql.kernel.conversation_work import ConversationWork, NewEntry, OpenedConversation
from waypost.model.conversation import ConversationId
from waypost.model.ids import MessageId
from waypost.model.time import Instant
from waypost.rules.conversations import chat_content

MOST = 20
"""How many messages a new conversation starts with."""


class SentBefore(NamedTuple):
    """An outbox message that no conversation shows."""

    conversation_id: ConversationId
    message_id: MessageId
    created_by: str
    template: str | None
    payload: str
    created_at: Instant
    scheduled_at: Instant | None


def find_sent_before(conversations: ConversationWork) -> Plan[list[SentBefore]]:
    """In the order in which they were written. Locks nothing: the caller locks the messages before it shows them."""
    rows = [row for begun in conversations.begun for row in _asked(begun)]
    found = sorted(SentBefore(*row) for row in (yield from each("told_before", rows)))
    return [message for where in dict.fromkeys(t.conversation_id for t in found) for message in _latest(where, found)]


def _asked(begun: OpenedConversation) -> Iterable[Row]:
    return ((begun.id, begun.org_id, begun.number, address, MOST) for address in begun.addresses)


def _latest(where: ConversationId, found: list[SentBefore]) -> list[SentBefore]:
    """The last ones across all addresses of the customer."""
    return [message for message in found if message.conversation_id == where][-MOST:]


def add_sent_before(messages: Iterable[SentBefore], conversations: ConversationWork, now: Instant) -> None:
    """Add their entries; from now on the feed carries their status changes."""
    for message in messages:
        conversations.shown.append((message.message_id, message.conversation_id))
        if message.scheduled_at is not None and message.scheduled_at > now:
            continue  # its entry is added when it is sent
        kind, body = chat_content.sent(message.template, message.payload)
        entry = NewEntry(message.created_by, kind, body, message.created_at, message_id=message.message_id)
        conversations.add_entry(message.conversation_id, entry, now)
