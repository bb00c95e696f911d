"""Which messages may move to the failover number."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.ids import MessageId
from waypost.model.message import Channel
from waypost.model.time import Instant, Span, seconds
from waypost.rules.limits import window

LONG: Span = seconds(10)
"""A gate that opens within this time does not cause failover: a short rate limit is not an outage."""

_MEDIA = ("image", "audio", "video", "document", "sticker")


class FailoverCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A due message behind its number's gate."""

    id: MessageId
    channel: Channel
    ordered: bool
    template: str | None
    payload: str
    doubtful: bool
    """The provider may have one of its attempts: one that did not certainly fail."""
    moved: bool
    """It was already moved from another number."""
    window_until: Instant | None
    """The window of the other number and this customer."""
    blocked_until: Instant | None
    """The end of a throttle between the two."""


def may_move(message: FailoverCandidate, now: Instant, *, enforce_window: bool) -> bool:
    """Only messages that cannot be delivered twice and would not fail there; the route checks templates."""
    if message.channel is not Channel.WHATSAPP or message.ordered or message.doubtful or message.moved:
        return False
    if message.blocked_until is not None and now < message.blocked_until:
        return False
    if enforce_window and message.template is None and not window.is_open(message.window_until, now):
        return False
    return not _belongs_to_its_number(message.payload)


def _belongs_to_its_number(payload: str) -> bool:
    """A reply quotes a message of its number, and an upload belongs to its number."""
    content: Any = msgspec.json.decode(payload)
    if not isinstance(content, dict):
        return False
    kind = content.get("type")
    media = content.get(kind) if isinstance(kind, str) and kind in _MEDIA else None
    return bool(content.get("context") or kind == "reaction" or (isinstance(media, dict) and media.get("id")))
