"""A bounded log that can also be read by key."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

Entry = TypeVar("Entry")

OVERHEAD = 1024
"""What an entry costs beside its content: its fields, and its places in the log and in the index."""


class KeyedLog(Generic[Entry]):
    """The latest entries that fit into `most_bytes`, in order, also indexed by key; the newest is always kept."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._count = 0
        self._all: deque[tuple[str, int, int, Entry]] = deque()
        # A dict drops its first entry at once; a list would move all the others.
        self._by_key: dict[str, dict[int, Entry]] = {}

    def add(self, key: str, entry: Entry, content_bytes: int) -> list[Entry]:
        """Returns the entries that were dropped for it."""
        self._count += 1
        size = OVERHEAD + content_bytes
        self._all.append((key, self._count, size, entry))
        self._by_key.setdefault(key, {})[self._count] = entry
        self._bytes += size
        dropped = []
        while self._bytes > self._most_bytes and len(self._all) > 1:
            dropped.append(self._drop_oldest())
        return dropped

    @property
    def dropped(self) -> int:
        return self._count - len(self._all)

    def _drop_oldest(self) -> Entry:
        key, count, size, oldest = self._all.popleft()
        self._bytes -= size
        entries = self._by_key[key]
        del entries[count]
        if not entries:
            del self._by_key[key]
        return oldest

    def move(self, key: str, to: str) -> None:
        """Moves all entries of one key to another, in order. Reads every entry."""
        moved = self._by_key.pop(key, {})
        self._all = deque((to if each == key else each, n, size, entry) for each, n, size, entry in self._all)
        if joined := sorted({**self._by_key.get(to, {}), **moved}.items(), key=lambda entry: entry[0]):
            self._by_key[to] = dict(joined)

    def of(self, key: str) -> list[Entry]:
        return list(self._by_key.get(key, {}).values())

    def latest_keys(self, most: int, within: int = 2000) -> list[str]:
        """The keys of the newest entries, the newest first; reads at most `within` entries."""
        newest = (key for key, *_ in islice(reversed(self._all), within))
        return list(islice(dict.fromkeys(newest), most))

    def __iter__(self) -> Iterator[Entry]:
        return (entry for *_, entry in self._all)

    def __len__(self) -> int:
        return len(self._all)
