"""`waypost admin journal` and `replay-journal`: lists webhook items and replays one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from waypost.flow.receiving import replay_webhook
from waypost.model.ids import OrgId
from waypost.model.update import JournalState
from waypost.ports.receiving.journal import JournalEntry
from waypost.runtime.cli.admin.app import app
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, day, of_known, table

_COLUMNS = ["id", "kind", "key", "state", "received", "error"]
_STATES = ", ".join(JournalState)


@app.command()
def journal(
    org: OrgArgument,
    state: Annotated[str | None, typer.Option(help=f"One of: {_STATES}.")] = None,
    json: JsonOption = False,
) -> None:
    """List webhook items other than messages and statuses, newest first."""
    if state is not None and state not in list(JournalState):
        raise CommandFailed(f"--state is one of {_STATES}")
    found = of_known(org, lambda world: world.ledger.journal.items(OrgId(org), state, 100))
    if json:  # JSON output keeps the item as the provider sent it
        whole = [[*_row(each), each.item.number, each.item.body] for each in found]
        table([*_COLUMNS, "number", "body"], whole, as_json=True)
    else:
        table(_COLUMNS, [_row(each, longest_key=40) for each in found], as_json=False)


def _row(each: JournalEntry, longest_key: int | None = None) -> list[str]:
    item = each.item
    key = item.key[:longest_key]
    return [str(each.id), item.kind, key, item.state, day(each.received_at), item.error or ""]


@app.command()
def replay_journal(
    org: OrgArgument,
    item_id: Annotated[int, typer.Argument(metavar="ID", help="The item's id, as `journal` lists it.")],
) -> None:
    """Replay a journal item, as if it had just arrived."""
    replayed = of_known(org, lambda world: replay_webhook.replay(OrgId(org), item_id, world))
    if isinstance(replayed, replay_webhook.JournalItemNotFound):
        raise CommandFailed(f"org {org} has no journaled item {item_id}")
    if isinstance(replayed, replay_webhook.NotReplayable):
        raise CommandFailed(f"item {item_id} was acted on already")
    why = f": {replayed.item.error}" if replayed.item.error else ""
    sys.stdout.write(f"item {item_id} is {replayed.item.state}{why}\n")
