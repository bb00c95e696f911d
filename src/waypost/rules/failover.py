"""Which messages may go from another number while their own cannot send."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.ids import MessageId
from waypost.model.message import Channel
from waypost.model.time import Instant, Span, seconds
from waypost.rules import window

LONG: Span = seconds(10)
"""A gate that opens within this is waited for: a moment's rate limit is no outage."""

_MEDIA = ("image", "audio", "video", "document", "sticker")


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is due and stands behind its number's gate."""

    id: MessageId
    channel: Channel
    ordered: bool
    template: str | None
    payload: str
    doubtful: bool
    """The provider has one of its tries, or may have: every try that is not provably a failure."""
    moved: bool
    """It came from another number already."""
    window_until: Instant | None
    """Of the other number and this customer."""
    blocked_until: Instant | None
    """The same for a throttle between the two."""


def may_move(message: Waiting, now: Instant, *, enforce_window: bool) -> bool:
    """Only what can neither arrive twice nor fare worse over there; templates are the route's business."""
    if message.channel is not Channel.WHATSAPP or message.ordered or message.doubtful or message.moved:
        return False
    if message.blocked_until is not None and now < message.blocked_until:
        return False
    if enforce_window and message.template is None and not window.is_open(message.window_until, now):
        return False
    return not _belongs_to_its_number(message.payload)


def _belongs_to_its_number(payload: str) -> bool:
    """A reply quotes a message of that number's chat, and uploaded media is known to that number."""
    content: Any = msgspec.json.decode(payload)
    if not isinstance(content, dict):
        return False
    kind = content.get("type")
    media = content.get(kind) if isinstance(kind, str) and kind in _MEDIA else None
    return bool(content.get("context") or kind == "reaction" or (isinstance(media, dict) and media.get("id")))
