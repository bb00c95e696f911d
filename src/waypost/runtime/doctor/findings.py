"""The doctor's findings: good, warning or wrong, each with what to do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from rich.console import Console
from rich.text import Text


class FindingLevel(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


_SHOWN = {
    FindingLevel.OK: ("ok    ", "green"),
    FindingLevel.WARNING: ("warn  ", "yellow"),
    FindingLevel.WRONG: ("wrong ", "red"),
}


class DoctorFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    level: FindingLevel
    text: str
    remedy: str = ""
    """What to do, in one line."""


def good(text: str) -> DoctorFinding:
    return DoctorFinding(FindingLevel.OK, text)


def warning(text: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(FindingLevel.WARNING, text, remedy)


def wrong(text: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(FindingLevel.WRONG, text, remedy)


class DoctorReport:
    """Printed as they are found, or at the end as one JSON object."""

    def __init__(self, *, as_json: bool) -> None:
        self._console = None if as_json else Console(highlight=False, soft_wrap=True)
        self._found: list[DoctorFinding] = []

    def add(self, *found: DoctorFinding) -> None:
        self._found += found
        if self._console is not None:
            for each in found:
                name, colour = _SHOWN[each.level]
                self._console.print(Text(name, colour).append(each.text, "default"))
                if each.remedy:
                    self._console.print(Text(f"      → {each.remedy}"))

    def extend(self, found: Sequence[DoctorFinding]) -> None:
        self.add(*found)

    @property
    def code(self) -> int:
        return 1 if any(each.level is FindingLevel.WRONG for each in self._found) else 0

    def end(self) -> int:
        """The exit code; a warning does not count as a failure."""
        if self._console is None:
            text = {"ok": self.code == 0, "findings": self._found}
            sys.stdout.write(msgspec.json.encode(text).decode() + "\n")
        return self.code
