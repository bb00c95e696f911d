"""Who writes with us, what was said, and whose turn it is."""

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
"""The place of a message in its conversation: 1, 2, 3, … without a gap."""

BOT = "bot"
CONTACT = "contact"
ANYBODY = "human"
"""The floor of a conversation that waits for any person."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """What an org may set of its turns."""

    quiet: Span = seconds(3)
    """A burst is over when nothing came for so long,"""
    max_wait: Span = seconds(65)
    """or when its first message has waited for so long."""
    lease: Span = seconds(6)
    """A worker that says nothing for so long has lost its turns."""
    limit: Span = seconds(120)
    """A bot that takes longer is cut off."""
    supersede: bool = False
    """A new message starts the thinking anew, as long as nothing was answered."""
    retries: tuple[Span, ...] = (seconds(1), seconds(5), seconds(30))
    """Waits before a failed turn is tried again; after the last it goes to a person."""
    after_failure: Literal["human", "bot"] = "human"
    """Who has the floor after a turn that kept failing."""
    on_hand_back: Literal["answer", "skip"] = "answer"
    """Whether the bot answers what came while a person had the floor."""


class MediaNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that came with a message, to be fetched before the provider forgets it."""

    provider_id: str
    mime_type: str
    sha256: str | None
    """As the webhook has it: base64."""
    filename: str | None


class ConsentSaid(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A customer's word on whether we may write, and our answer to it."""

    status: ConsentStatus
    word: str
    confirmation: Draft | None


class Arrival(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message that a customer sent, as a webhook tells it; its signature was checked."""

    org_id: OrgId
    number: NumberId
    wamid: Wamid
    addresses: tuple[str, ...]
    """Everything this person is known by here: `phone:+49…`, `user:DE.123…`; at least one."""
    reply_to: str
    """Where an answer goes: the phone number as it came, else the business-scoped user id."""
    name: str | None
    username: str | None
    at: Instant
    """When they wrote it, by the message's own time."""
    type: str
    body: str
    """The message whole, as it came: JSON text."""
    asks: bool
    """Whether it wants an answer: a reaction or a notice does not."""
    opens_window: bool
    """Whether the customer wrote it: a notice of the provider's opens nothing."""
    times: Times
    media: MediaNote | None = None
    consent: ConsentSaid | None = None
    """The customer said no, or yes again."""


class Lane(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whose turn it is in a conversation; rules/lane.py alone says how it may change."""

    conversation_id: ConversationId
    org_id: OrgId
    tail: Position = Position(0)
    """The latest message that asks for an answer."""
    done: Position = Position(0)
    """Everything up to here was answered, or needs no answer."""
    hi: Position | None = None
    """The turn under way is exactly (done, hi], whoever runs it."""
    fence: Fence = Fence(0)
    """Grows whenever somebody else may run the turn; who holds an old one has lost it."""
    first_at: Instant | None = None
    """When the first message arrived that no turn has taken yet."""
    due_at: Instant | None = None
    owner: WorkerId | None = None
    claimed_at: Instant | None = None
    lease_until: Instant | None = None
    tries: int = 0
    """Tries of the turn under way that failed."""
    floor: str = BOT
    """`bot`, `human`, or the id of the person who took over."""


class Spot(NamedTuple):
    """Where the Log keeps an entry: where it was when it was stored, also when it was moved since."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a conversation, as the log keeps it."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant
    """What its id is made of: the time it was stored, and later than every earlier one of its conversation."""
    at: Instant
    sender: str
    """`contact`, `bot`, or a person's id."""
    type: str
    body: str
    wamid: Wamid | None = None
    message_id: MessageId | None = None
    """In the outbox, if we sent it."""
    client_message_id: str | None = None
    """The sender's own id for it."""
    deleted_at: Instant | None = None
    """Somebody took it back: nothing of it is left but its place."""
    kept_in: ConversationId | None = None
    """Where the Log has it, if it was moved since it was stored: that conversation,"""
    kept_at: Instant | None = None
    """and the time its id was made of then."""
    status: str | None = None
    """How far it came, as the Log heard it; what the Ledger knows is later."""

    @property
    def is_away(self) -> bool:
        """Only the Log has its body."""
        return not self.body

    @property
    def spot(self) -> Spot:
        return Spot(self.kept_in or self.conversation_id, self.position, self.kept_at or self.id_at)


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
    """Who of the team works on it."""
    state: str = "open"
    """open, or closed until the customer writes again"""
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


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A turn in a worker's hands: exactly the messages (lo, hi] of a conversation."""

    lane: Lane
    """As the claim left it."""
    conversation: Conversation
    contact: Contact | None
    """Who writes; None when two contacts are being joined at this very moment."""
    burst: tuple[Entry, ...]
    """What asks for an answer, and what was said around it, in order."""
    taken_over: bool
    """Another worker had it and fell silent."""
    due_at: Instant | None = None
    """Since when it could have been claimed."""

    @property
    def turn_id(self) -> str:
        return f"{self.lane.conversation_id}-{self.lane.done}-{self.lane.hi}"


class EndedTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a turn ended."""

    conversation_id: ConversationId
    lo: Position
    hi: Position
    org_id: OrgId
    state: str
    """answered, silent, handed_over, failed"""
    replies: int
    tries: int
    fence: Fence
    started_at: Instant
    ended_at: Instant
    error: str | None = None


class FeedItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change that a screen shows."""

    feed: str
    seq: int
    at: Instant
    kind: str
    conversation_id: ConversationId
    position: Position | None
    body: str
