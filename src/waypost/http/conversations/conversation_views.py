"""Request and response bodies of conversations and turns."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from waypost.flow.conversations.inbox import ShownConversation, ShownEntry, shown_status
from waypost.flow.conversations.turns import TurnWithCustomer
from waypost.http.sending.views import format_time
from waypost.model.chat import ChatListItem, ConversationListItem, DeliveryFailure
from waypost.model.conversation import CONTACT, EndedTurn
from waypost.model.media import FileSummary, MediaState
from waypost.model.time import to_datetime
from waypost.model.turn import Customer
from waypost.ports.conversations.turn_queue import OpenTurn
from waypost.rules.conversations import chat_content, entry_ids
from waypost.rules.conversations.chat_status import ChatStatus
from waypost.rules.conversations.customers import customer


class ContactView(msgspec.Struct, kw_only=True):
    """A customer, by every known id; `phone` is null if they hide it."""

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
    """A burst of messages that is being answered or waits for its turn."""

    conversation_id: str
    contact: ContactView | None
    owner: str | None
    """The worker that runs it; null while it waits."""
    since: datetime | None
    """When the worker claimed it, or when its first message arrived."""
    fence: int
    due: datetime | None
    lease: datetime | None
    waiting: int
    """Messages waiting for an answer."""
    attempts: int
    """Failed attempts."""
    floor: str


def turn_view(of: TurnWithCustomer[OpenTurn]) -> TurnView:
    turn, state = of.turn, of.turn.turn_state
    return TurnView(
        conversation_id=str(state.conversation_id),
        contact=contact_view(of.customer) if of.customer else None,
        owner=state.owner,
        since=format_time(state.claimed_at or turn.waiting_since or state.due_at),
        fence=state.fence,
        due=format_time(state.due_at),
        lease=format_time(state.lease_until),
        waiting=turn.waiting,
        attempts=state.tries,
        floor=state.floor,
    )


class FailedTurnView(msgspec.Struct, kw_only=True):
    """A burst the bot failed to answer; replay it by conversation and position."""

    conversation_id: str
    position: int
    """The position of its last message."""
    contact: ContactView | None
    error: str | None
    attempts: int
    since: datetime
    """When its last attempt began."""
    ended: datetime


def failed_view(of: TurnWithCustomer[EndedTurn]) -> FailedTurnView:
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
    """The longest-running first."""
    failed: list[FailedTurnView]
    """Newest first."""


class ReplayedTurn(msgspec.Struct):
    conversation_id: str
    due: datetime | None
    floor: str


class MessageError(msgspec.Struct, kw_only=True):
    """Why a message was not delivered."""

    code: str
    """The provider's code, or one of ours."""
    title: str
    remedy: str
    """What its author can do."""


class MessageFile(msgspec.Struct, kw_only=True):
    """A file that came with a customer's message: its bytes are at `GET /api/v1/media/{id}` once it is `stored`."""

    id: int
    state: str
    """`pending`, `stored` or `failed`."""
    mime_type: str
    filename: str | None
    """The file's name as the customer sent it."""
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
    """For outbound messages; null until the provider has it, and for inbound ones."""
    error: MessageError | None
    """For a failed message."""
    outbound_id: int | None
    """For outbound messages: the id in the outbox, to read or retry it."""
    provider_message_id: str | None
    """The id that reactions and replies refer to; for outbound messages, null until the provider has it."""
    media: MessageFile | None
    """In histories and live items; not in a list's last message."""


def message_error(of: DeliveryFailure | None) -> MessageError | None:
    return None if of is None else MessageError(code=of.code, title=of.title, remedy=of.remedy)


def _file(of: FileSummary | None) -> MessageFile | None:
    if of is None or of.state is MediaState.ERASED:
        return None
    return MessageFile(id=of.id, state=of.state.value, mime_type=of.mime_type, filename=of.filename, size=of.size)


