"""How a command shows what it found: a table for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def facts(found: Mapping[str, str], *, as_json: bool) -> None:
    """One thing, a line for each of its fields."""
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.items():
        table.add_row(Text(name, "dim"), Text(value))
    Console(highlight=False, soft_wrap=True).print(table)


def listing(columns: list[str], rows: list[list[str]], *, as_json: bool) -> None:
    """Many things, a line each."""
    if as_json:
        sys.stdout.write(msgspec.json.encode([dict(zip(columns, row, strict=True)) for row in rows]).decode() + "\n")
        return
    table = Table(*columns, box=None, pad_edge=False, header_style="dim")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table if rows else "none")
