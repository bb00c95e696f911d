"""Reads a conversation backwards, bucket by bucket, several non-empty buckets at a time."""

from __future__ import annotations

from waypost.adapters.cassandra import message_keys
from waypost.adapters.cassandra.concurrent_requests import gather_in_order
from waypost.adapters.cassandra.keyspace import CassandraRow, Keyspace
from waypost.model.conversation import ArchiveKey, ConversationId, Entry

_LISTED = 64
"""Buckets per listing query: almost two years."""
_WIDEST = 16
"""The most buckets read concurrently."""
_OVER = 50
"""The least rows to request after some rows were not messages."""
_LAST = "ffffffff-ffff-1fff-7f7f-7f7f7f7f7f7f"
"""Sorts after every message."""


class Pages:
    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace

    async def read(self, before: ArchiveKey, limit: int) -> list[Entry]:
        """One query if the bucket holds a page. Otherwise list the earlier buckets and read ever more of them at once:
        a page of a busy conversation takes at most three queries, one of a quiet conversation a few rounds."""
        conversation, bucket = before.conversation_id, message_keys.bucket_of(before.id_at)
        found = await self._bucket(conversation, bucket, message_keys.timeuuid(before.id_at), limit)
        listed, width, is_last = list[int](), 1, False
        while len(found) < limit:
            if not listed and not is_last:
                listed = await self._listed(conversation, bucket)
                is_last = len(listed) < _LISTED
            if not listed:
                break
            found += await self._side_by_side(conversation, listed[:width], limit - len(found))
            bucket, listed, width = listed[:width][-1], listed[width:], min(2 * width, _WIDEST)
        return found[:limit]

    async def _side_by_side(self, conversation: ConversationId, buckets: list[int], limit: int) -> list[Entry]:
        rows = await gather_in_order(lambda bucket: self._bucket(conversation, bucket, _LAST, limit), buckets)
        return [entry for entries in rows for entry in entries]

    async def _listed(self, conversation: ConversationId, before: int) -> list[int]:
        rows = await self._keyspace.read("buckets_before", (conversation, before, _LISTED))
        return [row[0] for row in rows]

    async def _bucket(self, conversation: ConversationId, bucket: int, before: str, limit: int) -> list[Entry]:
        """Skip rows that are not messages, as long as more rows may follow."""
        found, asked = list[Entry](), limit
        while True:
            rows = await self._keyspace.read("messages_before", (conversation, bucket, before, asked), asked)
            found += [entry for entry in (entry_of(conversation, row) for row in rows) if entry is not None]
            if len(rows) < asked or len(found) >= limit:
                return found[:limit]
            before, asked = rows[-1][0], max(limit - len(found), _OVER)


def entry_of(conversation: ConversationId, row: CassandraRow) -> Entry | None:
    """None for a row that was settled or erased but never appended."""
    message_id, position, at, sender, kind, body, wamid, outbox_id, client_message_id, deleted_at, status = row
    if position is None or body is None:
        return None
    return Entry(
        conversation_id=conversation,
        position=position,
        id_at=message_keys.moment_of(message_id),
        at=at,
        sender=sender,
        type=kind,
        body=body,
        wamid=wamid,
        message_id=outbox_id,
        client_message_id=client_message_id,
        deleted_at=deleted_at,
        status=status,
    )
