"""A history store shared by all servers of a simulation: slow, unavailable, unconfirmed; a crash loses its latest."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from waypost.adapters.local.history import EntryKey, MemoryHistory
from waypost.model.conversation import ArchiveKey, Entry
from waypost.model.time import Instant, Span, seconds
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, History, StoredEntry
from waypost.ports.platform.failure import Unavailable
from waypost_testing.simulation import Node, Simulation

T = TypeVar("T")

LONGEST_UNSYNCED: Span = seconds(10)


class SharedHistory:
    def __init__(self, sim: Simulation, unsynced: Span) -> None:
        """`unsynced`: how long an entry is only in memory after it was confirmed."""
        self.store = MemoryHistory()
        self.trouble = 0.0
        """The share of calls that fail, before or after they took effect."""
        self.forgotten = 0
        """Entries that it confirmed and lost."""
        self._unsynced = unsynced
        self._appended: dict[EntryKey, int] = {}
        self._sim = sim

    def of(self, node: Node) -> History:
        return _RemoteHistory(self, self._sim.chance.stream(f"log:{node.name}"))

    def fail(self, share: float) -> None:
        self.trouble = share
        self._sim.trace.note("log", trouble=share)

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        before = set(self.store.kept)
        await self.store.append(lines)
        self._appended |= dict.fromkeys(self.store.kept.keys() - before, self._sim.loop.micros)

    def crash(self) -> None:
        """It does not answer any more, and has lost what was only in memory."""
        since = self._sim.loop.micros - self._unsynced
        lost = sorted(key for key, at in self._appended.items() if at > since)
        self._appended = {}
        self.store.forget(lost)
        self.forgotten += len(lost)
        self._sim.trace.note("log", forgotten=len(lost))
        self.fail(1.0)

    def bodies(self) -> dict[tuple[int, int], str]:
        """By conversation and the time of the id, as they were stored."""
        return {(key[0], key[1]): entry.body for key, entry in self.store.kept.items()}


class _RemoteHistory:
    """The history store as one server sees it."""

    def __init__(self, shared: SharedHistory, rng: random.Random) -> None:
        self._shared = shared
        self._rng = rng

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        """Some of the items may be stored when it fails."""
        half = self._rng.randrange(len(lines) + 1)
        await self._call(self._shared.append(lines[:half]))
        await self._call(self._shared.append(lines[half:]))

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        return await self._call(self._shared.store.page(before, limit))

    async def some(self, spots: Sequence[ArchiveKey]) -> Sequence[Entry]:
        return await self._call(self._shared.store.some(spots))

    async def stored(self, spots: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        return await self._call(self._shared.store.stored(spots))

    async def erase(self, spots: Sequence[ArchiveKey], at: Instant) -> None:
        await self._call(self._shared.store.erase(spots, at))

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
        await self._call(self._shared.store.settle(marks))

    async def ping(self) -> None:
        await self._call(self._shared.store.ping())

    async def close(self) -> None: ...

    async def _call(self, doing: Awaitable[T]) -> T:
        """Where a crash may fall: before the call takes effect, and between that and its answer."""
        try:
            await self._pass("before")
        except BaseException:
            doing.close()  # type: ignore[attr-defined]  # a coroutine that never ran
            raise
        done = await doing
        await self._pass("after")
        return done

    async def _pass(self, when: str) -> None:
        slow = self._rng.random()
        await asyncio.sleep(0.001 + (2.0 * slow if slow < 0.02 else 0.005 * slow))
        if self._shared.trouble and self._rng.random() < self._shared.trouble:
            raise Unavailable(f"the simulated Log is away ({when})")
