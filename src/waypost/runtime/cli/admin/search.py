"""`waypost admin search`: finds messages in customer conversations by their words."""

from __future__ import annotations

from typing import Annotated

import typer

from waypost.flow.conversations.search import search as find
from waypost.http.conversations.conversation_views import chat_message
from waypost.model.account import Caller, Role
from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId
from waypost.rules.conversations.entry_ids import LARGEST_CONVERSATION
from waypost.runtime.cli.tables import JsonOption, OrgArgument, of_known, table


def register(admin: typer.Typer) -> None:
    admin.command("search")(search)


def search(
    org: OrgArgument,
    words: Annotated[str, typer.Argument(help="Finds messages with all of these words; the last may be a prefix.")],
    conversation: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_CONVERSATION, help="Only in this conversation.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    json: JsonOption = False,
) -> None:
    """Find messages in customer conversations by their words, newest first."""
    where = None if conversation is None else ConversationId(conversation)
    found = of_known(org, lambda world: find(_operator(org), words, where, None, limit, world))
    rows = []
    for result in found.results:
        view = chat_message(result.entry)
        moment = f"{view.timestamp:%Y-%m-%d %H:%M:%S}"
        rows.append([view.conversation_id, str(view.position), moment, view.sender_id, result.snippet.text])
    table(["conversation_id", "position", "timestamp", "sender_id", "said"], rows, as_json=json)


def _operator(org: str) -> Caller:
    """The operator of the machine sees an org's customers as its admin does."""
    return Caller(org_id=OrgId(org), role=Role.ADMIN)
