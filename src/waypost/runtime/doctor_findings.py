"""What the doctor found: well, to be watched, or wrong; and for each what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from rich.console import Console
from rich.text import Text


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


_SHOWN = {Level.OK: ("ok    ", "green"), Level.WARNING: ("warn  ", "yellow"), Level.WRONG: ("wrong ", "red")}


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    level: Level
    text: str
    remedy: str = ""
    """What to do, in one line."""


def good(text: str) -> Finding:
    return Finding(Level.OK, text)


def warning(text: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, text, remedy)


def wrong(text: str, remedy: str) -> Finding:
    return Finding(Level.WRONG, text, remedy)


class Findings:
    """Shown one by one as they are found, or all at the end as one JSON object."""

    def __init__(self, *, as_json: bool) -> None:
        self._console = None if as_json else Console(highlight=False, soft_wrap=True)
        self._found: list[Finding] = []

    def add(self, *found: Finding) -> None:
        self._found += found
        if self._console is not None:
            for each in found:
                name, colour = _SHOWN[each.level]
                self._console.print(Text(name, colour).append(each.text, "default"))
                if each.remedy:
                    self._console.print(Text(f"      → {each.remedy}"))

    def extend(self, found: Sequence[Finding]) -> None:
        self.add(*found)

    @property
    def code(self) -> int:
        return 1 if any(each.level is Level.WRONG for each in self._found) else 0

    def end(self) -> int:
        """The exit code; a warning is no failure."""
        if self._console is None:
            told = {"ok": self.code == 0, "findings": self._found}
            sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
        return self.code
