"""Indexes messages from the feeds and finds them by word."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow.conversations import archived_bodies
from waypost.flow.conversations.inbox import ShownEntry, shown_entry
from waypost.flow.history.feed_consumer import FeedConsumer
from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.consumer import Consumer, ConsumerPosition
from waypost.model.conversation import ConversationId
from waypost.model.ids import MessageId
from waypost.ports.conversations.search import NEWEST, FoundId, SearchHit, SearchQuery
from waypost.rules.conversations import chat_content
from waypost.rules.conversations.search import SearchTerms, Snippet, asked, snippet

AT_ONCE = 500
"""Items per transaction, to keep transactions short."""


class SearchResult(msgspec.Struct, frozen=True):
    entry: ShownEntry
    snippet: Snippet


class SearchResults(msgspec.Struct, frozen=True):
    results: Sequence[SearchResult]
    last: FoundId
    """Where the next page continues."""
    more: bool


def indexer(world: World) -> FeedConsumer:
    async def index(behind: Sequence[ConsumerPosition]) -> Sequence[ConsumerPosition]:
        return await world.ledger.search.index(behind, AT_ONCE)

    return FeedConsumer(Consumer.SEARCH, index, world)


async def search(
    caller: Caller, query: str, where: ConversationId | None, before: FoundId | None, limit: int, world: World
) -> SearchResults:
    """Newest first, as far as the caller may see; messages deleted meanwhile can make a page shorter."""
    wanted = asked(query)
    if wanted is None:
        return SearchResults([], NEWEST, more=False)
    of = SearchQuery(org_id=caller.org_id, user_id=caller.user_id, asked=wanted, conversation_id=where)
    found = await world.ledger.search.find(of, before or NEWEST, limit + 1)
    whole = await archived_bodies.load_leading_bodies([one.entry for one in found[:limit]], world.history)
    page = [replace(one, entry=entry) for one, entry in zip(found, whole, strict=False)]
    return SearchResults(
        await _results(page, wanted, caller, world), page[-1].id if page else NEWEST, more=len(found) > len(page)
    )


async def _results(page: Sequence[SearchHit], wanted: SearchTerms, caller: Caller, world: World) -> list[SearchResult]:
    ours = [MessageId(found.entry.message_id) for found in page if found.entry.message_id is not None]
    sent = {message.id: message for message in await world.ledger.messages.some(caller.org_id, ours)}
    results = []
    for found in page:
        entry = found.entry
        shown = await shown_entry(entry, found.contact_id, sent.get(entry.message_id or MessageId(0)), world)
        if found.contact_id is None:
            shown = replace(shown, status="sent")  # in chats, the history shows who has read it
        part = snippet(chat_content.words(entry), wanted)
        if part is not None:
            results.append(SearchResult(shown, part))
    return results
