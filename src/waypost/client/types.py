"""The client's public types: states, items, events and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Json = dict[str, Any]
Epoch = str | int


class State(StrEnum):
    """Drawn in docs/reference/client-behaviour.md."""

    CONNECTING = "connecting"
    CATCHING_UP = "catching_up"
    LIVE = "live"
    POLLING = "polling"
    WAITING = "waiting"
    STOPPED = "stopped"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    message_id: str
    conversation_id: str
    position: int
    sender_id: str | None = None
    client_message_id: str | None = None
    content: Json | None = None
    timestamp: str | None = None
    status: str | None = None


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    conversation_id: str
    kind: str
    title: str | None = None
    members: list[Any] = []
    contact: Any = None
    floor: str | None = None
    assignee: str | None = None
    state: str | None = None
    labels: list[str] = []
    last_message: Json | None = None
    unread: int = 0


class Item(msgspec.Struct, frozen=True):
    """One item of a feed; `body` is the whole item as received."""

    feed: str
    seq: int
    prev: int
    kind: str
    conversation_id: str | None
    body: Json

    @property
    def message(self) -> Message | None:
        """The message in an item of kind `message`."""
        try:
            return msgspec.convert(self.body.get("message"), Message, strict=False)
        except msgspec.ValidationError:
            return None


class Reset(msgspec.Struct, frozen=True):
    """Discard everything and read conversations and histories again: the next items follow these heads."""

    reason: str
    epoch: Epoch | None
    heads: Mapping[str, int]


class SendStored(msgspec.Struct, frozen=True):
    client_message_id: str
    message_id: str
    position: int | None


class SendRejected(msgspec.Struct, frozen=True):
    """A send that the server refused, and why."""

    client_message_id: str
    code: str
    detail: str = ""
    """The server's explanation."""


class StateChanged(msgspec.Struct, frozen=True):
    state: State
    code: int = 0


class SendQueued(msgspec.Struct, frozen=True):
    """A send was stored and now survives a crash."""

    client_message_id: str


class SendAttempted(msgspec.Struct, frozen=True):
    client_message_id: str
    path: str
    """`socket` or `rest`."""


class Fetching(msgspec.Struct, frozen=True):
    feeds: tuple[str, ...]


class EphemeralEvent(msgspec.Struct, frozen=True):
    """A `typing` or `presence` frame, which is never stored."""

    frame: Json


Applied = Item | Reset
ClientEvent = StateChanged | SendQueued | SendAttempted | SendStored | SendRejected | Fetching | EphemeralEvent
EventHandler = Callable[[ClientEvent], None]


class ClientError(Exception):
    """The base of the client's errors: SendRefused (QueueFull), Stopped, StoreInUse, RequestRefused."""


class SendRefused(ClientError):
    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(_error_text("the message was refused", code, detail))
        self.code = code
        self.detail = detail


class QueueFull(SendRefused):
    def __init__(self) -> None:
        super().__init__("queue_full")


class Stopped(ClientError):
    def __init__(self, code: int) -> None:
        super().__init__(f"the server ended the session: {code}" if code else "the client was stopped")
        self.code = code


class StoreInUse(ClientError):
    """Another client has the store's file open."""


class RequestRefused(ClientError):
    """A read (history, conversations) that the server refused."""

    def __init__(self, status: int, code: str, detail: str = "") -> None:
        super().__init__(_error_text(f"the server answered {status}", code, detail))
        self.status = status
        self.code = code
        self.detail = detail


def _error_text(what: str, code: str, detail: str) -> str:
    return f"{what}: {code} ({detail})" if detail else f"{what}: {code}"


def item_of(frame: Mapping[str, Any]) -> Item | None:
    """The item in a frame; None if the frame is not a valid item."""
    feed, seq, prev = frame.get("feed"), frame.get("seq"), frame.get("prev")
    if not isinstance(feed, str) or type(seq) is not int or type(prev) is not int:
        return None
    kind, conversation = frame.get("kind"), frame.get("conversation_id")
    return Item(
        feed,
        seq,
        prev,
        kind if isinstance(kind, str) else "",
        conversation if isinstance(conversation, str) else None,
        {name: value for name, value in frame.items() if name != "type"},
    )


def heads_of(value: object) -> dict[str, int]:
    """The valid heads in a value."""
    if not isinstance(value, dict):
        return {}
    return {feed: seq for feed, seq in value.items() if isinstance(feed, str) and type(seq) is int}
