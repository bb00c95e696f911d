"""The folder that processes behind one port share for wake-ups and metrics; it is deleted with them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from waypost.runtime.settings.definitions import SettingsError

_PREFIX = "waypost-shared-"
_LOCK = "in-use"
LONGEST_PLACE = 107 - len("/waypost-shared-12345678/hints/0123456789abcdef.hint")
"""Bytes: a socket's path has at most 107, including what is below the folder for temporary files."""


class SharedFolder:
    """Locked while its supervisor lives, so that the next one can find what a killed one left behind."""

    def __init__(self) -> None:
        if len(os.fsencode(tempfile.gettempdir())) > LONGEST_PLACE:
            raise SettingsError(
                f"the path of the folder for temporary files is too long for a socket: set TMPDIR to one of at "
                f"most {LONGEST_PLACE} characters, it is {tempfile.gettempdir()}"
            )
        _clear_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        (self.path / "new").rename(self.path / _LOCK)  # never visible unlocked
        self.hints = self.path / "hints"
        self.metrics = self.path / "metrics"
        self.metrics.mkdir()

    def forget_process(self, pid: int) -> None:
        """Keeps the counters of a dead process, and removes its gauges."""
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415  # only when one has died

        mark_process_dead(pid, str(self.metrics))  # type: ignore[no-untyped-call]  # the library has no types here

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _clear_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # belongs to another user, or is already gone
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
