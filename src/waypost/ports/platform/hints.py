"""Hints: wake-ups between workers; a lost hint costs only time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from waypost.model.time import Span

OUTBOX = "outbox"
ACCOUNTS = "accounts"
TOKENS = "tokens"
"""A user's token was revoked: `tokens:…`, with the user's id."""
TURNS = "lanes"
MEDIA = "media"
"""A customer's file needs to be fetched."""
GONE = "gone"
FEED = "feed"
"""Something was added to a feed: `feed:user:…`."""
TYPING = "typing"
PRESENCE = "presence"
DEVICE = "device"
"""A device reconnected or was removed: its older connection must end."""
REMOVED = "removed"
"""Sent instead of the device's epoch if it was removed."""


def about_message(message_id: int) -> str:
    return f"message:{message_id}"


def worker_gone(worker: str) -> str:
    """For listeners on GONE."""
    return f"{GONE}:{worker}"


class Listener(Protocol):
    async def wait(self, timeout: Span) -> bool:
        """Return True as soon as a hint has come since the last wait, False after `timeout`; hints are coalesced."""

    def named(self) -> Sequence[str]:
        """The names of `topic:name` hints since the last call, for a listener on `topic`."""


class Hints(Protocol):
    def give(self, topics: Iterable[str]) -> None:
        """Wake the listeners of these topics, in this process and, with best effort, in the others."""

    def listen(self, topic: str) -> AbstractContextManager[Listener]:
        """Listen from now on; a hint between entering and waiting is not missed."""

    def close(self) -> None:
        """Stop sending to other processes, and release all resources."""
