"""An asyncio event loop in simulated time: nothing really waits, and everything happens in one fixed order."""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import random
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Executor
from contextvars import Context, copy_context
from typing import Any, NoReturn, TypeVar, TypeVarTuple, Unpack

from waypost_testing.simulation.life import OWNER, ProcessLife, SimulatedFuture, SimulatedTask, context_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MICROS = 1_000_000
_TOLERANCE = 1e-3  # of a microsecond: the rounding error of adding floats
_STEPS_AT_ONE_MOMENT = 1_000_000
_COLLECT_EVERY = 100_000
_PURGE_TIMERS_AT = 128


class SimulationError(Exception):
    """The simulated program did something that a simulation cannot continue from."""


class Deadlock(SimulationError):
    """Nothing is ready and nothing is scheduled, but the run is not over."""


class Livelock(SimulationError):
    """Callbacks follow each other endlessly at one moment of simulated time."""


class RealWorldForbidden(SimulationError):
    """Sockets, threads, signals and child processes do not exist in a simulation."""


class SimulatedHandle(asyncio.TimerHandle):
    """A callback, due at once or at a time, that knows which life it belongs to.

    It sets and clears what asyncio's own handles do, except what they keep for debugging: a loop spends a good part
    of a run in them.
    """

    __slots__ = ("life",)

    def __init__(
        self,
        life: ProcessLife,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: SimulationLoop,
        context: Context,
        when: float = 0.0,
    ) -> None:
        self.life = life
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self._when = when
        self._cancelled = self._scheduled = False
        self._repr = self._source_traceback = None

    def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            if self._scheduled:
                self._loop._timer_handle_cancelled(self)  # noqa: SLF001 - a loop's own hook
            self._callback = self._args = None  # type: ignore[assignment]  # as in asyncio

    def _run(self) -> None:
        try:
            self._context.run(self._callback, *self._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - as in asyncio: no callback ends the loop
            self._loop.call_exception_handler({"message": f"Exception in {self!r}", "exception": error, "handle": self})


class SimulationLoop(asyncio.BaseEventLoop):
    """Time stands still while anything is ready, then jumps to the next timer.

    Callbacks run first in, first out, as asyncio promises. With `shuffle`, that holds within each life, as it
    does for real processes, while the lives that are ready at one moment take turns by chance.
    """

    _stopping: bool

    def __init__(self, shuffle: random.Random | None = None) -> None:
        super().__init__()
        self.micros = 0
        self.steps = 0
        self.lives: list[ProcessLife] = []
        self.disposing = False
        self._serial = 0
        self._ready: deque[SimulatedHandle] = deque()
        self._timers: list[tuple[int, int, SimulatedHandle]] = []
        self._stale_timers = 0
        self._moved_at_step = 0
        self._collected_at_step = 0
        self._shuffle = shuffle
        self._thread = threading.get_ident()
        self._generator_lives: dict[int, ProcessLife] = {}
        self.world = self.new_life("world", 0)
        self.present = self.world

    def new_life(self, name: str, generation: int) -> ProcessLife:
        life = ProcessLife(name, generation, self.create_future())
        self.lives.append(life)
        return life

    def end(self, life: ProcessLife) -> None:
        """Kill: from now on none of its callbacks runs, not even a `finally`. The step that is running finishes."""
        if not life.alive:
            return
        running, self.present = self.present, self.world
        try:
            context_of(self.world).run(life.end)
        finally:
            self.present = running

    def pause(self, life: ProcessLife) -> None:
        """Stop it as by SIGSTOP: time goes on, its callbacks and timers wait."""
        life.paused = True

    def resume(self, life: ProcessLife) -> None:
        """Continue where it was, before anything of it that became ready later."""
        life.paused = False
        held, life.held = life.held, []
        self._ready.extendleft(reversed(held))

    def stamp(self) -> str:
        """Moment, step and process, for the trace: runs that differ in one callback differ in every later line."""
        return f"{self.micros} {self.steps} {self.present.name}"

    # What asyncio requires of a loop

    def time(self) -> float:
        return self.micros / _MICROS

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        home = copy_context() if context is None else context
        step = SimulatedHandle(home.get(OWNER, self.present), callback, args, self, home)
        self._ready.append(step)
        return step

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            raise RealWorldForbidden("a thread called back into the simulation; there are no threads here")
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        home = copy_context() if context is None else context
        timer = SimulatedHandle(home.get(OWNER, self.present), callback, args, self, home, when)
        timer._scheduled = True  # noqa: SLF001 - as in asyncio
        due = max(self.micros, math.ceil(when * _MICROS - _TOLERANCE))
        self._serial += 1
        heapq.heappush(self._timers, (due, self._serial, timer))
        return timer

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.micros / _MICROS + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        self._serial += 1
        future = SimulatedFuture(loop=self)
        future.serial = self._serial
        return future

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        home = copy_context() if context is None else context
        life = home.get(OWNER, self.present)
        self._serial += 1
        serial = self._serial
        label = f"{life.name}/{getattr(coro, '__qualname__', 'task')}#{serial}" if name is None else str(name)
        task: SimulatedTask[T] = SimulatedTask(serial, coro, loop=self, name=label, context=home)
        life.adopt(task)
        return task

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run it here and now: no seed determines a thread's timing."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits the future
            future.set_exception(error)
        return future

    def close(self) -> None:
        super().close()
        self._timers.clear()

    def _timer_handle_cancelled(self, timer: SimulatedHandle) -> None:
        del timer
        self._stale_timers += 1
        if self._stale_timers > _PURGE_TIMERS_AT and self._stale_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapq.heapify(self._timers)
            self._stale_timers = 0

    def _asyncgen_firstiter_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        self._generator_lives[id(agen)] = OWNER.get(self.present)

    def _asyncgen_finalizer_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Close an abandoned generator in the life that began it; a dead life closes nothing."""
        life = self._generator_lives.pop(id(agen), self.world)
        if life.alive and not self.disposing:
            self.create_task(_close(agen), context=context_of(life))

    # One iteration of the loop

    def _run_once(self) -> None:
        self.present = self.world
        self._collect_garbage_sometimes()
        if not self._ready and not self._stopping:
            self._advance()
        self._take_due_timers()
        if self._shuffle is not None and len(self._ready) > 1:
            self._ready = _take_turns(self._ready, self._shuffle)
        for _ in range(len(self._ready)):
            self._run_step(self._ready.popleft())
        if self.steps - self._moved_at_step > _STEPS_AT_ONE_MOMENT:
            raise Livelock(f"{_STEPS_AT_ONE_MOMENT} callbacks at {self.time()} s, the latest in {self.present.name}")

    def _run_step(self, step: SimulatedHandle) -> None:
        if step._cancelled:  # noqa: SLF001 - as below
            return
        life = step.life
        if life.paused and life.alive:
            life.held.append(step)
            return
        if life.fuse is not None and life.burn():
            self.end(life)
        if not life.alive:
            life.remains.append(step)
            return
        self.steps += 1
        self.present = life
        step._run()  # noqa: SLF001 - this is what a loop does to a handle

    def _advance(self) -> None:
        """Jump to the next timer of a live process."""
        while self._timers and (self._timers[0][2].cancelled() or not self._timers[0][2].life.alive):
            self._drop(heapq.heappop(self._timers)[2])
        if not self._timers:
            raise Deadlock(f"nothing will ever happen again at {self.time()} s; waiting: {self._waiting()}")
        if self._timers[0][0] > self.micros:
            self.micros = self._timers[0][0]
            self._moved_at_step = self.steps

    def _take_due_timers(self) -> None:
        while self._timers and self._timers[0][0] <= self.micros:
            timer = heapq.heappop(self._timers)[2]
            if timer._cancelled:  # noqa: SLF001 - as below
                self._drop(timer)
            else:
                timer._scheduled = False  # noqa: SLF001 - as in asyncio
                self._ready.append(timer)

    def _drop(self, timer: SimulatedHandle) -> None:
        if timer.cancelled():
            self._stale_timers -= 1
        else:
            timer.life.remains.append(timer)

    def _waiting(self) -> str:
        names = [task.get_name() for life in self.lives if life.alive for task in life.tasks if not task.done()]
        return ", ".join(names) or "no task"

    def _collect_garbage_sometimes(self) -> None:
        """At fixed steps, so that a destructor with an effect has it at the same step in every run."""
        if self.steps - self._collected_at_step >= _COLLECT_EVERY:
            self._collected_at_step = self.steps
            gc.collect()


async def _close(agen: AsyncGenerator[Any, Any]) -> None:
    await agen.aclose()


def _take_turns(ready: deque[SimulatedHandle], rng: random.Random) -> deque[SimulatedHandle]:
    """The same callbacks: in order within each life, the lives interleaved at random."""
    first = ready[0].life
    if all(step.life is first for step in ready):
        return ready
    queues: dict[ProcessLife, deque[SimulatedHandle]] = {}
    for step in ready:
        queues.setdefault(step.life, deque()).append(step)
    turns = [life for life, queue in queues.items() for _ in queue]
    rng.shuffle(turns)
    return deque(queues[life].popleft() for life in turns)


_REAL_WORLD = """
add_reader remove_reader add_writer remove_writer add_signal_handler remove_signal_handler set_default_executor
sock_recv sock_recv_into sock_recvfrom sock_recvfrom_into sock_sendall sock_sendto sock_connect sock_accept
sock_sendfile create_connection create_server create_unix_connection create_unix_server create_datagram_endpoint
connect_accepted_socket connect_read_pipe connect_write_pipe subprocess_shell subprocess_exec sendfile start_tls
getaddrinfo getnameinfo
"""


def _forbidden(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise RealWorldForbidden(f"loop.{name}() reaches out of the simulation; use the simulated Network and Clock")

    return refuse


for _name in _REAL_WORLD.split():
    setattr(SimulationLoop, _name, _forbidden(_name))
