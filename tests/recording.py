"""What a test counted, as a line of JSON in the file that WAYPOST_TEST_RECORD names: `make proof` adds them up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class Checked(Protocol):
    def check(self) -> None: ...


def check_and_record(verdict: Checked, footprint: str, strikes: int) -> None:
    with recorded(footprint, strikes):
        verdict.check()


@contextmanager
def recorded(footprint: str, strikes: int = 1) -> Iterator[None]:
    """What is checked within; recorded also when it is broken."""
    violations = 1
    try:
        yield
        violations = 0
    finally:
        record(footprint=footprint, strikes=strikes, violations=violations)


def record(**counted: object) -> None:
    if file := os.environ.get("WAYPOST_TEST_RECORD"):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        with Path(file).open("a") as lines:
            lines.write(json.dumps({"test": test, **counted}) + "\n")
