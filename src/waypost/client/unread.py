"""Counts unread messages exactly, with one request per conversation (B26)."""

from __future__ import annotations

from dataclasses import dataclass

from waypost.client.stream import Stream
from waypost.client.types import Applied, Conversation, Item, Reset


@dataclass
class _Count:
    unread: int
    up_to: int
    """The position up to which messages are counted."""


class Unread:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._counts: dict[str, _Count] = {}

    def count(self, conversation_id: str) -> int | None:
        """None if the server must be asked."""
        known = self._counts.get(conversation_id)
        return None if known is None else known.unread

    def set_count(self, conversation: Conversation) -> int:
        last = (conversation.last_message or {}).get("position")
        self._counts[conversation.conversation_id] = _Count(conversation.unread, last if type(last) is int else 0)
        return conversation.unread

    def applied(self, applied: Applied) -> None:
        if isinstance(applied, Reset):
            self._counts.clear()
        elif applied.kind in {"read", "deleted", "members"}:
            self._counts.pop(applied.conversation_id or "", None)  # the server counts again
        elif applied.kind == "message":
            self._add(applied)

    def _add(self, item: Item) -> None:
        known, message = self._counts.get(item.conversation_id or ""), item.message
        if known is None or message is None or message.position <= known.up_to:
            return
        known.up_to = message.position
        if message.sender_id != self._stream.me:
            known.unread += 1
