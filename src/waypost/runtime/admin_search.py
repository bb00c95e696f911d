"""`waypost admin search`: what customers and those who answer them said, found by its words."""

from __future__ import annotations

from typing import Annotated

import typer

from waypost.flow.search import search as find
from waypost.http.conversation_views import chat_message
from waypost.model.account import Caller, Role
from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId
from waypost.rules.entry_ids import LARGEST_CONVERSATION
from waypost.runtime.tables import Json, Org, of_known, table


def register(admin: typer.Typer) -> None:
    admin.command("search")(search)


def search(
    org: Org,
    words: Annotated[str, typer.Argument(help="All of these; the last may be the beginning of one.")],
    conversation: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_CONVERSATION, help="Only in this conversation.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    json: Json = False,
) -> None:
    """Find messages in customers' conversations by their words, newest first."""
    where = None if conversation is None else ConversationId(conversation)
    found = of_known(org, lambda world: find(_operator(org), words, where, None, limit, world))
    rows = []
    for result in found.results:
        view = chat_message(result.said)
        moment = f"{view.timestamp:%Y-%m-%d %H:%M:%S}"
        rows.append([view.conversation_id, str(view.position), moment, view.sender_id, result.snippet.text])
    table(["conversation_id", "position", "timestamp", "sender_id", "said"], rows, as_json=json)


def _operator(org: str) -> Caller:
    """Whoever has the machine sees an org's customers as its admin does."""
    return Caller(org_id=OrgId(org), role=Role.ADMIN)
