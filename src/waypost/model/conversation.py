"""Contacts, conversations, their entries and turn state."""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid, WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant, Span, seconds

ConversationId = NewType("ConversationId", int)
ContactId = NewType("ContactId", int)
Position = NewType("Position", int)
"""The position of a message in its conversation: 1, 2, 3, … without a gap."""

BOT = "bot"
CONTACT = "contact"
ANYBODY = "human"
"""The floor of a conversation that waits for any agent."""


class TurnTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The turn settings of an org."""

    quiet: Span = seconds(3)
    """A burst ends when no message has come for this long,"""
    max_wait: Span = seconds(65)
    """or when its first message has waited this long."""
    lease: Span = seconds(6)
    """A worker that does not renew its turns for this long loses them."""
    limit: Span = seconds(120)
    """A bot that takes longer is cancelled."""
    supersede: bool = False
    """A new message restarts the turn, unless the bot has already answered."""
    retries: tuple[Span, ...] = (seconds(1), seconds(5), seconds(30))
    """Delays before a failed turn is retried; after the last retry it is given up."""
    after_failure: Literal["human", "bot"] = "human"
    """Who has the floor after a turn is given up."""
    on_hand_back: Literal["answer", "skip"] = "answer"
    """Whether the bot answers messages that came while an agent had the floor."""


class MediaReference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file attached to a message, to be fetched before the provider deletes it."""

    provider_id: str
    mime_type: str
    sha256: str | None
    """As in the webhook: base64."""
    filename: str | None


class ConsentReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A customer's STOP or START, and our confirmation."""

    status: ConsentStatus
    word: str
    confirmation: Draft | None


class InboundMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message from a customer, from a webhook with a valid signature."""

    org_id: OrgId
    number: NumberId
    wamid: Wamid
    addresses: tuple[str, ...]
    """All addresses of the customer in this message: `phone:+49…`, `user:DE.123…`; at least one."""
    reply_to: str
    """Where an answer goes: the phone number as received, else the business-scoped user id."""
    name: str | None
    username: str | None
    at: Instant
    """The message's own timestamp."""
    type: str
    body: str
    """The whole message as received: JSON text."""
    asks: bool
    """Whether it needs an answer: a reaction or a system message does not."""
    opens_window: bool
    """Whether the customer wrote it: a system message of the provider does not open the window."""
    times: TurnTiming
    media: MediaReference | None = None
    consent: ConsentReply | None = None
    """Set if the message is STOP or START."""


class TurnState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The turn state of a conversation; only rules/conversations/turn_state.py changes it."""

    conversation_id: ConversationId
    org_id: OrgId
    tail: Position = Position(0)
    """The latest message that needs an answer."""
    done: Position = Position(0)
    """Everything up to here was answered, or needs no answer."""
    hi: Position | None = None
    """The current turn covers exactly (done, hi], whichever worker runs it."""
    fence: Fence = Fence(0)
    """Incremented whenever another worker may run the turn; a worker with an older fence has lost it."""
    first_at: Instant | None = None
    """When the first message that is not part of a turn yet was received."""
    due_at: Instant | None = None
    owner: WorkerId | None = None
    claimed_at: Instant | None = None
    lease_until: Instant | None = None
    tries: int = 0
    """Failed attempts of the current turn."""
    floor: str = BOT
    """`bot`, `human`, or the id of the user who took over."""


class ArchiveKey(NamedTuple):
    """The key of an entry in history: its place when it was stored, even if it has moved since."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a conversation, as stored."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant
    """The time part of its public id: when it was stored, and later than every earlier entry of its conversation."""
    at: Instant
    sender: str
    """`contact`, `bot`, or a user's id."""
    type: str
    body: str
    wamid: Wamid | None = None
    message_id: MessageId | None = None
    """Its message in the outbox, if we sent it."""
    client_message_id: str | None = None
    """The sender's own id for it."""
    deleted_at: Instant | None = None
    """When it was deleted; only its position is left."""
    kept_in: ConversationId | None = None
    """If it has moved since it was stored: the conversation of its archive key,"""
    kept_at: Instant | None = None
    """and the `id_at` of its archive key."""
    status: str | None = None
    """Its delivery status as archived; the Ledger's is newer."""

    @property
    def is_archived(self) -> bool:
        """Whether its body is only in history."""
        return not self.body

    @property
    def archive_key(self) -> ArchiveKey:
        return ArchiveKey(self.kept_in or self.conversation_id, self.position, self.kept_at or self.id_at)


class Conversation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: ConversationId
    org_id: OrgId
    number: NumberId
    contact_id: ContactId
    address: str
    """Where an answer goes."""
    position: Position
    last_id_at: Instant
    created_at: Instant
    assignee: str | None = None
    """The user who works on it."""
    state: str = "open"
    """`open`, or `closed` until the customer writes again."""
    labels: tuple[str, ...] = ()


class Contact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: ContactId
    org_id: OrgId
    name: str | None
    username: str | None
    dossier_id: int | None
    addresses: tuple[str, ...]
    """`phone:+49…`, `user:DE.123…`"""

    def known_as(self, kind: str) -> str | None:
        found = (a.removeprefix(f"{kind}:") for a in self.addresses if a.startswith(f"{kind}:"))
        return next(found, None)


class TurnClaim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A turn claimed by a worker: exactly the messages (lo, hi] of a conversation."""

    turn_state: TurnState
    """As the claim left it."""
    conversation: Conversation
    contact: Contact | None
    """The customer; None while two contacts are being merged."""
    burst: tuple[Entry, ...]
    """The messages that need an answer and those between them, in order."""
    taken_over: bool
    """Another worker held it and its lease ended."""
    due_at: Instant | None = None
    """When it became claimable."""

    @property
    def turn_id(self) -> str:
        return f"{self.turn_state.conversation_id}-{self.turn_state.done}-{self.turn_state.hi}"


class EndedTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a turn ended."""

    conversation_id: ConversationId
    lo: Position
    hi: Position
    org_id: OrgId
    state: str
    """`answered`, `silent`, `handed_over` or `failed`."""
    replies: int
    tries: int
    fence: Fence
    started_at: Instant
    ended_at: Instant
    error: str | None = None


class FeedItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change that devices show."""

    feed: str
    seq: int
    at: Instant
    kind: str
    conversation_id: ConversationId
    position: Position | None
    body: str
