"""What an application sees of a client: states, items, answers, and what ends a send or the client."""

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
    """One entry of a feed; `body` is all of it, as it came."""

    feed: str
    seq: int
    prev: int
    kind: str
    conversation_id: str | None
    body: Json

    @property
    def message(self) -> Message | None:
        """Of an item of kind `message`."""
        try:
            return msgspec.convert(self.body.get("message"), Message, strict=False)
        except msgspec.ValidationError:
            return None


class Reset(msgspec.Struct, frozen=True):
    """Drop the screen and read conversations and histories: what follows starts at these heads."""

    reason: str
    epoch: Epoch | None
    heads: Mapping[str, int]


class Sent(msgspec.Struct, frozen=True):
    client_message_id: str
    message_id: str
    position: int | None


class Refusal(msgspec.Struct, frozen=True):
    """A send that will never be stored, and why."""

    client_message_id: str
    code: str
    detail: str = ""
    """In the server's words."""


class StateIs(msgspec.Struct, frozen=True):
    state: State
    code: int = 0


class Queued(msgspec.Struct, frozen=True):
    """A send is kept: from here on it survives a crash."""

    client_message_id: str


class Tried(msgspec.Struct, frozen=True):
    client_message_id: str
    path: str
    """`socket` or `rest`."""


class Fetching(msgspec.Struct, frozen=True):
    feeds: tuple[str, ...]


class Heard(msgspec.Struct, frozen=True):
    """A `typing` or `presence` frame: shown while it is true, never stored."""

    frame: Json


Applied = Item | Reset
Happening = StateIs | Queued | Tried | Sent | Refusal | Fetching | Heard
Watch = Callable[[Happening], None]


class ClientError(Exception):
    """What a client raises: SendRefused (QueueFull), Stopped, StoreInUse, AskRefused."""


class SendRefused(ClientError):
    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(_said("the message was refused", code, detail))
        self.code = code
        self.detail = detail


class QueueFull(SendRefused):
    def __init__(self) -> None:
        super().__init__("queue_full")


class Stopped(ClientError):
    def __init__(self, code: int) -> None:
        super().__init__(f"the client was told not to come back: {code}" if code else "the client was stopped")
        self.code = code


class StoreInUse(ClientError):
    """Another client has this file open."""


class AskRefused(ClientError):
    """A question (history, conversations) that the server does not answer to this user."""

    def __init__(self, status: int, code: str, detail: str = "") -> None:
        super().__init__(_said(f"the server answered {status}", code, detail))
        self.status = status
        self.code = code
        self.detail = detail


def _said(what: str, code: str, detail: str) -> str:
    return f"{what}: {code} ({detail})" if detail else f"{what}: {code}"


def item_of(frame: Mapping[str, Any]) -> Item | None:
    """None: not an item that a feed can hold."""
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
    """What of it can be heads."""
    if not isinstance(value, dict):
        return {}
    return {feed: seq for feed, seq in value.items() if isinstance(feed, str) and type(seq) is int}
