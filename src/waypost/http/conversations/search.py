"""/api/v1/search: finds messages by their words."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from waypost.flow.conversations import inbox
from waypost.flow.conversations import search as flow
from waypost.http.conversations.conversation_views import ChatMessage, chat_message
from waypost.http.conversations.conversations import Cursor, bound_to, conversation_of, cursor_at, missing, place_of
from waypost.http.edge.context import CurrentCaller, CurrentWorld
from waypost.http.edge.route_docs import problems
from waypost.ports.conversations.chats import ChatNotFound
from waypost.ports.conversations.search import FoundId


class SnippetView(msgspec.Struct):
    """A part of the message's text."""

    text: str
    marks: list[tuple[int, int]]
    """Start and end of each match in `text`, in Unicode characters; the end is exclusive."""


class FoundView(msgspec.Struct, kw_only=True):
    message: ChatMessage
    conversation_id: str
    snippet: SnippetView


class FoundList(msgspec.Struct, kw_only=True):
    results: list[FoundView]
    """Newest first."""
    next_cursor: str | None
    """Pass it as `cursor` to get older matches."""
    has_more: bool


def _view(result: flow.SearchResult) -> FoundView:
    message = chat_message(result.entry)
    marks = list(result.snippet.marks)
    return FoundView(
        message=message,
        conversation_id=message.conversation_id,
        snippet=SnippetView(result.snippet.text, marks),
    )


@get("/search", summary="Find messages by their words", responses=problems(400, 404, 410))
async def search(
    caller: CurrentCaller,
    world: CurrentWorld,
    q: Annotated[
        str,
        QueryParameter(
            min_length=1, max_length=256, description="Finds messages with all of these words; the last may be a prefix"
        ),
    ],
    conversation_id: Annotated[
        str | None, QueryParameter(required=False, description="Only in this conversation")
    ] = None,
    cursor: Cursor = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20,
) -> FoundList:
    """Searches the org's customer conversations, with notes, and the caller's own chats. Case and accents are ignored,
    and no character is an operator. A message can be found about a second after it is stored."""
    where = None if conversation_id is None else conversation_of(conversation_id)
    if where is not None and isinstance(await inbox.conversation(caller, where, world), ChatNotFound):
        raise missing()
    bound = bound_to(caller, msgspec.json.encode(["search", q, where]).decode())
    place = place_of(cursor, bound, world)
    page = await flow.search(caller, q, where, None if place is None else FoundId(place.first), limit, world)
    return FoundList(
        results=[_view(result) for result in page.results],
        next_cursor=cursor_at(page.last, 0, bound, world) if page.more else None,
        has_more=page.more,
    )
