"""What the server said, made into what the application is given: one ordered stream, whatever way it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waypost.client.nouns import Applied, Epoch, Item, Json, Reset, heads_of, item_of
from waypost.client.sequence import SequenceBuffer
from waypost.client.store import Kept

FRESH = "fresh"
_OWN_FEED = "user:"


class Stream:
    """One per client, over all its connections; `now` is in milliseconds (B1 to B11)."""

    def __init__(self, kept: Kept, hold: float) -> None:
        self.epoch: Epoch | None = kept.epoch
        self.me = ""
        self._fresh = kept.cursors is None
        self._welcomed: dict[str, int] = {}
        self.buffer = SequenceBuffer(kept.cursors or {}, hold=hold)
        self._meet(kept.cursors or {})

    def stand(self) -> Json:
        """The part of a `hello` or a `GET /sync` that says where we are."""
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
        self._welcomed = {}  # said again after a pause: a feed that ended meanwhile must not begin anew
        self.pong(frame, now)  # it tells the heads, too
        return applied

    def item(self, frame: Mapping[str, Any], now: float) -> list[Applied]:
        item = item_of(frame)
        return [] if item is None else [*self.buffer.offer(item, now)]

    def pong(self, frame: Mapping[str, Any], now: float) -> None:
        self.buffer.heads(heads_of(frame.get("heads")), now)

    def resync(self, frame: Mapping[str, Any]) -> list[Applied]:
        """One that says nothing new came twice."""
        cursors = self.buffer.cursors
        beyond = any(head > cursors.get(feed, -1) for feed, head in heads_of(frame.get("heads")).items())
        if not beyond and frame.get("epoch") == self.epoch and not self._fresh:
            return []
        self._welcomed = heads_of(frame.get("heads"))
        return self._start_over(str(frame.get("reason") or "resync_required"), frame)

    def synced(self, answer: Mapping[str, Any], now: float) -> list[Applied]:
        """The answer of `GET /sync`."""
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

    def _start_over(self, reason: str, told: Mapping[str, Any]) -> list[Applied]:
        heads, epoch = heads_of(told.get("heads")), told.get("epoch")
        self.epoch = epoch if isinstance(epoch, str | int) else None
        self._fresh = False
        self.buffer.reset(heads)
        self._meet(heads)
        return [Reset(reason, self.epoch, heads)]

    def _meet(self, feeds: Mapping[str, int]) -> None:
        """The user's own feed has the user's name."""
        for feed in feeds:
            if feed.startswith(_OWN_FEED):
                self.me = feed.removeprefix(_OWN_FEED)
                self.buffer.is_me(self.me)


def settles(applied: Applied, me: str) -> tuple[str, str, int] | None:
    """The send that this item is the answer to: client_message_id, message_id, position."""
    if not isinstance(applied, Item) or applied.kind != "message":
        return None
    message = applied.message
    if message is None or message.client_message_id is None or message.sender_id not in {me, None}:
        return None
    return message.client_message_id, message.message_id, message.position
