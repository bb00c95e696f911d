"""A bounded log that can also be read by key."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class KeyedLog(Generic[Entry]):
    """The latest `most` entries in order, also indexed by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._all: deque[tuple[str, int, Entry]] = deque()
        # A dict drops its first entry at once; a list would move all the others.
        self._by_key: dict[str, dict[int, Entry]] = {}

    def add(self, key: str, entry: Entry) -> Entry | None:
        """Returns the entry that was dropped for it, if any."""
        self._count += 1
        self._all.append((key, self._count, entry))
        self._by_key.setdefault(key, {})[self._count] = entry
        return self._drop_oldest() if len(self._all) > self._most else None

    def _drop_oldest(self) -> Entry:
        key, count, oldest = self._all.popleft()
        entries = self._by_key[key]
        del entries[count]
        if not entries:
            del self._by_key[key]
        return oldest

    def move(self, key: str, to: str) -> None:
        """Moves all entries of one key to another, in order. Reads every entry."""
        moved = self._by_key.pop(key, {})
        self._all = deque((to if each == key else each, count, entry) for each, count, entry in self._all)
        if joined := sorted({**self._by_key.get(to, {}), **moved}.items(), key=lambda entry: entry[0]):
            self._by_key[to] = dict(joined)

    def of(self, key: str) -> list[Entry]:
        return list(self._by_key.get(key, {}).values())

    def latest_keys(self, most: int, within: int = 2000) -> list[str]:
        """The keys of the newest entries, the newest first; reads at most `within` entries."""
        newest = (key for key, _, _ in islice(reversed(self._all), within))
        return list(islice(dict.fromkeys(newest), most))

    def __iter__(self) -> Iterator[Entry]:
        return (entry for _, _, entry in self._all)

    def __len__(self) -> int:
        return len(self._all)
