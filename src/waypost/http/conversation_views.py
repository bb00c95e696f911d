"""What the routes of conversations and turns take and show."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from waypost.flow.inbox import Said, Shown, shown_status
from waypost.flow.turns import Of
from waypost.http.views import shown
from waypost.model.chat import Failure, ShownChat, ShownTalk
from waypost.model.conversation import CONTACT, EndedTurn
from waypost.model.media import FileNote, MediaState
from waypost.model.time import to_datetime
from waypost.model.turn import Customer
from waypost.ports.lanes import OpenTurn
from waypost.rules import chat_content, entry_ids
from waypost.rules.chat_status import ChatStatus
from waypost.rules.customers import customer


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


class MessageError(msgspec.Struct, kw_only=True):
    """Why a message did not get there."""

    code: str
    """The provider's, or one of ours."""
    title: str
    remedy: str
    """What whoever wrote it can do."""


class MessageFile(msgspec.Struct, kw_only=True):
    """A file that came with a customer's message: its bytes are at `GET /api/v1/media/{id}` once it is `stored`."""

    id: int
    state: str
    """`pending`, `stored` or `failed`."""
    mime_type: str
    filename: str | None
    """The customer's own."""
    size: int | None


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
    error: MessageError | None
    """Of one that failed."""
    outbound_id: int | None
    """Of what we sent: its id in the outbox, to look at and to retry."""
    provider_message_id: str | None
    """By which reactions and answers name it; of what we sent, null before the provider has it."""
    media: MessageFile | None
    """In a history and live; a list's last message has none."""


def message_error(of: Failure | None) -> MessageError | None:
    return None if of is None else MessageError(code=of.code, title=of.title, remedy=of.remedy)


def _file(of: FileNote | None) -> MessageFile | None:
    if of is None or of.state is MediaState.ERASED:
        return None
    return MessageFile(id=of.id, state=of.state.value, mime_type=of.mime_type, filename=of.filename, size=of.size)


def chat_message(said: Said) -> ChatMessage:
    entry = said.entry
    return ChatMessage(
        message_id=entry_ids.shown(entry),
        conversation_id=str(entry.conversation_id),
        position=entry.position,
        sender_id=f"contact:{said.contact_id}" if entry.sender == CONTACT else entry.sender,
        client_message_id=entry.client_message_id,
        content=chat_content.shown(entry),
        timestamp=to_datetime(entry.at),
        status=said.status,
        error=message_error(said.failure),
        outbound_id=entry.message_id,
        provider_message_id=entry.wamid or said.provider_id,
        media=_file(said.file) if entry.deleted_at is None else None,
    )


class ConversationView(msgspec.Struct, kw_only=True):
    conversation_id: str
    kind: Literal["customer", "direct", "group"]
    title: str | None
    members: list[str]
    """Of a chat: its people's ids; of a large group only where one conversation is asked for."""
    phone_number_id: str | None
    """Our number that the customer writes to."""
    contact: ContactView | None
    floor: str | None
    """Who answers a customer: `bot`, `human` (anybody), or a user's id."""
    assignee: str | None
    state: str
    labels: list[str]
    last_message: ChatMessage | None
    unread: int
    """Messages of others that the caller has not read, counted up to 100; of a customer, the customer's."""
    read_position: int
    """Up to where the caller has read."""
    active_at: datetime
    """Of the latest activity: what lists are ordered by."""
    window_expires_at: datetime | None
    """Of a customer: until then they may be answered freely, or could be; null when they never wrote, or long ago."""
    turn: Literal["waiting", "thinking"] | None
    """Of a customer whom the bot is to answer: it waits for the end of the burst, or thinks."""
    created_at: datetime


def conversation_view(shown: Shown) -> ConversationView:
    return _talk_view(shown, shown.talk) if isinstance(shown.talk, ShownTalk) else _chat_view(shown, shown.talk)


def _talk_view(shown: Shown, talk: ShownTalk) -> ConversationView:
    of = talk.conversation
    status = shown_status(talk.status, talk.was_read)
    said = talk.last and Said(
        entry=talk.last,
        contact_id=of.contact_id,
        status=status,
        failure=shown.failure,
        provider_id=talk.provider_id,
    )
    return ConversationView(
        conversation_id=str(of.id),
        kind="customer",
        title=None,
        members=[],
        phone_number_id=of.number,
        contact=contact_view(customer(of, shown.contact)),
        floor=talk.floor,
        assignee=of.assignee,
        state=of.state,
        labels=list(of.labels),
        last_message=chat_message(said) if said else None,
        unread=talk.unread,
        read_position=talk.read,
        active_at=to_datetime(of.last_id_at),
        window_expires_at=to_datetime(talk.window_until) if talk.window_until is not None else None,
        turn=talk.turn,
        created_at=to_datetime(of.created_at),
    )


def _chat_view(shown: Shown, talk: ShownChat) -> ConversationView:
    said = Said(entry=talk.last, contact_id=None, status="sent") if talk.last else None
    return ConversationView(
        conversation_id=str(talk.chat.id),
        kind=talk.chat.kind.value,
        title=talk.chat.title,
        members=[member.user_id for member in shown.members],
        phone_number_id=None,
        contact=None,
        floor=None,
        assignee=None,
        state="open",
        labels=[],
        last_message=chat_message(said) if said else None,
        unread=talk.unread,
        read_position=talk.read,
        active_at=to_datetime(talk.chat.last_id_at),
        window_expires_at=None,
        turn=None,
        created_at=to_datetime(talk.chat.created_at),
    )


class Colleague(msgspec.Struct, kw_only=True):
    user_id: str
    name: str
    role: str


class Team(msgspec.Struct):
    people: list[Colleague]


class ConversationList(msgspec.Struct, kw_only=True):
    conversations: list[ConversationView]
    """By latest activity."""
    next_cursor: str | None = None
    has_more: bool = False


class MessageList(msgspec.Struct, kw_only=True):
    messages: list[ChatMessage]
    """Newest first."""
    next_cursor: str | None
    """Ask again with this for what came before."""
    has_more: bool


class GiveFloor(msgspec.Struct, forbid_unknown_fields=True):
    """`bot`, `me`; with an org's key or as an admin also `human` (anybody), or a user's id."""

    holder: Annotated[str, Meta(min_length=1, max_length=64)]
