"""The frames of a live connection: those a client sends, and those it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from waypost.flow.conversations.inbox import ShownEntry, shown_status
from waypost.flow.live.devices import DeviceSession
from waypost.http.conversations.conversation_views import ChatMessage, chat_message, message_error
from waypost.model.chat import FeedName, LoadedItem
from waypost.model.time import to_datetime
from waypost.ports.live.live_connection import Bundle, Frame

PORTION = 256 * 1024
"""Bytes of a page that are sent before the connection's backlog is checked."""

FrameText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class HelloFrame(msgspec.Struct, tag="hello", tag_field="type", kw_only=True):
    device_id: str
    token: str | None = None
    epoch: str | None = None
    cursors: dict[str, Annotated[int, Meta(ge=0, le=2**62)]] = {}


class SendFrame(msgspec.Struct, tag="send", tag_field="type", kw_only=True):
    client_message_id: FrameText
    conversation_id: FrameText
    content: Any


class AckFrame(msgspec.Struct, tag="ack", tag_field="type", kw_only=True):
    feed: FrameText
    seq: Annotated[int, Meta(ge=0, le=2**62)]


class ReadFrame(msgspec.Struct, tag="read", tag_field="type", kw_only=True):
    conversation_id: FrameText
    message_id: FrameText


class TypingFrame(msgspec.Struct, tag="typing", tag_field="type", kw_only=True):
    conversation_id: FrameText


class PingFrame(msgspec.Struct, tag="ping", tag_field="type", kw_only=True):
    pass


FromClient: TypeAlias = HelloFrame | SendFrame | AckFrame | ReadFrame | TypingFrame | PingFrame
read_frame = msgspec.json.Decoder(FromClient).decode


class _Named(msgspec.Struct):
    client_message_id: FrameText | None = None


def name_in(text: bytes) -> str | None:
    """The `client_message_id` of an invalid frame, so that its sender knows which message was refused."""
    try:
        return msgspec.json.decode(text, type=_Named).client_message_id
    except (msgspec.DecodeError, RecursionError):
        return None


class WelcomeFrame(msgspec.Struct, tag="welcome", tag_field="type", kw_only=True):
    epoch: str
    heads: Mapping[FeedName, int]
    resumed: bool
    heartbeat_ms: int


class LiveFrame(msgspec.Struct, tag="live", tag_field="type", kw_only=True):
    heads: Mapping[FeedName, int]


class SendAckFrame(msgspec.Struct, tag="ack", tag_field="type", kw_only=True):
    client_message_id: str
    message_id: str
    conversation_id: str
    position: int
    timestamp: datetime
    duplicate: bool


class PongFrame(msgspec.Struct, tag="pong", tag_field="type", kw_only=True):
    heads: Mapping[FeedName, int]


class UserTypingFrame(msgspec.Struct, tag="typing", tag_field="type", kw_only=True):
    conversation_id: str
    user_id: str


class PresenceFrame(msgspec.Struct, tag="presence", tag_field="type", kw_only=True):
    user_id: str
    state: Literal["offline", "syncing", "online"]


class ResyncFrame(msgspec.Struct, tag="resync_required", tag_field="type", kw_only=True):
    epoch: str
    heads: Mapping[FeedName, int]
    reason: str


class ErrorFrame(msgspec.Struct, tag="error", tag_field="type", kw_only=True, omit_defaults=True):
    code: str
    retryable: bool = msgspec.field()
    detail: str
    client_message_id: str | None = None
    field: str | None = None


ToClient: TypeAlias = (
    WelcomeFrame | LiveFrame | SendAckFrame | PongFrame | UserTypingFrame | PresenceFrame | ResyncFrame | ErrorFrame
)


def one(frame: ToClient) -> Bundle:
    return Bundle((Frame(msgspec.json.encode(frame)),))


def welcome_frames(begun: DeviceSession, heartbeat_ms: int) -> Iterator[ToClient]:
    """The answer to a hello, with `resync_required` when the device cannot resume."""
    epoch, heads = begun.device.epoch, begun.heads
    yield WelcomeFrame(epoch=epoch, heads=heads, resumed=begun.resumed, heartbeat_ms=heartbeat_ms)
    if begun.lost is not None:
        yield ResyncFrame(epoch=epoch, heads=heads, reason=begun.lost)


