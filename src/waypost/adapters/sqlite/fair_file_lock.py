"""A fair file lock between processes: the longest waiting one gets it next."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FairFileLock:
    """Two locks: a process waits for `turn` while it holds `queue`, so it cannot overtake the next waiter."""

    def __init__(self, database: Path) -> None:
        self._queue = _opened(database.with_name(database.name + "-queue"))
        self._turn = _opened(database.with_name(database.name + "-turn"))

    @contextmanager
    def held(self) -> Iterator[None]:
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._queue)
        os.close(self._turn)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
