"""What the routes of conversations and turns take and show."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from waypost.flow.turns import Of, Page, Said, Talk
from waypost.http.views import shown
from waypost.model.conversation import CONTACT, EndedTurn
from waypost.model.message import Delivery, Status
from waypost.model.time import to_datetime
from waypost.model.turn import Customer
from waypost.ports.lanes import OpenTurn
from waypost.rules import entry_ids, people

ChatStatus = Literal["sent", "delivered", "read", "failed"]


class ContactView(msgspec.Struct, kw_only=True):
    """A customer, by everything they are known by; who keeps the phone number back has none."""

    contact_id: str
    name: str | None
    username: str | None
    phone: str | None
    user_id: str | None
    dossier_id: int | None


def contact_view(of: Customer) -> ContactView:
    return ContactView(
        contact_id=of.id,
        name=of.name,
        username=of.username,
        phone=of.phone,
        user_id=of.user_id,
        dossier_id=of.dossier_id,
    )


class TurnView(msgspec.Struct, kw_only=True):
    """A burst that is being answered, or will be."""

    conversation_id: str
    contact: ContactView | None
    owner: str | None
    """The worker that has it; null while it waits for its time."""
    since: datetime | None
    """When that worker took it; else when the first message came that waits."""
    fence: int
    due: datetime | None
    lease: datetime | None
    waiting: int
    """Messages that ask for an answer."""
    attempts: int
    """Tries that failed."""
    floor: str


def turn_view(of: Of[OpenTurn]) -> TurnView:
    turn, lane = of.turn, of.turn.lane
    return TurnView(
        conversation_id=str(lane.conversation_id),
        contact=contact_view(of.customer) if of.customer else None,
        owner=lane.owner,
        since=shown(lane.claimed_at or turn.waiting_since or lane.due_at),
        fence=lane.fence,
        due=shown(lane.due_at),
        lease=shown(lane.lease_until),
        waiting=turn.waiting,
        attempts=lane.tries,
        floor=lane.floor,
    )


class FailedTurnView(msgspec.Struct, kw_only=True):
    """A burst that was given up: replay it by its conversation and position."""

    conversation_id: str
    position: int
    """Of its last message."""
    contact: ContactView | None
    error: str | None
    attempts: int
    since: datetime
    """When its last try began."""
    ended: datetime


def failed_view(of: Of[EndedTurn]) -> FailedTurnView:
    turn = of.turn
    return FailedTurnView(
        conversation_id=str(turn.conversation_id),
        position=turn.hi,
        contact=contact_view(of.customer) if of.customer else None,
        error=turn.error,
        attempts=turn.tries,
        since=to_datetime(turn.started_at),
        ended=to_datetime(turn.ended_at),
    )


class TurnList(msgspec.Struct):
    turns: list[TurnView]
    """The longest first."""
    failed: list[FailedTurnView]
    """The newest first."""


class ReplayedTurn(msgspec.Struct):
    conversation_id: str
    due: datetime | None
    floor: str


class ChatMessage(msgspec.Struct, kw_only=True):
    """One message of a conversation."""

    message_id: str
    conversation_id: str
    position: int
    sender_id: str
    """A user's id, `bot`, or `contact:` and the contact's id."""
    client_message_id: str | None
    content: dict[str, Any]
    timestamp: datetime
    status: ChatStatus | None
    """Of what we sent; null before the provider has it, and of what the customer wrote."""


def chat_message(said: Said) -> ChatMessage:
    entry = said.entry
    return ChatMessage(
        message_id=entry_ids.shown(entry),
        conversation_id=str(entry.conversation_id),
        position=entry.position,
        sender_id=f"contact:{said.contact_id}" if entry.sender == CONTACT else entry.sender,
        client_message_id=None,
        content=people.shown(people.read(entry.body, entry.type)),
        timestamp=to_datetime(entry.at),
        status=_status(said.delivery) if said.delivery else None,
    )


def _status(delivery: Delivery) -> ChatStatus | None:
    match delivery.status:
        case Status.SENT:
            return "sent"
        case Status.DELIVERED:
            return "read" if delivery.read_at else "delivered"
        case Status.FAILED | Status.CANCELLED:
            return "failed"
        case _:
            return None


class ConversationView(msgspec.Struct, kw_only=True):
    conversation_id: str
    kind: Literal["customer"]
    phone_number_id: str
    """Our number that the customer writes to."""
    contact: ContactView
    floor: str
    """Who answers: `bot`, `human` (anybody), or a user's id."""
    last_message: ChatMessage | None
    created_at: datetime


def conversation_view(talk: Talk) -> ConversationView:
    return ConversationView(
        conversation_id=str(talk.conversation.id),
        kind="customer",
        phone_number_id=talk.conversation.number,
        contact=contact_view(talk.customer),
        floor=talk.lane.floor,
        last_message=chat_message(talk.last) if talk.last else None,
        created_at=to_datetime(talk.conversation.created_at),
    )


class ConversationList(msgspec.Struct):
    conversations: list[ConversationView]


class MessageList(msgspec.Struct):
    messages: list[ChatMessage]
    """Newest first."""
    has_more: bool
    """There are earlier ones: ask again with `before` the last position here."""


def message_list(page: Page) -> MessageList:
    return MessageList([chat_message(said) for said in page.said], page.more)


class GiveFloor(msgspec.Struct, forbid_unknown_fields=True):
    """`bot`, `me`; with an org's key or as an admin also `human` (anybody), or a user's id."""

    holder: Annotated[str, Meta(min_length=1, max_length=64)]