def chat_message(shown: ShownEntry) -> ChatMessage:
    entry = shown.entry
    return ChatMessage(
        message_id=entry_ids.shown(entry),
        conversation_id=str(entry.conversation_id),
        position=entry.position,
        sender_id=f"contact:{shown.contact_id}" if entry.sender == CONTACT else entry.sender,
        client_message_id=entry.client_message_id,
        content=chat_content.shown(entry),
        timestamp=to_datetime(entry.at),
        status=shown.status,
        error=message_error(shown.failure),
        outbound_id=entry.message_id,
        provider_message_id=entry.wamid or shown.provider_id,
        media=_file(shown.file) if entry.deleted_at is None else None,
    )


class ConversationView(msgspec.Struct, kw_only=True):
    conversation_id: str
    kind: Literal["customer", "direct", "group"]
    title: str | None
    members: list[str]
    """For a chat: the members' user ids; lists leave out those of a large group."""
    phone_number_id: str | None
    """The org's number that the customer writes to."""
    contact: ContactView | None
    floor: str | None
    """Who answers the customer: `bot`, `human` (any user), or a user's id."""
    assignee: str | None
    state: str
    labels: list[str]
    last_message: ChatMessage | None
    unread: int
    """Unread messages of others, counted up to 100; in a customer conversation, only the customer's."""
    read_position: int
    """How far the caller has read."""
    active_at: datetime
    """The latest activity; lists are ordered by it."""
    window_expires_at: datetime | None
    """For a customer: when the 24-hour window closes or closed; null if they never wrote, or long ago."""
    turn: Literal["waiting", "thinking"] | None
    """For a customer the bot will answer: `waiting` for the end of the burst, or `thinking`."""
    created_at: datetime


def conversation_view(shown: ShownConversation) -> ConversationView:
    return (
        _customer_view(shown, shown.listed)
        if isinstance(shown.listed, ConversationListItem)
        else _chat_view(shown, shown.listed)
    )


def _customer_view(shown: ShownConversation, row: ConversationListItem) -> ConversationView:
    of = row.conversation
    status = shown_status(row.status, row.was_read)
    last = row.last and ShownEntry(
        entry=row.last,
        contact_id=of.contact_id,
        status=status,
        failure=shown.failure,
        provider_id=row.provider_id,
    )
    return ConversationView(
        conversation_id=str(of.id),
        kind="customer",
        title=None,
        members=[],
        phone_number_id=of.number,
        contact=contact_view(customer(of, shown.contact)),
        floor=row.floor,
        assignee=of.assignee,
        state=of.state,
        labels=list(of.labels),
        last_message=chat_message(last) if last else None,
        unread=row.unread,
        read_position=row.read,
        active_at=to_datetime(of.last_id_at),
        window_expires_at=to_datetime(row.window_until) if row.window_until is not None else None,
        turn=row.turn,
        created_at=to_datetime(of.created_at),
    )


def _chat_view(shown: ShownConversation, row: ChatListItem) -> ConversationView:
    last = ShownEntry(entry=row.last, contact_id=None, status="sent") if row.last else None
    return ConversationView(
        conversation_id=str(row.chat.id),
        kind=row.chat.kind.value,
        title=row.chat.title,
        members=[member.user_id for member in shown.members],
        phone_number_id=None,
        contact=None,
        floor=None,
        assignee=None,
        state="open",
        labels=[],
        last_message=chat_message(last) if last else None,
        unread=row.unread,
        read_position=row.read,
        active_at=to_datetime(row.chat.last_id_at),
        window_expires_at=None,
        turn=None,
        created_at=to_datetime(row.chat.created_at),
    )


class Colleague(msgspec.Struct, kw_only=True):
    user_id: str
    name: str
    role: str


class Team(msgspec.Struct):
    people: list[Colleague]


class ConversationList(msgspec.Struct, kw_only=True):
    conversations: list[ConversationView]
    """Ordered by latest activity."""
    next_cursor: str | None = None
    has_more: bool = False


class MessageList(msgspec.Struct, kw_only=True):
    messages: list[ChatMessage]
    """Newest first."""
    next_cursor: str | None
    """Pass it as `cursor` to get the older messages."""
    has_more: bool


class GiveFloor(msgspec.Struct, forbid_unknown_fields=True):
    """`bot` or `me`; with an API key or as an admin also `human` (any user) or a user's id."""

    holder: Annotated[str, Meta(min_length=1, max_length=64)]
