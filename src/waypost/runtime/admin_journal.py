"""`waypost admin journal` and `replay-journal`: what webhooks brought, and taking it again."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from waypost.flow import replay
from waypost.model.ids import OrgId
from waypost.model.update import JournalState
from waypost.ports.journal import Journaled
from waypost.runtime.admin import app
from waypost.runtime.cli import Failed
from waypost.runtime.tables import Json, Org, day, of_known, table

_COLUMNS = ["id", "kind", "key", "state", "received", "error"]
_STATES = ", ".join(JournalState)


@app.command()
def journal(
    org: Org, state: Annotated[str | None, typer.Option(help=f"One of: {_STATES}.")] = None, json: Json = False
) -> None:
    """List what webhooks brought beside messages and statuses, newest first."""
    if state is not None and state not in list(JournalState):
        raise Failed(f"--state is one of {_STATES}")
    found = of_known(org, lambda world: world.ledger.journal.items(OrgId(org), state, 100))
    if json:  # whoever reads it takes the item as the provider said it
        whole = [[*_row(each), each.item.number, each.item.body] for each in found]
        table([*_COLUMNS, "number", "body"], whole, as_json=True)
    else:
        table(_COLUMNS, [_row(each, longest_key=40) for each in found], as_json=False)


def _row(each: Journaled, longest_key: int | None = None) -> list[str]:
    item = each.item
    key = item.key[:longest_key]
    return [str(each.id), item.kind, key, item.state, day(each.received_at), item.error or ""]


@app.command()
def replay_journal(
    org: Org, item_id: Annotated[int, typer.Argument(metavar="ID", help="The item's id, as `journal` lists it.")]
) -> None:
    """Take a journaled item again, through the same path as when it came."""
    replayed = of_known(org, lambda world: replay.replay(OrgId(org), item_id, world))
    if isinstance(replayed, replay.NoItem):
        raise Failed(f"org {org} has no journaled item {item_id}")
    if isinstance(replayed, replay.NotReplayable):
        raise Failed(f"item {item_id} was acted on already")
    why = f": {replayed.item.error}" if replayed.item.error else ""
    sys.stdout.write(f"item {item_id} is {replayed.item.state}{why}\n")
