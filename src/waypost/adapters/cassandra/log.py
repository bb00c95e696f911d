"""The Log on Cassandra: every write is an upsert whose time says who wins, so each may come again, late or twice."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from waypost.adapters.cassandra import places
from waypost.adapters.cassandra.flight import each, gathered
from waypost.adapters.cassandra.keyspace import Keyspace, Row
from waypost.adapters.cassandra.paging import Pages, entry_of
from waypost.model.conversation import ConversationId, Entry, Spot
from waypost.model.time import Instant, days
from waypost.ports.failure import Rejected
from waypost.ports.log import Line, Mark

GUARD = days(10)
"""For so long what was erased before it was here stays erased, should it come after all."""

_AT_ONCE = 100
"""Messages of one partition that are asked for by one query, at most."""
_KNOWN = 100_000
"""Buckets that a process remembers to have listed."""


def system_now() -> Instant:
    return Instant(time.time_ns() // 1000)


class CassandraLog:
    """A row is shown if it has a position and a body: what was settled or erased but never appended is no ghost."""

    def __init__(self, keyspace: Keyspace, now: Callable[[], Instant] = system_now) -> None:
        self._keyspace = keyspace
        self._pages = Pages(keyspace)
        self._now = now
        self._listed: dict[tuple[int, int], Instant | None] = {}

    async def connect(self) -> None:
        await self._keyspace.connect()

    async def append(self, lines: Sequence[Line]) -> None:
        await self._keyspace.connect()
        now = self._now()
        kept = [line for line in lines if not line.entry.is_away and not places.has_expired(line.expires_at, now)]
        await self._list(kept, now)
        rejected: list[Rejected] = []

        async def put(line: Line) -> None:
            try:
                await self._put(line, now)
            except Rejected as error:  # its neighbours are written all the same
                rejected.append(error)

        await each(put, kept)
        if rejected:
            raise rejected[0]

    async def _list(self, lines: Sequence[Line], now: Instant) -> None:
        """Before the first row of a bucket: a reader who knows the list then knows of every row."""
        wanted: dict[tuple[int, int], Instant | None] = {}
        for line in lines:
            spot = line.entry.spot
            key, until = (spot.conversation_id, places.bucket_of(spot.id_at)), places.listed_until(line.expires_at)
            if key not in wanted or places.listing_time(until) > places.listing_time(wanted[key]):
                wanted[key] = until
        await each(lambda bucket: self._list_one(bucket, wanted[bucket], now), self._unlisted(wanted))

    def _unlisted(self, wanted: dict[tuple[int, int], Instant | None]) -> list[tuple[int, int]]:
        if len(self._listed) > _KNOWN:
            self._listed.clear()
        times, known = places.listing_time, self._listed
        return [key for key, until in wanted.items() if key not in known or times(until) > times(known[key])]

    async def _list_one(self, bucket: tuple[int, int], until: Instant | None, now: Instant) -> None:
        row = (*bucket, until or 0, places.listing_time(until), places.ttl(until, now))
        await self._keyspace.write("bucket_list", row)
        self._listed[bucket] = until

    async def _put(self, line: Line, now: Instant) -> None:
        entry, spot, ttl = line.entry, line.entry.spot, places.ttl(line.expires_at, now)
        if entry.deleted_at is not None:  # erased before it came here: so it is never seen here otherwise
            await self._erase(spot, entry.deleted_at, ttl)
        said = (entry.type, entry.body, entry.wamid, entry.message_id, entry.client_message_id)
        row = (*places.place_of(spot), entry.position, entry.at, entry.sender, *said)
        await self._keyspace.write("message_put", (*row, places.put_time(spot), ttl))

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        await self._keyspace.connect()
        return await self._pages.read(before, limit)

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        found = await self._ask("messages_some", spots)
        entries = [(entry_of(conversation, row)) for conversation, row in found]
        return [entry for entry in entries if entry is not None]

    async def _ask(self, statement: str, spots: Sequence[Spot]) -> list[tuple[ConversationId, Row]]:
        """A query per partition, side by side; each row with the conversation it is of."""
        await self._keyspace.connect()

        async def asked(group: tuple[int, int, list[str]]) -> list[tuple[ConversationId, Row]]:
            rows = await self._keyspace.read(statement, group)
            return [(ConversationId(group[0]), row) for row in rows]

        return [row for rows in await gathered(asked, _groups(spots)) for row in rows]

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        """It lives as long as what it covers. What is not here yet is covered for a while: readers see no row in that,
        and an append that comes late finds it."""
        found = await self._ask("messages_left", spots)
        guard = GUARD // 1_000_000
        left = {
            (conversation, places.moment_of(row[0])): guard if row[1] is None else row[2] for conversation, row in found
        }
        await each(lambda spot: self._erase(spot, at, left.get((spot.conversation_id, spot.id_at), guard)), set(spots))

    async def _erase(self, spot: Spot, at: Instant, ttl: int | None) -> None:
        await self._keyspace.write("message_erase", (places.erase_time(spot), ttl, at, *places.place_of(spot)))

    async def settle(self, marks: Sequence[Mark]) -> None:
        await self._keyspace.connect()
        now = self._now()
        await each(
            lambda mark: self._settle(mark, now), [m for m in marks if not places.has_expired(m.expires_at, now)]
        )

    async def _settle(self, mark: Mark, now: Instant) -> None:
        written = (places.settle_time(mark), places.ttl(mark.expires_at, now), mark.status)
        await self._keyspace.write("message_settle", (*written, *places.place_of(mark.spot)))

    async def ping(self) -> None:
        """By a read that needs as many copies as any other."""
        await self._keyspace.connect()
        await self._keyspace.check()

    async def close(self) -> None:
        await self._keyspace.close()


def _groups(spots: Sequence[Spot]) -> Iterator[tuple[int, int, list[str]]]:
    """By partition, each message once."""
    groups: dict[tuple[int, int], set[str]] = defaultdict(set)
    for spot in spots:
        conversation, bucket, message = places.place_of(spot)
        groups[conversation, bucket].add(message)
    for key, found in groups.items():
        wanted = sorted(found)
        for start in range(0, len(wanted), _AT_ONCE):
            yield *key, wanted[start : start + _AT_ONCE]
