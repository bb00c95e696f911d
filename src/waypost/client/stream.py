"""Turns frames and sync answers into one ordered stream of items for the application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waypost.client.sequence import SequenceBuffer
from waypost.client.store import StoredState
from waypost.client.types import Applied, Epoch, Item, Json, Reset, heads_of, item_of

FRESH = "fresh"
_OWN_FEED = "user:"


class Stream:
    """One per client, across all its connections; `now` is in milliseconds (B1 to B11)."""

    def __init__(self, kept: StoredState, hold: float) -> None:
        self.epoch: Epoch | None = kept.epoch
        self.me = ""
        self._fresh = kept.cursors is None
        self._welcomed: dict[str, int] = {}
        self.buffer = SequenceBuffer(kept.cursors or {}, hold=hold)
        self._learn_user(kept.cursors or {})

    def resume_point(self) -> Json:
        """The cursors and epoch for a `hello` or `GET /sync`; empty for a new device."""
        if self._fresh:
            return {}
        return {"cursors": self.buffer.cursors} | ({} if self.epoch is None else {"epoch": self.epoch})

    def welcome(self, frame: Mapping[str, Any]) -> list[Applied]:
        self._welcomed = heads_of(frame.get("heads"))
        if self._fresh:
            return self._start_over(FRESH, frame)
        self.buffer.keep_only(self._welcomed)
        return []

    def live(self, frame: Mapping[str, Any], now: float) -> list[Applied]:
        named = heads_of(frame.get("heads"))
        applied: list[Applied] = [*self.buffer.live(self._welcomed, now, among=named or None)]
        self._welcomed = {}  # a repeated `live` must not reopen a feed that ended meanwhile
        self.pong(frame, now)  # it has the heads too
        return applied

    def item(self, frame: Mapping[str, Any], now: float) -> list[Applied]:
        item = item_of(frame)
        return [] if item is None else [*self.buffer.offer(item, now)]

    def pong(self, frame: Mapping[str, Any], now: float) -> None:
        self.buffer.heads(heads_of(frame.get("heads")), now)

    def resync(self, frame: Mapping[str, Any]) -> list[Applied]:
        """Ignores a repeated frame."""
        cursors = self.buffer.cursors
        beyond = any(head > cursors.get(feed, -1) for feed, head in heads_of(frame.get("heads")).items())
        if not beyond and frame.get("epoch") == self.epoch and not self._fresh:
            return []
        self._welcomed = heads_of(frame.get("heads"))
        return self._start_over(str(frame.get("reason") or "resync_required"), frame)

    def synced(self, answer: Mapping[str, Any], now: float) -> list[Applied]:
        """Applies the answer of `GET /sync`."""
        applied: list[Applied] = []
        if self._fresh:
            applied += self._start_over(FRESH, answer)
        elif answer.get("resync_required"):
            applied += self.resync(answer)
        items = answer.get("items")
        for frame in items if isinstance(items, list) else []:
            if isinstance(frame, dict):
                applied += self.item(frame, now)
        self.pong(answer, now)
        return applied

    def _start_over(self, reason: str, frame: Mapping[str, Any]) -> list[Applied]:
        heads, epoch = heads_of(frame.get("heads")), frame.get("epoch")
        self.epoch = epoch if isinstance(epoch, str | int) else None
        self._fresh = False
        self.buffer.reset(heads)
        self._learn_user(heads)
        return [Reset(reason, self.epoch, heads)]

    def _learn_user(self, feeds: Mapping[str, int]) -> None:
        """Learns the user's id from the name of the user's own feed."""
        for feed in feeds:
            if feed.startswith(_OWN_FEED):
                self.me = feed.removeprefix(_OWN_FEED)
                self.buffer.is_me(self.me)


def settles(applied: Applied, me: str) -> tuple[str, str, int] | None:
    """The own message in this item: client_message_id, message_id, position; None if there is none."""
    if not isinstance(applied, Item) or applied.kind != "message":
        return None
    message = applied.message
    if message is None or message.client_message_id is None or message.sender_id not in {me, None}:
        return None
    return message.client_message_id, message.message_id, message.position