def item(loaded: LoadedItem) -> dict[str, Any]:
    """An item as the socket and the long poll show it."""
    about = loaded.item
    shown: dict[str, Any] = {
        "feed": about.feed,
        "seq": about.seq,
        "prev": about.seq - 1,
        "kind": about.kind,
        "conversation_id": str(about.conversation_id),
        "at": to_datetime(about.at),
    }
    if about.kind == "message":
        shown["message"] = None if loaded.entry is None else message(loaded)
    else:
        shown |= msgspec.json.decode(about.body)
    if about.kind == "status":
        shown["error"] = message_error(loaded.failure)
    return shown


def message(loaded: LoadedItem) -> ChatMessage | None:
    if loaded.entry is None:
        return None
    if loaded.contact_id is None:
        return chat_message(ShownEntry(entry=loaded.entry, contact_id=None, status="sent"))
    status = shown_status(loaded.status, loaded.was_read)
    return chat_message(
        ShownEntry(
            entry=loaded.entry,
            contact_id=loaded.contact_id,
            status=status,
            failure=loaded.failure,
            provider_id=loaded.provider_id,
            file=loaded.file,
        )
    )


class FollowChange(msgspec.Struct, frozen=True, kw_only=True):
    """An item after which a user follows more feeds, or fewer."""

    seq: int
    joins: FeedName | None = None
    since: int = 0
    leaves: frozenset[str] = frozenset()
    """The users who are no longer in the conversation."""
    conversation_id: int = 0


def ends(feed: FeedName, change: FollowChange | None, user: str | None) -> bool:
    """Whether this change ends the group's feed for the user."""
    return change is not None and user in change.leaves and feed == f"group:{change.conversation_id}"


def changes_feeds(change: FollowChange | None, user: str | None) -> bool:
    """Whether the change adds a feed or takes one from the user."""
    return change is not None and (change.joins is not None or user in change.leaves)


class NumberedFrame(msgspec.Struct, frozen=True):
    """A frame with its place in its feed."""

    seq: int
    frame: Frame
    change: FollowChange | None = None


class FrameBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive items of one feed, encoded once for every socket."""

    first: int
    items: tuple[NumberedFrame, ...]
    bundle: Bundle
    changes: tuple[FollowChange, ...]


def numbered(loaded: LoadedItem) -> NumberedFrame:
    frame = Frame(msgspec.json.encode({"type": "item", **item(loaded)}))
    return NumberedFrame(loaded.item.seq, frame, _change(loaded))


def _change(loaded: LoadedItem) -> FollowChange | None:
    if loaded.item.kind not in ("joined", "members"):
        return None
    body = msgspec.json.decode(loaded.item.body)
    joins = body.get("joins") or {}
    return FollowChange(
        seq=loaded.item.seq,
        joins=joins.get("feed"),
        since=joins.get("from", 0),
        leaves=frozenset(body.get("removed", ())),
        conversation_id=loaded.item.conversation_id,
    )


def items_before_leaving(user: str, found: Sequence[LoadedItem]) -> list[LoadedItem]:
    """Without a group's items after the user left it."""
    left: set[str] = set()
    kept = []
    for loaded in found:
        if loaded.item.feed not in left:
            kept.append(loaded)
            if ends(FeedName(loaded.item.feed), _change(loaded), user):
                left.add(loaded.item.feed)
    return kept


def pages_by_feed(found: Sequence[LoadedItem]) -> dict[FeedName, list[NumberedFrame]]:
    pages: dict[FeedName, list[NumberedFrame]] = {}
    for each in found:
        pages.setdefault(FeedName(each.item.feed), []).append(numbered(each))
    return pages


def news(found: Sequence[LoadedItem]) -> FrameBatch:
    """Encoded once for all followers of the feed."""
    items = tuple(numbered(loaded) for loaded in found)
    return FrameBatch(
        first=items[0].seq,
        items=items,
        bundle=Bundle(each.frame for each in items),
        changes=tuple(each.change for each in items if each.change is not None),
    )


def portions(page: Sequence[NumberedFrame]) -> Iterator[list[NumberedFrame]]:
    """Split a page into what may be sent at once; a large item goes alone."""
    portion: list[NumberedFrame] = []
    size = 0
    for each in page:
        if portion and size + len(each.frame.text) > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(each)
        size += len(each.frame.text)
    if portion:
        yield portion
