"""The progress of a copy: a bar on a terminal, otherwise a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

EVERY = 5.0
"""Seconds between two lines about the same table."""


class ProgressDisplay(Protocol):
    def begin(self, what: str, total: int, done: int = 0) -> None: ...

    def at(self, done: int) -> None: ...

    def end(self) -> None: ...


@contextmanager
def shown() -> Iterator[ProgressDisplay]:
    if not sys.stderr.isatty():
        yield TextProgress(sys.stderr, time.monotonic)
        return
    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(bar)


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = TaskID(0)

    def begin(self, what: str, total: int, done: int = 0) -> None:
        self._task = self._bar.add_task(what, total=total, completed=done)

    def at(self, done: int) -> None:
        self._bar.update(self._task, completed=done)

    def end(self) -> None:
        self._bar.update(self._task, visible=False)


class TextProgress:
    """Prints nothing for an empty table."""

    def __init__(self, file: TextIO, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._what, self._total, self._done, self._written_at = "", 0, 0, 0.0
        self._written: int | None = None

    def begin(self, what: str, total: int, done: int = 0) -> None:
        self._what, self._total, self._done, self._written_at = what, total, done, self._clock()
        self._written = None

    def at(self, done: int) -> None:
        self._done = done
        if self._clock() - self._written_at >= EVERY:
            self._write()

    def end(self) -> None:
        if self._total and self._written != self._done:
            self._write()

    def _write(self) -> None:
        self._written_at, self._written = self._clock(), self._done
        self._file.write(f"{self._what}: {self._done} of {self._total}\n")
        self._file.flush()
