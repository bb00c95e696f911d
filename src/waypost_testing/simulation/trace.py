"""The events of a run, line by line, with a running digest: two runs are equal when their digests are."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable

Fact = str | int | float | bytes | None
_PLAIN = frozenset({str, int, float, bytes, bool, type(None)})


class Trace:
    """Append-only. `limit` bounds the lines kept, not the digest, which covers every line ever noted."""

    def __init__(self, stamp: Callable[[], str], limit: int | None = None) -> None:
        self._stamp = stamp
        self._lines: deque[str] = deque(maxlen=limit)
        self._hash = hashlib.sha256()
        self._closed = False
        self.count = 0

    def note(self, kind: str, **facts: Fact) -> None:
        """Add one line. Facts are plain values: the repr of an object may hold its address, which differs per run."""
        if self._closed:
            return
        for name, value in facts.items():
            if type(value) not in _PLAIN and not isinstance(value, Fact):
                raise TypeError(f"trace fact {name} of {kind} is a {type(value).__name__}, not a plain value")
        line = " ".join([self._stamp(), kind, *(f"{name}={value!r}" for name, value in facts.items())])
        self._hash.update(line.encode("utf-8", "backslashreplace") + b"\n")
        self._lines.append(line)
        self.count += 1

    def lines(self) -> list[str]:
        """The latest `limit` lines, oldest first; all of them when there is no limit."""
        return list(self._lines)

    def digest(self) -> str:
        return self._hash.hexdigest()

    def close(self) -> None:
        """Ignore later lines: the teardown is not part of the run."""
        self._closed = True
