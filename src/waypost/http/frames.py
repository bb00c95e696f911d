"""What is said over a live line: frames that clients send, and those that they get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from waypost.flow.devices import Begun
from waypost.flow.inbox import Said, shown_status
from waypost.http.conversation_views import ChatMessage, chat_message, message_error
from waypost.model.chat import FeedName, Told
from waypost.model.time import to_datetime
from waypost.ports.link import Bundle, Frame

PORTION = 256 * 1024
"""Bytes of a page that are sent before it is seen whether the device takes them."""

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class Hello(msgspec.Struct, tag="hello", tag_field="type", kw_only=True):
    device_id: str
    token: str | None = None
    epoch: str | None = None
    cursors: dict[str, Annotated[int, Meta(ge=0, le=2**62)]] = {}


class Send(msgspec.Struct, tag="send", tag_field="type", kw_only=True):
    client_message_id: Name
    conversation_id: Name
    content: Any


class Ack(msgspec.Struct, tag="ack", tag_field="type", kw_only=True):
    feed: Name
    seq: Annotated[int, Meta(ge=0, le=2**62)]


class Read(msgspec.Struct, tag="read", tag_field="type", kw_only=True):
    conversation_id: Name
    message_id: Name


class Typing(msgspec.Struct, tag="typing", tag_field="type", kw_only=True):
    conversation_id: Name


class Ping(msgspec.Struct, tag="ping", tag_field="type", kw_only=True):
    pass


FromClient: TypeAlias = Hello | Send | Ack | Read | Typing | Ping
read_frame = msgspec.json.Decoder(FromClient).decode


class _Named(msgspec.Struct):
    client_message_id: Name | None = None


def name_in(text: bytes) -> str | None:
    """The sender's id for a message, of a frame that is wrong otherwise: so that they know which one is refused."""
    try:
        return msgspec.json.decode(text, type=_Named).client_message_id
    except (msgspec.DecodeError, RecursionError):
        return None


class Welcome(msgspec.Struct, tag="welcome", tag_field="type", kw_only=True):
    epoch: str
    heads: Mapping[FeedName, int]
    resumed: bool
    heartbeat_ms: int


class Live(msgspec.Struct, tag="live", tag_field="type", kw_only=True):
    heads: Mapping[FeedName, int]


class Acked(msgspec.Struct, tag="ack", tag_field="type", kw_only=True):
    client_message_id: str
    message_id: str
    conversation_id: str
    position: int
    timestamp: datetime
    duplicate: bool


class Pong(msgspec.Struct, tag="pong", tag_field="type", kw_only=True):
    heads: Mapping[FeedName, int]


class SomebodyTypes(msgspec.Struct, tag="typing", tag_field="type", kw_only=True):
    conversation_id: str
    user_id: str


class SomebodyIs(msgspec.Struct, tag="presence", tag_field="type", kw_only=True):
    user_id: str
    state: Literal["offline", "syncing", "online"]


class ResyncRequired(msgspec.Struct, tag="resync_required", tag_field="type", kw_only=True):
    epoch: str
    heads: Mapping[FeedName, int]
    reason: str


class Error(msgspec.Struct, tag="error", tag_field="type", kw_only=True, omit_defaults=True):
    code: str
    retryable: bool = msgspec.field()
    detail: str
    client_message_id: str | None = None
    field: str | None = None


ToClient: TypeAlias = Welcome | Live | Acked | Pong | SomebodyTypes | SomebodyIs | ResyncRequired | Error


def one(frame: ToClient) -> Bundle:
    return Bundle((Frame(msgspec.json.encode(frame)),))


def welcomes(begun: Begun, heartbeat_ms: int) -> Iterator[ToClient]:
    """What a hello is answered with; also that everything must be read anew, if it must."""
    epoch, heads = begun.device.epoch, begun.heads
    yield Welcome(epoch=epoch, heads=heads, resumed=begun.resumed, heartbeat_ms=heartbeat_ms)
    if begun.lost is not None:
        yield ResyncRequired(epoch=epoch, heads=heads, reason=begun.lost)


def item(told: Told) -> dict[str, Any]:
    """An item as the socket and the long poll show it."""
    about = told.item
    shown: dict[str, Any] = {
        "feed": about.feed,
        "seq": about.seq,
        "prev": about.seq - 1,
        "kind": about.kind,
        "conversation_id": str(about.conversation_id),
        "at": to_datetime(about.at),
    }
    if about.kind == "message":
        shown["message"] = None if told.entry is None else message(told)
    else:
        shown |= msgspec.json.decode(about.body)
    if about.kind == "status":
        shown["error"] = message_error(told.failure)
    return shown


def message(told: Told) -> ChatMessage | None:
    if told.entry is None:
        return None
    if told.contact_id is None:
        return chat_message(Said(entry=told.entry, contact_id=None, status="sent"))
    status = shown_status(told.status, told.was_read)
    return chat_message(
        Said(
            entry=told.entry,
            contact_id=told.contact_id,
            status=status,
            failure=told.failure,
            provider_id=told.provider_id,
            file=told.file,
        )
    )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An item after which somebody follows more, or less."""

    seq: int
    joins: FeedName | None = None
    since: int = 0
    leaves: frozenset[str] = frozenset()
    """Who is no longer in the conversation."""
    conversation_id: int = 0


def ends(feed: FeedName, change: Change | None, user: str | None) -> bool:
    """With this change of its members, a group's feed is no longer this person's."""
    return change is not None and user in change.leaves and feed == f"group:{change.conversation_id}"


class Numbered(msgspec.Struct, frozen=True):
    """A frame with its place in its feed."""

    seq: int
    frame: Frame
    change: Change | None = None


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Items of one feed that follow each other, ready to be sent to any number of sockets."""

    first: int
    items: tuple[Numbered, ...]
    bundle: Bundle
    changes: tuple[Change, ...]


def numbered(told: Told) -> Numbered:
    frame = Frame(msgspec.json.encode({"type": "item", **item(told)}))
    return Numbered(told.item.seq, frame, _change(told))


def _change(told: Told) -> Change | None:
    if told.item.kind not in ("joined", "members"):
        return None
    body = msgspec.json.decode(told.item.body)
    joins = body.get("joins") or {}
    return Change(
        seq=told.item.seq,
        joins=joins.get("feed"),
        since=joins.get("from", 0),
        leaves=frozenset(body.get("removed", ())),
        conversation_id=told.item.conversation_id,
    )


def until_left(user: str, found: Sequence[Told]) -> list[Told]:
    """Without what came in a group after this person had left it."""
    left: set[str] = set()
    kept = []
    for told in found:
        if told.item.feed not in left:
            kept.append(told)
            if ends(FeedName(told.item.feed), _change(told), user):
                left.add(told.item.feed)
    return kept


def news(found: Sequence[Told]) -> News:
    """Made once for everybody who follows the feed."""
    items = tuple(numbered(told) for told in found)
    return News(
        first=items[0].seq,
        items=items,
        bundle=Bundle(each.frame for each in items),
        changes=tuple(each.change for each in items if each.change is not None),
    )


def portions(page: Sequence[Numbered]) -> Iterator[list[Numbered]]:
    """As much as may be sent at once; a large item goes alone."""
    portion: list[Numbered] = []
    size = 0
    for each in page:
        if portion and size + len(each.frame.text) > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(each)
        size += len(each.frame.text)
    if portion:
        yield portion
