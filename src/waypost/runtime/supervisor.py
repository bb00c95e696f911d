"""Several processes behind one socket: restarts one that dies, kills one that hangs, stops them all together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import structlog

from waypost.runtime.heartbeat import MISSED_AFTER

log = structlog.get_logger("supervisor")

LOOK_EVERY = 0.1
START_PATIENCE = 30.0
STOP_PATIENCE = 12.0
QUICK_DEATH = 1.0


@dataclass(slots=True)
class Child:
    process: subprocess.Popen[bytes]
    pulse: int
    started: float
    heard: float
    beating: bool = False

    def listen(self, now: float) -> None:
        with contextlib.suppress(BlockingIOError):
            if os.read(self.pulse, 4096):
                self.heard = now
                self.beating = True

    def hangs(self, now: float) -> bool:
        return now - self.heard > (MISSED_AFTER if self.beating else START_PATIENCE)


class Supervisor:
    def __init__(self, sock: socket.socket, count: int, roles: str) -> None:
        self._sock = sock
        self._count = count
        self._roles = roles
        self._children: list[Child] = []
        self._stopping = False
        self._folder = Path(tempfile.mkdtemp(prefix="waypost-"))
        (self._folder / "metrics").mkdir()

    async def run(self) -> int:
        """Until told to stop; the exit code is 0 when every child ended by itself."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        try:
            self._children = [self._spawn() for _ in range(self._count)]
            while not self._stopping:
                await asyncio.sleep(LOOK_EVERY)
                self._look_after()
            return await self._stop_children()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _stop(self) -> None:
        self._stopping = True

    def _spawn(self) -> Child:
        pulse, theirs = os.pipe()
        os.set_blocking(pulse, False)
        environment = os.environ | {
            "WAYPOST_HINTS_DIR": str(self._folder / "hints"),
            "PROMETHEUS_MULTIPROC_DIR": str(self._folder / "metrics"),
        }
        command = [sys.executable, "-m", "waypost.runtime.child", str(self._sock.fileno()), str(theirs), self._roles]
        process = subprocess.Popen(  # our own interpreter and module
            command, pass_fds=(self._sock.fileno(), theirs), env=environment, stdin=subprocess.DEVNULL
        )
        os.close(theirs)
        now = time.monotonic()
        return Child(process, pulse, started=now, heard=now)

    def _look_after(self) -> None:
        now = time.monotonic()
        for place, child in enumerate(self._children):
            child.listen(now)
            if child.process.poll() is None and child.hangs(now):
                log.error("child_hangs", pid=child.process.pid)
                child.process.kill()
                child.process.wait()
            if child.process.poll() is not None:
                self._children[place] = self._replace(child, now)

    def _replace(self, child: Child, now: float) -> Child:
        os.close(child.pulse)
        log.error("child_died", pid=child.process.pid, code=child.process.returncode)
        if now - child.started < QUICK_DEATH and not child.beating:
            time.sleep(QUICK_DEATH)  # nothing else runs here, and a child that cannot start must not spin
        return self._spawn()

    async def _stop_children(self) -> int:
        for child in self._children:
            child.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_PATIENCE
        while time.monotonic() < deadline and any(c.process.poll() is None for c in self._children):  # noqa: ASYNC110  # a process has no event
            await asyncio.sleep(LOOK_EVERY)
        for child in self._children:
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait()
        return 0 if all(child.process.returncode == 0 for child in self._children) else 1
