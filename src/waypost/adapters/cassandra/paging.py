"""Backwards through a conversation, bucket by bucket: those that hold something, and several side by side."""

from __future__ import annotations

from waypost.adapters.cassandra import places
from waypost.adapters.cassandra.flight import gathered
from waypost.adapters.cassandra.keyspace import Keyspace, Row
from waypost.model.conversation import ConversationId, Entry, Spot

_LISTED = 64
"""Buckets that are listed by one query: almost two years."""
_WIDEST = 16
"""Buckets that are read side by side, at most."""
_OVER = 50
"""Rows that are asked for where some were no messages."""
_LAST = "ffffffff-ffff-1fff-7f7f-7f7f7f7f7f7f"
"""Later than every message."""


class Pages:
    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace

    async def read(self, before: Spot, limit: int) -> list[Entry]:
        """One query where the bucket holds a page. Else the list of the earlier ones, and ever more of them at once:
        a page of a busy conversation takes three queries at most, one of a quiet conversation few rounds of them."""
        conversation, bucket = before.conversation_id, places.bucket_of(before.id_at)
        found = await self._bucket(conversation, bucket, places.timeuuid(before.id_at), limit)
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
        rows = await gathered(lambda bucket: self._bucket(conversation, bucket, _LAST, limit), buckets)
        return [entry for entries in rows for entry in entries]

    async def _listed(self, conversation: ConversationId, before: int) -> list[int]:
        rows = await self._keyspace.read("buckets_before", (conversation, before, _LISTED))
        return [row[0] for row in rows]

    async def _bucket(self, conversation: ConversationId, bucket: int, before: str, limit: int) -> list[Entry]:
        """Rows that are no messages are read over: so long as there may be more behind them."""
        found, asked = list[Entry](), limit
        while True:
            rows = await self._keyspace.read("messages_before", (conversation, bucket, before, asked), asked)
            found += [entry for entry in (entry_of(conversation, row) for row in rows) if entry is not None]
            if len(rows) < asked or len(found) >= limit:
                return found[:limit]
            before, asked = rows[-1][0], max(limit - len(found), _OVER)


def entry_of(conversation: ConversationId, row: Row) -> Entry | None:
    """None for a row that was only settled or erased, and never appended."""
    message_id, position, at, sender, kind, body, wamid, outbox_id, client_message_id, deleted_at, status = row
    if position is None or body is None:
        return None
    return Entry(
        conversation_id=conversation,
        position=position,
        id_at=places.moment_of(message_id),
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
