"""Reads of conversations, contacts and feeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.consumer import Consumer
from waypost.model.conversation import (
    Contact,
    ContactId,
    Conversation,
    ConversationId,
    Entry,
    FeedItem,
    Position,
    TurnState,
)
from waypost.model.ids import OrgId
from waypost.model.time import Instant


class SqlConversations:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, org: OrgId, conversation: ConversationId) -> Conversation | None:
        found = await self._engine.read("conversation_get", conversation, org)
        return conversation_rows.conversation(found[0]) if found else None

    async def some(self, org: OrgId, conversations: Sequence[ConversationId]) -> Sequence[Conversation]:
        wanted = sorted(set(conversations))
        found = await self._engine.read("conversations_some", org, wanted) if wanted else []
        return [conversation_rows.conversation(row) for row in found]

    async def contacts(self, org: OrgId, contacts: Sequence[ContactId]) -> Sequence[Contact]:
        wanted = sorted(set(contacts))
        found = await self._engine.read("contacts_some", org, wanted) if wanted else []
        return list(conversation_rows.contacts(found).values())

    async def at(self, org: OrgId, address: str) -> Sequence[Conversation]:
        return [
            conversation_rows.conversation(row) for row in await self._engine.read("conversations_at", org, address)
        ]

    async def turn_state(self, conversation: ConversationId) -> TurnState | None:
        found = await self._engine.read("lane_get", conversation)
        return conversation_rows.turn_state(found[0]) if found else None

    async def contact(self, org: OrgId, contact: ContactId) -> Contact | None:
        return next(iter(await self.contacts(org, [contact])), None)

    async def entries(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        return [
            conversation_rows.entry(row)
            for row in await self._engine.read("entries_before", conversation, before, limit)
        ]

    async def prune_inbound(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(forgotten("arrivals_forget", before, limit))


def forgotten(statement: str, before: Instant, limit: int, *more: object) -> Plan[int]:
    return len((yield Once(statement, (before, limit, *more))))


class SqlFeeds:
    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    def on_moved(self, callback: Callable[[Mapping[str, int]], None]) -> None:
        self._writer.heads = callback

    async def head(self, feed: str) -> int:
        found = await self._engine.read("feed_head", feed)
        return int(found[0][0]) if found else 0

    async def after(self, feed: str, seq: int, limit: int) -> Sequence[FeedItem]:
        return [conversation_rows.feed_item(row) for row in await self._engine.read("feed_after", feed, seq, limit)]

    async def forget(self, before: Instant, limit: int, unless_behind: Consumer | None = None) -> int:
        consumer = unless_behind.value if unless_behind else ""
        return await self._engine.transact(_prune_oldest(before, limit, consumer))


def _prune_oldest(before: Instant, limit: int, consumer: str) -> Plan[int]:
    old = yield Once("feed_items_old", (before, limit, consumer))
    share = Counter(row[0] for row in old)
    gone = [(feed, share[feed], before, consumer) for feed in sorted(share)]
    return len((yield from each("feed_items_forget", gone)))
