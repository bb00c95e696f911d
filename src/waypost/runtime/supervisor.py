"""Several processes behind one socket: restarts one that dies, kills one that hangs, stops them all together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field

import structlog

from waypost.adapters.local.hints import NeighbourPost
from waypost.ports.hints import worker_gone
from waypost.runtime.heartbeat import MISSED_AFTER
from waypost.runtime.serving import stop_signal
from waypost.runtime.shared_folder import SharedFolder

log = structlog.get_logger("supervisor")

LOOK_EVERY = 0.1
START_PATIENCE = 30.0
STOP_PATIENCE = 12.0
PAUSE = 1.0
"""Seconds before a child that could not even start is tried again, so that it does not spin."""
NAMED = 8
"""Predecessors that a child is told: as many as may have died before one of them could say so."""


@dataclass(slots=True)
class Child:
    process: subprocess.Popen[bytes]
    worker: str
    pulse: int
    heard: float
    beating: bool = False

    def listen(self, now: float) -> None:
        with contextlib.suppress(BlockingIOError):
            if os.read(self.pulse, 4096):
                self.heard = now
                self.beating = True

    def hangs(self, now: float) -> bool:
        return now - self.heard > (MISSED_AFTER if self.beating else START_PATIENCE)


@dataclass(slots=True)
class Place:
    """One of the processes there should be, with the one there is."""

    child: Child | None = None
    not_before: float = 0.0
    gone: list[str] = field(default_factory=list)
    """The workers that were here, latest last."""


class Supervisor:
    def __init__(self, sock: socket.socket, count: int, roles: str) -> None:
        self._sock = sock
        self._roles = roles
        self._places = [Place() for _ in range(count)]
        self._shared = SharedFolder()
        self._post = NeighbourPost(self._shared.hints, "supervisor")

    async def run(self) -> int:
        """Until told to stop; the exit code is 0 when every child ended by itself."""
        told = stop_signal()
        try:
            while not told.is_set():
                self._look_after(time.monotonic())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await told.wait()
            return await self._stop_children()
        finally:
            self._post.close()
            self._shared.remove()

    def _look_after(self, now: float) -> None:
        for place in self._places:
            if place.child is not None:
                self._check(place, place.child, now)
            if place.child is None and now >= place.not_before:
                place.child = self._spawn(place.gone, now)

    def _check(self, place: Place, child: Child, now: float) -> None:
        child.listen(now)
        if child.process.poll() is None and child.hangs(now):
            log.error("child_hangs", pid=child.process.pid)
            child.process.kill()
            child.process.wait()
        if child.process.poll() is not None:
            os.close(child.pulse)
            self._shared.forget_process(child.process.pid)
            log.error("child_died", pid=child.process.pid, code=child.process.returncode)
            place.child, place.not_before = None, now if child.beating else now + PAUSE
            place.gone = [*place.gone, child.worker][-NAMED:]
            self._post.post([worker_gone(child.worker)])

    def _spawn(self, gone: list[str], now: float) -> Child:
        worker = secrets.token_hex(9)
        pulse, theirs = os.pipe()
        os.set_blocking(pulse, False)
        environment = os.environ | {
            "WAYPOST_HINTS_DIR": str(self._shared.hints),
            "PROMETHEUS_MULTIPROC_DIR": str(self._shared.metrics),
            "WAYPOST_WORKER_ID": worker,
            "WAYPOST_PREDECESSORS": " ".join(gone),
        }
        command = [sys.executable, "-m", "waypost.runtime.child", str(self._sock.fileno()), str(theirs), self._roles]
        process = subprocess.Popen(  # our own interpreter and module
            command, pass_fds=(self._sock.fileno(), theirs), env=environment, stdin=subprocess.DEVNULL
        )
        os.close(theirs)
        return Child(process, worker, pulse, heard=now)

    async def _stop_children(self) -> int:
        running = [place.child.process for place in self._places if place.child is not None]
        for process in running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_PATIENCE
        while time.monotonic() < deadline and any(process.poll() is None for process in running):  # noqa: ASYNC110  # a process has no event
            await asyncio.sleep(LOOK_EVERY)
        for process in running:
            if process.poll() is None:
                log.error("child_did_not_stop", pid=process.pid)
                process.kill()
                process.wait()
        ended_well = (0, -signal.SIGTERM)  # the latter when it was told before it could listen
        return 0 if all(process.returncode in ended_well for process in running) else 1
