"""/api/v1/search: what was said, found by its words."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from waypost.flow import inbox
from waypost.flow import search as flow
from waypost.http.context import Asking, Here
from waypost.http.conversation_views import ChatMessage, chat_message
from waypost.http.conversations import Cursor, bound_to, conversation_of, cursor_at, missing, place_of
from waypost.http.documented import problems
from waypost.ports.chats import NoChat
from waypost.ports.search import FoundId


class SnippetView(msgspec.Struct):
    """A part of what was said."""

    text: str
    marks: list[tuple[int, int]]
    """Where the words that were found begin and end in it, in Unicode characters; the end is not included."""


class FoundView(msgspec.Struct, kw_only=True):
    message: ChatMessage
    conversation_id: str
    snippet: SnippetView


class FoundList(msgspec.Struct, kw_only=True):
    results: list[FoundView]
    """Newest first."""
    next_cursor: str | None
    """Ask again with this for what was said before."""
    has_more: bool


def _view(result: flow.Result) -> FoundView:
    message = chat_message(result.said)
    marks = list(result.snippet.marks)
    return FoundView(
        message=message,
        conversation_id=message.conversation_id,
        snippet=SnippetView(result.snippet.text, marks),
    )


@get("/search", summary="Find messages by their words", responses=problems(400, 404, 410))
async def search(
    caller: Asking,
    world: Here,
    q: Annotated[
        str,
        QueryParameter(
            min_length=1, max_length=256, description="All of these words; the last may be the beginning of one"
        ),
    ],
    conversation_id: Annotated[str | None, QueryParameter(required=False, description="Only in this one")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20,
) -> FoundList:
    """In the org's customers' conversations, notes included, and in the caller's own chats. Case and accents do not
    matter, and nothing in it has a special meaning. A message can be found about a second after it was written."""
    where = None if conversation_id is None else conversation_of(conversation_id)
    if where is not None and isinstance(await inbox.conversation(caller, where, world), NoChat):
        raise missing()
    bound = bound_to(caller, msgspec.json.encode(["search", q, where]).decode())
    place = place_of(cursor, bound, world)
    page = await flow.search(caller, q, where, None if place is None else FoundId(place.first), limit, world)
    return FoundList(
        results=[_view(result) for result in page.results],
        next_cursor=cursor_at(page.last, 0, bound, world) if page.more else None,
        has_more=page.more,
    )
