"""Prints facts and lists, and validates input as the API does."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.time import Instant, to_datetime
from waypost.runtime.cli.app import CommandFailed, with_world

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
OrgArgument = Annotated[str, typer.Argument(metavar="ORG", help="The org's id.")]

Body = TypeVar("Body")
Found = TypeVar("Found")


UNCUT = 100_000


def console() -> Console:
    """Cut to the width of a terminal; a pipe gets the full text."""
    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else UNCUT)


def show(facts: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(facts).decode() + "\n")
        return
    lines = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        lines.add_row(Text(name, "dim"), Text(value))
    console().print(lines)


def table(columns: list[str], rows: list[list[str]], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode([dict(zip(columns, row, strict=True)) for row in rows]).decode() + "\n")
        return
    lines = Table(*columns, box=None, pad_edge=False, header_style="dim")
    for row in rows:
        lines.add_row(*map(Text, row))
    console().print(lines if rows else "none", soft_wrap=False)


def day(moment: Instant) -> str:
    return f"{to_datetime(moment):%Y-%m-%d %H:%M}"


async def known_org(org: str, world: World) -> OrgId:
    if await world.ledger.accounts.org(OrgId(org)) is None:
        raise CommandFailed(f"there is no org {org}: make it with `waypost admin create-org {org}`")
    return OrgId(org)


def of_known(org: str, read: Callable[[World], Awaitable[Found]]) -> Found:
    async def of_known_org(world: World) -> Found:
        await known_org(org, world)
        return await read(world)

    return with_world(of_known_org, existing=True)


def checked(kind: type[Body], **given: object) -> Body:
    """Validates with the limits of the API."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise CommandFailed(f"{field.rstrip('`').replace('_', '-')}: {what}") from None
