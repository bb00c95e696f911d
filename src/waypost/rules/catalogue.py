"""What an error code means for the message that met it, and for those that would meet it next."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from waypost.model.gate import Wait
from waypost.model.time import Span, days, seconds

LONGEST_WISH = days(1)
"""However long a provider asks us to stay away, it is asked again within this."""

SHORTEST_WISH = 0.001
"""Seconds."""


class Action(StrEnum):
    RETRY = "retry"
    """Another try of this message may succeed; each one counts."""
    WAIT = "wait"
    """A limit was reached: the whole scope waits for a while, and nothing is counted."""
    HOLD = "hold"
    """Nothing of the scope can succeed until somebody has removed the cause."""
    FAIL = "fail"
    """This message never will."""


class Scope(StrEnum):
    """What a code stands in the way of."""

    PAIR = "pair"
    """One of our numbers and one recipient."""
    NUMBER = "number"
    """One of our numbers, and the token it sends with."""
    ACCOUNT = "account"
    """Every number of a business account."""
    APP = "app"
    """Everything that is sent through the same app."""
    TEMPLATE = "template"


SCOPES: Mapping[Action, frozenset[Scope | None]] = {
    Action.RETRY: frozenset({None}),
    Action.WAIT: frozenset({Scope.PAIR, Scope.NUMBER, Scope.ACCOUNT, Scope.APP}),
    Action.HOLD: frozenset({Scope.NUMBER, Scope.ACCOUNT, Scope.TEMPLATE}),
    Action.FAIL: frozenset({None}),
}


USUAL_WAIT = Wait()


class ErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    title: str
    action: Action
    meaning: str
    scope: Scope | None = None
    """Of a wait or a hold; the rest concerns its own message only."""
    wait: Wait | None = None

    @property
    def retryable(self) -> bool:
        """Whether the same message may succeed later with nobody doing anything."""
        return self.action in (Action.RETRY, Action.WAIT)

    @property
    def rate_limit(self) -> bool:
        return self.action is Action.WAIT


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

    def rows(self) -> list[ErrorCode]:
        """Every row, by number; a range after the code that it begins with."""
        rows = [*self.codes.values(), *(row for _, _, row in self.ranges)]
        return sorted(rows, key=lambda row: int(row.code.partition("-")[0]))


def wait_for(wait: Wait | None, times_in_a_row: int, retry_after: float | None) -> Span:
    """How long a scope stays closed after it was refused so often in a row; what the provider asks for wins.

    No time, or one of as good as 0, is no answer: it would have us knock again at once.
    """
    if retry_after is not None and retry_after >= SHORTEST_WISH:
        return Span(min(LONGEST_WISH, seconds(min(retry_after, 1e9))))
    return (wait or USUAL_WAIT).after(times_in_a_row)


def _is_number(code: str) -> bool:
    return code.isascii() and code.isdecimal() and len(code) <= 9


def parse(name: str, text: str) -> Catalogue:
    """Read a table of `code,title,action,scope,first,growth,longest,meaning`; the two waits are in seconds."""
    rows = [_row(cells) for cells in csv.DictReader(text.splitlines())]
    exact = {row.code: row for row in rows if "-" not in row.code}
    return Catalogue(name, exact, tuple(_range(row) for row in rows if "-" in row.code))


def _row(cells: Mapping[str, str]) -> ErrorCode:
    action, scope = Action(cells["action"]), Scope(cells["scope"]) if cells.get("scope") else None
    if scope not in SCOPES[action]:
        raise ValueError(f"code {cells['code']}: {action} has no scope {scope}")
    return ErrorCode(
        code=cells["code"],
        title=cells["title"],
        action=action,
        meaning=cells["meaning"],
        scope=scope,
        wait=_wait(cells) if action is Action.WAIT else None,
    )


def _wait(cells: Mapping[str, str]) -> Wait:
    first, growth, longest = (float(cells[name]) for name in ("first", "growth", "longest"))
    return Wait(seconds(first), growth, seconds(longest))


def _range(row: ErrorCode) -> tuple[int, int, ErrorCode]:
    low, high = row.code.split("-")
    return int(low), int(high), row
