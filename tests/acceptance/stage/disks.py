"""Disks that are small enough to be filled: a file system in memory, gone with the test process however that ends."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_WATCHDOG = 'cat; umount --lazy "$1"; rmdir "$1"'
_PIECE = 64 * 1024


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """To the last byte."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for piece in (_PIECE, 4096):
                while _written(ballast.fileno(), piece):
                    pass

    def free(self) -> None:
        self._ballast.unlink()


def _written(file: int, size: int) -> bool:
    try:
        return os.write(file, b"\1" * size) == size
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False


@contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    folder = Path(tempfile.mkdtemp(prefix="wp-"))  # short: a socket's address has a hundred characters
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "waypost-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        folder.rmdir()
        pytest.skip(f"no small disk can be made here: {done.stderr.strip()}")
    watchdog = subprocess.Popen(
        ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield SmallDisk(folder)
    finally:
        watchdog.communicate()
