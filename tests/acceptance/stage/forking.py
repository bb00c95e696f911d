"""A process of `waypost …` that is forked off the fork server: used like one of `subprocess`, without its imports."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.acceptance.stage.surroundings import environment

_SERVER = Path(__file__).with_name("fork_server.py")
_PATIENCE = 60.0


class Forked:
    """What Program needs of `subprocess.Popen`."""

    def __init__(
        self, arguments: list[str], folder: Path, environment: Mapping[str, str], output: int, errors: int
    ) -> None:
        self._connection = _connected(_fork_server())
        request = {"arguments": ["waypost", *arguments], "folder": str(folder), "environment": dict(environment)}
        socket.send_fds(self._connection, [json.dumps(request).encode()], [output, errors])
        self._answers = self._connection.makefile("rb")
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(["waypost"], timeout or 0)
        return code

    def send_signal(self, sign: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        """Its exit code; None while it runs."""
        if self.returncode is not None:
            return self.returncode
        if _readable(self._connection, timeout):
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode


def _readable(connection: socket.socket, timeout: float | None) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(timeout))


@cache
def _fork_server() -> str:
    """Where it listens. One for the life of this process; it ends when its input does, however this process ends."""
    folder = tempfile.mkdtemp(prefix="waypost-forks-")
    address = f"{folder}/socket"
    server = subprocess.Popen(
        [sys.executable, str(_SERVER), address],
        env=environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.communicate)
    return address


def _connected(address: str) -> socket.socket:
    """As soon as the server has imported everything."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(address)
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return connection
