"""Several processes behind one socket: restarts dead ones, kills hanging ones, renews all one by one on SIGHUP."""

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from waypost.adapters.local.hints import LocalBroadcast
from waypost.ports.platform.hints import worker_gone
from waypost.runtime.process.heartbeat import MISSED_AFTER, READY
from waypost.runtime.process.shared_folder import SharedFolder
from waypost.runtime.process.uvicorn_runner import LEAVE, LEAVE_PATIENCE, stop_signal
from waypost.runtime.settings.roles import NO_SOCKET, ProcessGroup

log = structlog.get_logger("supervisor")

LOOK_EVERY = 0.1
START_PATIENCE = 60.0
STOP_PATIENCE = 12.0
PAUSE = 1.0
"""Seconds before a child that failed to start is started again."""
NAMED = 8
"""Predecessors that a child gets: as many as may have died before one could reclaim their turns."""


@dataclass(slots=True)
class WorkerProcess:
    process: subprocess.Popen[bytes]
    worker: str
    pulse: int
    last_beat: float
    beating: bool = False
    ready: bool = False
    leaving: bool = False

    def listen(self, now: float) -> None:
        with contextlib.suppress(BlockingIOError):
            if signs := os.read(self.pulse, 4096):
                self.last_beat = now
                self.beating = True
                self.ready = self.ready or READY in signs

    def hangs(self, now: float) -> bool:
        return now - self.last_beat > (MISSED_AFTER if self.beating else START_PATIENCE)

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def leave(self) -> None:
        self.leaving = True
        self.process.send_signal(LEAVE)


@dataclass(slots=True)
class WorkerSlot:
    """One slot for a process, with its current process and its successor."""

    group: ProcessGroup
    number: int
    child: WorkerProcess | None = None
    successor: WorkerProcess | None = None
    not_before: float = 0.0
    gone: list[str] = field(default_factory=list)
    """The earlier workers of this slot, latest last."""

    @property
    def everybody(self) -> list[WorkerProcess]:
        return [child for child in (self.child, self.successor) if child is not None]


class Supervisor:
    def __init__(self, sock: socket.socket, groups: Sequence[ProcessGroup]) -> None:
        self._sock = sock
        wanted = [group for group in groups for _ in range(group.count)]
        self._places = [WorkerSlot(group, number) for number, group in enumerate(wanted)]
        self._shared = SharedFolder()
        self._post = LocalBroadcast(self._shared.hints, "supervisor")
        self._asked_to_renew = False
        self._renewing: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Runs until it is stopped; the exit code is 0 when every child ended by itself."""
        stop = stop_signal()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._on_hangup, stop, sys.stdin.isatty())
        try:
            while not stop.is_set():
                self._look_after(time.monotonic())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await stop.wait()
            return await self._stop_children()
        finally:
            self._post.close()
            self._shared.remove()

    def _on_hangup(self, stop: asyncio.Event, had_terminal: bool) -> None:
        """SIGHUP from an operator renews the children; from a closed terminal it stops them."""
        try:
            if had_terminal:
                os.tcgetpgrp(sys.stdin.fileno())
        except (OSError, ValueError):
            stop.set()
            return
        self._asked_to_renew = True

    def _look_after(self, now: float) -> None:
        for place in self._places:
            self._look_at(place, now)
        if self._asked_to_renew and (self._renewing is None or self._renewing.done()):
            self._asked_to_renew = False
            self._renewing = asyncio.ensure_future(self._renew_all())

    def _look_at(self, place: WorkerSlot, now: float) -> None:
        if place.successor is not None and self._has_ended(place.successor, now):
            place.successor = None
        child = place.child
        if child is not None and self._has_ended(child, now):
            place.gone = [*place.gone, child.worker][-NAMED:]
            place.not_before = now if child.beating else now + PAUSE
            place.child, place.successor = place.successor, None
        if place.child is None and now >= place.not_before:
            place.child = self._spawn(place, now)

    def _has_ended(self, child: WorkerProcess, now: float) -> bool:
        child.listen(now)
        if child.runs and child.hangs(now):
            log.error("child_hangs", pid=child.process.pid)
            child.process.kill()
            child.process.wait()
        if child.runs:
            return False
        os.close(child.pulse)
        self._shared.forget_process(child.process.pid)
        self._post.post([worker_gone(child.worker)])
        if child.leaving and child.process.returncode == 0:
            log.info("child_left", pid=child.process.pid)
        else:
            log.error("child_died", pid=child.process.pid, code=child.process.returncode)
        return True

    def _spawn(self, place: WorkerSlot, now: float) -> WorkerProcess:
        worker = secrets.token_hex(9)
        pulse, theirs = os.pipe()
        os.set_blocking(pulse, False)
        environment = os.environ | {
            "WAYPOST_HINTS_DIR": str(self._shared.hints),
            "PROMETHEUS_MULTIPROC_DIR": str(self._shared.metrics),
            "WAYPOST_WORKER_ID": worker,
            "WAYPOST_PREDECESSORS": " ".join(place.gone),
        }
        listening = self._sock.fileno() if place.group.listens else NO_SOCKET
        command = [
            sys.executable,
            "-m",
            "waypost.runtime.process.child",
            str(listening),
            str(theirs),
            place.group.written,
            str(place.number),
        ]
        process = subprocess.Popen(  # runs our own interpreter and module
            command,
            pass_fds=[number for number in (listening, theirs) if number != NO_SOCKET],
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        os.close(theirs)
        return WorkerProcess(process, worker, pulse, last_beat=now)

    async def _renew_all(self) -> None:
        """One by one. Ends with the first that does not become ready: the next would fail, too."""
        log.info("renewal_began", processes=len(self._places))
        for place in self._places:
            if not await self._renew(place):
                log.error("renewal_stopped", reason="the new process did not become ready: the old ones stay")
                return
        log.info("renewal_done")

    async def _renew(self, place: WorkerSlot) -> bool:
        """The new process is ready before the old one is stopped, and takes its place afterwards."""
        old = place.child
        if old is None:
            return True  # the next process there gets a new id
        new = place.successor = self._spawn(place, time.monotonic())
        await _until(lambda: new.ready or not new.runs, START_PATIENCE)
        if not new.ready:
            if new.runs:
                new.process.kill()
            return False
        if place.child is old:
            old.leave()
            await _until(lambda: not old.runs, LEAVE_PATIENCE)
            if old.runs:
                log.error("child_did_not_leave", pid=old.process.pid)
                old.process.kill()
        await _until(lambda: place.child is new or not new.runs, START_PATIENCE)
        return True

    async def _stop_children(self) -> int:
        if self._renewing is not None:
            self._renewing.cancel()
        running = [child.process for place in self._places for child in place.everybody]
        for process in running:
            process.send_signal(signal.SIGTERM)
        await _until(lambda: all(process.poll() is not None for process in running), STOP_PATIENCE)
        for process in running:
            if process.poll() is None:
                log.error("child_did_not_stop", pid=process.pid)
                process.kill()
                process.wait()
        ended_well = (0, -signal.SIGTERM)  # the latter when the signal came before its handler was set
        return 0 if all(process.returncode in ended_well for process in running) else 1


async def _until(done: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not done() and time.monotonic() < deadline:  # noqa: ASYNC110  # a process has no event
        await asyncio.sleep(LOOK_EVERY / 2)
