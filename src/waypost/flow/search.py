"""What was said is taken into the index a moment later, behind the feeds; and found by its words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow import bodies
from waypost.flow.inbox import Said, said_of
from waypost.flow.read_behind import ReadBehind
from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.conversation import ConversationId
from waypost.model.ids import MessageId
from waypost.model.reading import Reader, Standing
from waypost.ports.search import NEWEST, Found, FoundId, Wanted
from waypost.rules import chat_content
from waypost.rules.search import Asked, Snippet, asked, snippet

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


def indexer(world: World) -> ReadBehind:
    async def index(behind: Sequence[Standing]) -> Sequence[Standing]:
        return await world.ledger.search.index(behind, AT_ONCE)

    return ReadBehind(Reader.SEARCH, index, world)


async def search(
    caller: Caller, query: str, where: ConversationId | None, before: FoundId | None, limit: int, world: World
) -> Results:
    """Newest first, as far as whoever asks may see it; what went a moment ago leaves a page shorter than asked."""
    wanted = asked(query)
    if wanted is None:
        return Results([], NEWEST, more=False)
    of = Wanted(org_id=caller.org_id, user_id=caller.user_id, asked=wanted, conversation_id=where)
    found = await world.ledger.search.find(of, before or NEWEST, limit + 1)
    whole = await bodies.first_part([one.entry for one in found[:limit]], world.log)
    page = [replace(one, entry=entry) for one, entry in zip(found, whole, strict=False)]
    return Results(
        await _results(page, wanted, caller, world), page[-1].id if page else NEWEST, more=len(found) > len(page)
    )


async def _results(page: Sequence[Found], wanted: Asked, caller: Caller, world: World) -> list[Result]:
    ours = [MessageId(found.entry.message_id) for found in page if found.entry.message_id is not None]
    sent = {message.id: message for message in await world.ledger.messages.some(caller.org_id, ours)}
    results = []
    for found in page:
        entry = found.entry
        said = await said_of(entry, found.contact_id, sent.get(entry.message_id or MessageId(0)), world)
        if found.contact_id is None:
            said = replace(said, status="sent")  # among people; who has read it is shown in its history
        part = snippet(chat_content.words(entry), wanted)
        if part is not None:
            results.append(Result(said, part))
    return results
