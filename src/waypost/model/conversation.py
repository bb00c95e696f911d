"""Who writes with us, what was said, and whose turn it is."""

from __future__ import annotations

from typing import NewType

import msgspec

from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid, WorkerId
from waypost.model.time import Instant

ConversationId = NewType("ConversationId", int)
ContactId = NewType("ContactId", int)
Position = NewType("Position", int)
"""The place of a message in its conversation: 1, 2, 3, … without a gap."""

BOT = "bot"
CONTACT = "contact"
ANYBODY = "human"
"""The floor of a conversation that waits for any person."""


class MediaNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that came with a message, to be fetched before the provider forgets it."""

    provider_id: str
    mime_type: str
    sha256: str | None
    """As the webhook has it: base64."""
    filename: str | None


class Heard(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    media: MediaNote | None = None


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
