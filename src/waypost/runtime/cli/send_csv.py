"""`waypost send`: sends a CSV file, each row once, however often the command runs."""

from __future__ import annotations

import csv
import hashlib
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from waypost.flow.sending import submit
from waypost.flow.world import World
from waypost.http.sending.outbound import submit_request
from waypost.http.sending.views import CreateMessage
from waypost.model.ids import OrgId
from waypost.ports.platform.failure import LedgerError
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import known_org

BATCH = 500
SHOWN = 20
"""Refused rows that are printed; the others are only counted."""
_TEXTS = frozenset({"to", "from", "templateCode", "subject", "idempotencyKey", "scheduledAt", "expiresAt", "channel"})
_NUMBERS = frozenset({"priority", "maxAttempts", "dossierId"})
_OURS = frozenset({"text", "language", "ordered", "payloadJson"})


@dataclass(frozen=True, slots=True)
class CsvRow:
    number: int
    """The row number in a spreadsheet: the header is 1."""
    cells: Mapping[str, str]


@dataclass(slots=True)
class BulkResult:
    stored: int = 0
    there: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)

    def refuse(self, row: CsvRow, reason: str) -> None:
        self.refused.append((row.number, reason))


def read_rows(file: Path) -> list[CsvRow]:
    """All rows; the columns are checked before anything is sent."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines, strict=True)
            _check_columns(reader.fieldnames or [])
            return [CsvRow(number, _cells(number, cells)) for number, cells in enumerate(reader, 2)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CommandFailed(f"{file} cannot be read as CSV in UTF-8: {error}") from None


def _check_columns(names: Sequence[str]) -> None:
    if "to" not in names:
        raise CommandFailed("the file needs a header row with a column `to`")
    unknown = [name for name in names if name not in _TEXTS | _NUMBERS | _OURS and not _is_parameter(name)]
    if unknown:
        raise CommandFailed(f"column {unknown[0]!r} is not known: see `waypost send --help`")


def _is_parameter(name: str) -> bool:
    return name.startswith("body") and name[4:].isdecimal()


def _cells(number: int, cells: dict[str | None, Any]) -> dict[str, str]:
    if None in cells or None in cells.values():
        raise CommandFailed(f"row {number} has another number of cells than the header")
    return {str(name): value for name, value in cells.items() if value != ""}


def key_of(file_name: str, row: CsvRow) -> str:
    """The same row of the same file gives the same key; a changed row gives another."""
    content = msgspec.json.encode([file_name, row.number, dict(row.cells)], order="deterministic")
    return f"csv-{hashlib.sha256(content).hexdigest()[:40]}"


def message_of(row: CsvRow, file_name: str) -> submit.SubmitRequest | str:
    """The row's request, or why it is invalid."""
    asked: dict[str, Any] = {"channel": "WHATSAPP", "idempotencyKey": key_of(file_name, row)}
    asked |= {name: value for name, value in row.cells.items() if name in _TEXTS}
    try:
        asked |= {name: _number(name, value) for name, value in row.cells.items() if name in _NUMBERS}
        asked |= _content(row.cells)
        return submit_request(msgspec.convert(asked, CreateMessage), None)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        return f"{where.rstrip('`') or 'row'}: {what}"
    except (ValueError, RecursionError) as error:
        return str(error)


def _number(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise ValueError(f"{name}: {value[:40]!r} is not a whole number")
    return int(value)


def _content(cells: Mapping[str, str]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if "payloadJson" in cells:
        content["payloadJson"] = msgspec.json.decode(cells["payloadJson"])
    elif "templateCode" in cells:
        content["payloadJson"] = _template(cells)
    elif "text" in cells:
        content["payloadJson"] = {"text": cells["text"]}
    if "ordered" in cells:
        if cells["ordered"] not in ("true", "false"):
            raise ValueError("ordered: must be true or false")
        content["ordered"] = cells["ordered"] == "true"
    return content


def _template(cells: Mapping[str, str]) -> dict[str, Any]:
    payload: dict[str, Any] = {"language": cells.get("language", "en")}
    places = sorted((int(name[4:]), value) for name, value in cells.items() if _is_parameter(name))
    if places:
        payload["components"] = [{"type": "body", "parameters": [{"type": "text", "text": v} for _, v in places]}]
    return payload


async def send(org: str, file: Path, rows: Sequence[CsvRow], world: World, *, dry_run: bool) -> BulkResult:
    count = BulkResult()
    org_id = await known_org(org, world)
    with _progress() as progress:
        task = progress.add_task("checking" if dry_run else "storing", total=len(rows))
        for batch in _batches(rows):
            await _one_batch(batch, file.name, org_id, world, count, dry_run=dry_run)
            progress.advance(task, len(batch))
    return count


async def _one_batch(
    rows: Sequence[CsvRow], file_name: str, org: OrgId, world: World, count: BulkResult, *, dry_run: bool
) -> None:
    asked = [(row, message_of(row, file_name)) for row in rows]
    for row, reason in asked:
        if isinstance(reason, str):
            count.refuse(row, reason)
    good = [(row, request) for row, request in asked if not isinstance(request, str)]
    if dry_run:
        answers: list[Any] = [await submit.check(request, org, world) for _, request in good]
    else:
        answers = list(await submit.submit_all([request for _, request in good], org, world))
    for (row, _), answer in zip(good, answers, strict=True):
        _count(row, answer, count)


def _count(row: CsvRow, answer: Any, count: BulkResult) -> None:
    if isinstance(answer, submit.SubmitRefusal):
        count.refuse(row, f"{answer.field}: {answer.reason}")
    elif isinstance(answer, LedgerError):
        count.refuse(row, f"not stored, run the command again: {answer}")
    elif isinstance(answer, submit.StoredMessage) and not answer.created:
        count.there += 1
    else:
        count.stored += 1


def _batches(rows: Iterable[CsvRow]) -> Iterator[list[CsvRow]]:
    left = iter(rows)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)


def report(count: BulkResult, *, dry_run: bool) -> int:
    """Print the result; 1 if a row was refused."""
    done = f"{count.stored} would be stored" if dry_run else f"{count.stored} stored, {count.there} were there already"
    sys.stdout.write(f"{done}, {len(count.refused)} refused\n")
    for number, reason in sorted(count.refused)[:SHOWN]:
        sys.stderr.write(f"waypost: row {number}: {reason}\n")
    if len(count.refused) > SHOWN:
        sys.stderr.write(f"waypost: and {len(count.refused) - SHOWN} more\n")
    return 1 if count.refused else 0
