"""History on Cassandra: every write is an upsert with an explicit time, so a late or repeated write is harmless."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from waypost.adapters.cassandra import message_keys
from waypost.adapters.cassandra.concurrent_requests import gather_in_order, run_all
from waypost.adapters.cassandra.keyspace import CassandraRow, Keyspace
from waypost.adapters.cassandra.paging import Pages, entry_of
from waypost.model.conversation import ArchiveKey, ConversationId, Entry
from waypost.model.time import Instant, days
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, StoredEntry
from waypost.ports.platform.failure import Rejected

GUARD = days(10)
"""How long an erasure that came before its message is kept."""

_AT_ONCE = 100
"""Messages of one partition per query."""
_KNOWN = 100_000
"""Listed buckets that a process remembers."""


def system_now() -> Instant:
    return Instant(time.time_ns() // 1000)


class CassandraHistory:
    """A row counts as a message if it has a position and a body; a row that was only settled or erased does not."""

    def __init__(self, keyspace: Keyspace, now: Callable[[], Instant] = system_now) -> None:
        self._keyspace = keyspace
        self._pages = Pages(keyspace)
        self._now = now
        self._listed: dict[tuple[int, int], Instant | None] = {}

    async def connect(self) -> None:
        await self._keyspace.connect()

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        await self._keyspace.connect()
        now = self._now()
        kept = [
            line for line in lines if not line.entry.is_archived and not message_keys.has_expired(line.expires_at, now)
        ]
        await self._list(kept, now)
        rejected: list[Rejected] = []

        async def put(line: ArchiveEntry) -> None:
            try:
                await self._put(line, now)
            except Rejected as error:  # the other entries are written all the same
                rejected.append(error)

        await run_all(put, kept)
        if rejected:
            raise rejected[0]

    async def _list(self, lines: Sequence[ArchiveEntry], now: Instant) -> None:
        """List a bucket before its first row is written, so that readers of the list find every row."""
        wanted: dict[tuple[int, int], Instant | None] = {}
        for line in lines:
            archive_key = line.entry.archive_key
            key, until = (
                (archive_key.conversation_id, message_keys.bucket_of(archive_key.id_at)),
                message_keys.listed_until(line.expires_at),
            )
            if key not in wanted or message_keys.listing_time(until) > message_keys.listing_time(wanted[key]):
                wanted[key] = until
        await run_all(lambda bucket: self._list_one(bucket, wanted[bucket], now), self._unlisted(wanted))

    def _unlisted(self, wanted: dict[tuple[int, int], Instant | None]) -> list[tuple[int, int]]:
        if len(self._listed) > _KNOWN:
            self._listed.clear()
        times, known = message_keys.listing_time, self._listed
        return [key for key, until in wanted.items() if key not in known or times(until) > times(known[key])]

    async def _list_one(self, bucket: tuple[int, int], until: Instant | None, now: Instant) -> None:
        row = (*bucket, until or 0, message_keys.listing_time(until), message_keys.ttl(until, now))
        await self._keyspace.write("bucket_list", row)
        self._listed[bucket] = until

    async def _put(self, line: ArchiveEntry, now: Instant) -> None:
        entry, archive_key, ttl = line.entry, line.entry.archive_key, message_keys.ttl(line.expires_at, now)
        if entry.deleted_at is not None:  # erased before it was archived: it is never readable here
            await self._erase(archive_key, entry.deleted_at, ttl)
        content = (entry.type, entry.body, entry.wamid, entry.message_id, entry.client_message_id)
        row = (*message_keys.place_of(archive_key), entry.position, entry.at, entry.sender, *content)
        await self._keyspace.write("message_put", (*row, message_keys.put_time(archive_key), ttl))

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        await self._keyspace.connect()
        return await self._pages.read(before, limit)

    async def some(self, keys: Sequence[ArchiveKey]) -> Sequence[Entry]:
        found = await self._ask("messages_some", keys)
        entries = [(entry_of(conversation, row)) for conversation, row in found]
        return [entry for entry in entries if entry is not None]

    async def stored(self, keys: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        found = await self._ask("messages_stored", keys)
        return [
            StoredEntry(conversation, message_keys.moment_of(message_id), deleted_at is not None)
            for conversation, (message_id, position, deleted_at) in found
            if position is not None
        ]

    async def _ask(self, statement: str, keys: Sequence[ArchiveKey]) -> list[tuple[ConversationId, CassandraRow]]:
        """One query per partition, concurrently; each row comes with its conversation."""
        await self._keyspace.connect()

        async def asked(group: tuple[int, int, list[str]]) -> list[tuple[ConversationId, CassandraRow]]:
            rows = await self._keyspace.read(statement, group)
            return [(ConversationId(group[0]), row) for row in rows]

        return [row for rows in await gather_in_order(asked, _groups(keys)) for row in rows]

    async def erase(self, keys: Sequence[ArchiveKey], at: Instant) -> None:
        """The erasure expires with its message. For a message that is not archived yet, it is kept for `GUARD`: readers
        see no row, and a late append finds it."""
        found = await self._ask("messages_left", keys)
        guard = GUARD // 1_000_000
        left = {
            (conversation, message_keys.moment_of(row[0])): guard if row[1] is None else row[2]
            for conversation, row in found
        }
        await run_all(
            lambda archive_key: self._erase(
                archive_key, at, left.get((archive_key.conversation_id, archive_key.id_at), guard)
            ),
            set(keys),
        )

    async def _erase(self, archive_key: ArchiveKey, at: Instant, ttl: int | None) -> None:
        await self._keyspace.write(
            "message_erase", (message_keys.erase_time(archive_key), ttl, at, *message_keys.place_of(archive_key))
        )

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
        await self._keyspace.connect()
        now = self._now()
        await run_all(
            lambda mark: self._settle(mark, now), [m for m in marks if not message_keys.has_expired(m.expires_at, now)]
        )

    async def _settle(self, mark: ArchivedStatus, now: Instant) -> None:
        written = (message_keys.settle_time(mark), message_keys.ttl(mark.expires_at, now), mark.status)
        await self._keyspace.write("message_settle", (*written, *message_keys.place_of(mark.archive_key)))

    async def ping(self) -> None:
        """Read with the same consistency as every other read."""
        await self._keyspace.connect()
        await self._keyspace.check()

    async def close(self) -> None:
        await self._keyspace.close()


def _groups(keys: Sequence[ArchiveKey]) -> Iterator[tuple[int, int, list[str]]]:
    """Grouped by partition, without duplicates."""
    groups: dict[tuple[int, int], set[str]] = defaultdict(set)
    for archive_key in keys:
        conversation, bucket, message = message_keys.place_of(archive_key)
        groups[conversation, bucket].add(message)
    for key, found in groups.items():
        wanted = sorted(found)
        for start in range(0, len(wanted), _AT_ONCE):
            yield *key, wanted[start : start + _AT_ONCE]
