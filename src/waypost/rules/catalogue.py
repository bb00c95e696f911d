"""What an error code means for the message that met it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Action(StrEnum):
    RETRY = "retry"
    FAIL = "fail"


class ErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    title: str
    action: Action
    meaning: str


class Catalogue(msgspec.Struct, frozen=True):
    """A table of codes; a row may stand for a range (`200-299`)."""

    name: str
    codes: Mapping[str, ErrorCode]
    ranges: tuple[tuple[int, int, ErrorCode], ...]

    def find(self, code: str) -> ErrorCode | None:
        exact = self.codes.get(code)
        if exact is not None or not _is_number(code):
            return exact
        return next((row for low, high, row in self.ranges if low <= int(code) <= high), None)

    def action(self, code: str) -> Action:
        """An unknown code is worth another try: only a known hopeless one ends a message at once."""
        known = self.find(code)
        return known.action if known else Action.RETRY


def _is_number(code: str) -> bool:
    return code.isascii() and code.isdecimal() and len(code) <= 9


def parse(name: str, text: str) -> Catalogue:
    """Read a table of `code,title,action,meaning`."""
    rows = [
        ErrorCode(code=row["code"], title=row["title"], action=Action(row["action"]), meaning=row["meaning"])
        for row in csv.DictReader(text.splitlines())
    ]
    exact = {row.code: row for row in rows if "-" not in row.code}
    return Catalogue(name, exact, tuple(_range(row) for row in rows if "-" in row.code))


def _range(row: ErrorCode) -> tuple[int, int, ErrorCode]:
    low, high = row.code.split("-")
    return int(low), int(high), row
