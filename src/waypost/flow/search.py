"""What was said is taken into the index a moment later, behind the feeds; and found by its words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.flow.inbox import Said, shown_status
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.account import Caller
from waypost.model.chat import FeedName
from waypost.model.conversation import ConversationId
from waypost.model.ids import MessageId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.failure import LedgerError
from waypost.ports.hints import FEED
from waypost.ports.search import NEWEST, Found, FoundId, Standing, Wanted
from waypost.rules import chat_content
from waypost.rules.search import Asked, Snippet, asked, snippet

GATHER: Span = seconds(0.25)
"""After a hint: what comes meanwhile is indexed with it, and of several workers the first has done it all."""
LOOK_EVERY: Span = seconds(1)
LOOK_AT = 1_000
"""Feeds that are looked at without a hint, each time the next ones: an hour of lost hints costs seconds, not a scan."""
AT_ONCE = 500
"""Items in one transaction, so that nobody waits for it."""


class Result(msgspec.Struct, frozen=True):
    said: Said
    snippet: Snippet


class Results(msgspec.Struct, frozen=True):
    results: Sequence[Result]
    last: FoundId
    """Where the next page goes on."""
    more: bool


class Indexer:
    """Woken by hints; whatever they miss is found by going round all feeds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._after = ""
        self._looked_at = Instant(0)

    async def run(self) -> None:
        with self._world.hints.listen(FEED) as ear:
            while True:
                try:
                    await self.round([FeedName(name) for name in ear.named()])
                except LedgerError:
                    await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)
                if await ear.wait(LOOK_EVERY):
                    await self._world.clock.sleep(GATHER)

    async def round(self, named: Sequence[FeedName]) -> None:
        search = self._world.ledger.search
        behind: Sequence[Standing] = [*await search.standing_of(named), *await self._look_on()]
        behind = list({one.feed: one for one in behind if one.behind}.values())
        while behind:
            behind = await search.index(behind, AT_ONCE)

    async def _look_on(self) -> Sequence[Standing]:
        now = self._world.clock.now()
        if 0 <= now - self._looked_at < LOOK_EVERY:
            return []
        found = await self._world.ledger.search.standing(self._after, LOOK_AT)
        self._looked_at = now
        self._after = found[-1].feed if len(found) == LOOK_AT else ""
        return found


async def search(
    caller: Caller, query: str, where: ConversationId | None, before: FoundId | None, limit: int, world: World
) -> Results:
    """Newest first, as far as whoever asks may see it; what went a moment ago leaves a page shorter than asked."""
    wanted = asked(query)
    if wanted is None:
        return Results([], NEWEST, more=False)
    of = Wanted(org_id=caller.org_id, user_id=caller.user_id, asked=wanted, conversation_id=where)
    found = await world.ledger.search.find(of, before or NEWEST, limit + 1)
    page = found[:limit]
    return Results(
        await _results(page, wanted, caller, world), page[-1].id if page else NEWEST, more=len(found) > limit
    )


async def _results(page: Sequence[Found], wanted: Asked, caller: Caller, world: World) -> list[Result]:
    ours = [MessageId(found.entry.message_id) for found in page if found.entry.message_id is not None]
    sent = {message.id: message.delivery for message in await world.ledger.messages.some(caller.org_id, ours)}
    results = []
    for found in page:
        entry, delivery = found.entry, sent.get(found.entry.message_id or MessageId(0))
        status = shown_status(delivery.status, delivery.read_at is not None) if delivery else None
        if found.contact_id is None:
            status = "sent"  # among people; who has read it is shown in its history
        part = snippet(chat_content.words(entry), wanted)
        if part is not None:
            results.append(Result(Said(entry=entry, contact_id=found.contact_id, status=status), part))
    return results
