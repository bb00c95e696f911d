"""A fair turn at a file, between processes: who waits longest writes next."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileTurn:
    """Two locks: to wait for `turn` one must hold `queue`, so whoever lets go of it cannot take it again at once."""

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
