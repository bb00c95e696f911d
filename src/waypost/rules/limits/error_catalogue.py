"""The error catalogue: what each error code means for a message and for its scope."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from waypost.model.gate import GateBackoff
from waypost.model.time import Span, days, seconds

LONGEST_WISH = days(1)
"""The longest wait that we accept from a provider."""

SHORTEST_WISH = 0.001
"""Seconds."""


class ErrorAction(StrEnum):
    RETRY = "retry"
    """Another attempt may succeed; each one counts."""
    WAIT = "wait"
    """A limit was reached: the whole scope waits, and no attempt is counted."""
    HOLD = "hold"
    """Nothing in the scope can succeed until a person removes the cause."""
    FAIL = "fail"
    """This message can never succeed."""


class ErrorScope(StrEnum):
    """What an error code blocks."""

    PAIR = "pair"
    """One of our numbers and one recipient."""
    NUMBER = "number"
    """One of our numbers, and the token it sends with."""
    ACCOUNT = "account"
    """Every number of a business account."""
    APP = "app"
    """Everything that is sent through the same app."""
    TEMPLATE = "template"


SCOPES: Mapping[ErrorAction, frozenset[ErrorScope | None]] = {
    ErrorAction.RETRY: frozenset({None}),
    ErrorAction.WAIT: frozenset({ErrorScope.PAIR, ErrorScope.NUMBER, ErrorScope.ACCOUNT, ErrorScope.APP}),
    ErrorAction.HOLD: frozenset({ErrorScope.NUMBER, ErrorScope.ACCOUNT, ErrorScope.TEMPLATE}),
    ErrorAction.FAIL: frozenset({None}),
}


USUAL_WAIT = GateBackoff()


class ErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    title: str
    action: ErrorAction
    meaning: str
    scope: ErrorScope | None = None
    """For `wait` and `hold`; other codes concern only their own message."""
    wait: GateBackoff | None = None

    @property
    def retryable(self) -> bool:
        """Whether the same message may succeed later without anyone's help."""
        return self.action in (ErrorAction.RETRY, ErrorAction.WAIT)

    @property
    def rate_limit(self) -> bool:
        return self.action is ErrorAction.WAIT


class ErrorCatalogue(msgspec.Struct, frozen=True):
    """A table of codes; a row may cover a range (`200-299`)."""

    name: str
    codes: Mapping[str, ErrorCode]
    ranges: tuple[tuple[int, int, ErrorCode], ...]

    def find(self, code: str) -> ErrorCode | None:
        exact = self.codes.get(code)
        if exact is not None or not _is_number(code):
            return exact
        return next((row for low, high, row in self.ranges if low <= int(code) <= high), None)

    def action(self, code: str) -> ErrorAction:
        """An unknown code is retried: only a code known to be permanent ends a message at once."""
        known = self.find(code)
        return known.action if known else ErrorAction.RETRY

    def rows(self) -> list[ErrorCode]:
        """Every row, by number; a range after the code that it begins with, non-numeric codes at the end."""
        rows = [*self.codes.values(), *(row for _, _, row in self.ranges)]
        return sorted(rows, key=lambda row: _order(row.code))


def wait_for(wait: GateBackoff | None, times_in_a_row: int, retry_after: float | None) -> Span:
    """How long a scope stays closed after so many refusals in a row; the provider's own wait takes precedence.

    A wait of about 0 is ignored: it would cause an immediate retry.
    """
    if retry_after is not None and retry_after >= SHORTEST_WISH:
        return Span(min(LONGEST_WISH, seconds(min(retry_after, 1e9))))
    return (wait or USUAL_WAIT).after(times_in_a_row)


def _order(code: str) -> tuple[bool, list[int]]:
    parts = code.partition("-")[0].split(".")
    numbers = [int(part) for part in parts if _is_number(part)]
    return len(numbers) < len(parts), numbers


def _is_number(code: str) -> bool:
    return code.isascii() and code.isdecimal() and len(code) <= 9


def parse(name: str, text: str) -> ErrorCatalogue:
    """Read a table of `code,title,action,scope,first,growth,longest,meaning`; the two waits are in seconds."""
    rows = [_row(cells) for cells in csv.DictReader(text.splitlines())]
    exact = {row.code: row for row in rows if "-" not in row.code}
    return ErrorCatalogue(name, exact, tuple(_range(row) for row in rows if "-" in row.code))


def _row(cells: Mapping[str, str]) -> ErrorCode:
    action, scope = ErrorAction(cells["action"]), ErrorScope(cells["scope"]) if cells.get("scope") else None
    if scope not in SCOPES[action]:
        raise ValueError(f"code {cells['code']}: {action} has no scope {scope}")
    return ErrorCode(
        code=cells["code"],
        title=cells["title"],
        action=action,
        meaning=cells["meaning"],
        scope=scope,
        wait=_wait(cells) if action is ErrorAction.WAIT else None,
    )


def _wait(cells: Mapping[str, str]) -> GateBackoff:
    first, growth, longest = (float(cells[name]) for name in ("first", "growth", "longest"))
    return GateBackoff(seconds(first), growth, seconds(longest))


def _range(row: ErrorCode) -> tuple[int, int, ErrorCode]:
    low, high = row.code.split("-")
    return int(low), int(high), row
