"""Orders the items of each feed and finds the gaps to fetch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from waypost.client.types import Item

MOST_HELD = 1_000


@dataclass
class _Feed:
    last: int | None = None
    """None while the start of this feed is unknown."""
    held: dict[int, Item] = field(default_factory=dict)
    head: int = 0
    """The highest seq that the server has announced."""
    due: float | None = None
    """When its gap is old enough to be fetched."""

    @property
    def behind(self) -> bool:
        return self.last is not None and (bool(self.held) or self.head > self.last)


class SequenceBuffer:
    """Has no clock: `now` is an argument, in milliseconds (B4, B7 to B11)."""

    def __init__(self, cursors: Mapping[str, int], me: str = "", hold: float = 500) -> None:
        self._feeds = {feed: _Feed(last) for feed, last in cursors.items()}
        self._me = me
        self._hold = hold

    @property
    def cursors(self) -> dict[str, int]:
        """The last applied seq of each feed."""
        return {name: feed.last for name, feed in self._feeds.items() if feed.last is not None}

    def is_me(self, user_id: str) -> None:
        self._me = user_id

    def offer(self, item: Item, now: float) -> list[Item]:
        """Adds an item; returns the items that can be applied now."""
        feed = self._feeds.setdefault(item.feed, _Feed())
        if feed.last is not None and item.seq <= feed.last:
            return []
        if len(feed.held) >= MOST_HELD:
            feed.held.clear()
        feed.held[item.seq] = item
        return self._flush([item.feed], now)

    def heads(self, heads: Mapping[str, int], now: float) -> None:
        """A head beyond the last item is a gap too."""
        for name, head in heads.items():
            feed = self._feeds.get(name)
            if feed is not None and feed.last is not None:
                feed.head = max(feed.head, head)
                self._watch(feed, now, moved=False)

    def live(self, heads: Mapping[str, int], now: float, among: Container[str] | None = None) -> list[Item]:
        """Gives feeds without a start one: before the first held item, else at the head. Drops those not `among`."""
        for name in {*heads, *self._feeds}:
            feed = self._feeds.setdefault(name, _Feed())
            if feed.last is None and among is not None and name not in among:
                del self._feeds[name]
            elif feed.last is None:
                feed.last = min(feed.held) - 1 if feed.held else heads[name]
        return self._flush(sorted(self._feeds), now)

    def reset(self, heads: Mapping[str, int]) -> None:
        self._feeds = {feed: _Feed(last) for feed, last in heads.items()}

    def keep_only(self, feeds: Iterable[str]) -> None:
        """Drops the feeds that the user no longer follows."""
        named = set(feeds)
        self._feeds = {name: feed for name, feed in self._feeds.items() if name in named}

    def tick(self, now: float) -> list[str]:
        """The feeds to fetch now; while its gap stays, a feed is due again after another hold."""
        due = sorted(name for name, feed in self._feeds.items() if feed.due is not None and feed.due <= now)
        for name in due:
            self._feeds[name].due = now + self._hold
        return due

    @property
    def due(self) -> float | None:
        """When the next feed must be fetched, or None."""
        return min((feed.due for feed in self._feeds.values() if feed.due is not None), default=None)

    def _flush(self, names: list[str], now: float) -> list[Item]:
        """Applies held items in order; a `joined` item opens another feed, whose items may be held."""
        applied: list[Item] = []
        while names:
            name = names.pop(0)
            feed = self._feeds.get(name)
            if feed is None or feed.last is None:
                continue
            before = feed.last
            while (item := feed.held.pop(feed.last + 1, None)) is not None:
                feed.last = item.seq
                applied.append(item)
                names += self._follow(item)
            self._watch(feed, now, moved=feed.last > before)
        return applied

    def _watch(self, feed: _Feed, now: float, *, moved: bool) -> None:
        if not feed.behind:
            feed.due = None
        elif moved or feed.due is None:
            feed.due = now + self._hold

    def _follow(self, item: Item) -> list[str]:
        """Returns the feeds that this item opens; drops the feed that it ends."""
        if item.kind == "joined":
            return self._join(item.body.get("joins"))
        removed = item.body.get("removed")
        if item.kind == "members" and isinstance(removed, list) and self._me and self._me in removed:
            self._feeds.pop(f"group:{item.conversation_id}", None)
        return []

    def _join(self, joins: object) -> list[str]:
        if not isinstance(joins, dict) or not isinstance(joins.get("feed"), str) or type(joins.get("from")) is not int:
            return []
        name, start = joins["feed"], joins["from"]
        feed = self._feeds.setdefault(name, _Feed())
        if feed.last is None or start > feed.last:
            feed.last = start
            feed.held = {seq: item for seq, item in feed.held.items() if seq > start}
        return [name]
