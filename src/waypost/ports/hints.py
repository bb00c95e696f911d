"""Wake-ups: nothing that matters is lost with them, only time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from waypost.model.time import Span

OUTBOX = "outbox"
ACCOUNTS = "accounts"
TOKENS = "tokens"
"""Somebody's token has ended: `tokens:…`, with the person's id."""
LANES = "lanes"
MEDIA = "media"
"""A customer's file is to be fetched."""
GONE = "gone"
FEED = "feed"
"""Something was added to a feed: `feed:user:…`."""
TYPING = "typing"
PRESENCE = "presence"
DEVICE = "device"
"""A device came anew, or was removed: an older connection of it ends."""
REMOVED = "removed"
"""In place of the device's epoch."""


def about_message(message_id: int) -> str:
    return f"message:{message_id}"


def worker_gone(worker: str) -> str:
    """For ears on GONE."""
    return f"{GONE}:{worker}"


class Ear(Protocol):
    async def wait(self, timeout: Span) -> bool:
        """Return True as soon as a hint came since the last wait, False after `timeout`; hints are coalesced."""

    def named(self) -> Sequence[str]:
        """What hints of the form `topic:name` named, since this was last asked, to an ear on `topic`."""


class Hints(Protocol):
    def give(self, topics: Iterable[str]) -> None:
        """Wake whoever listens to these topics, in this process and, as well as may be, in the others."""

    def listen(self, topic: str) -> AbstractContextManager[Ear]:
        """Listen from now on; a hint between entering and waiting is not missed."""

    def close(self) -> None:
        """Reach the others no more, and leave nothing behind."""
