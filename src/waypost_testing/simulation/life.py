"""One life of a simulated process: what it owns, and how it ends without cleaning up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any, TypeVar

T_co = TypeVar("T_co", covariant=True)

_SWEEP_AT = 64


class SimulatedFuture(asyncio.Future[Any]):
    """Hashes by birth order: asyncio and libraries iterate over sets of futures, and addresses differ per run."""

    serial: int

    def __hash__(self) -> int:
        return self.serial


class SimulatedTask(asyncio.Task[T_co]):
    """Hashes by birth order, for the same reason, and remembers the context that its coroutine runs in."""

    def __init__(self, serial: int, coro: Any, *, loop: asyncio.AbstractEventLoop, name: str, context: Context) -> None:
        self.serial = serial
        self.home = context
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.serial


class ProcessLife:
    """Everything started inside a life belongs to it, because asyncio copies the context that names the life.

    It holds its tasks strongly: asyncio alone would let the garbage collector close a waiting coroutine, and
    a killed process runs no `finally`.
    """

    def __init__(self, name: str, generation: int, gone: asyncio.Future[None]) -> None:
        self.name = name
        self.generation = generation
        self.gone = gone
        self.alive = True
        self.fuse: int | None = None
        self.paused = False
        self.held: list[Any] = []
        """Callbacks that became ready since it was paused, in order."""
        self.tasks: dict[SimulatedTask[Any], None] = {}
        self.remains: list[asyncio.Handle] = []
        self._watchers: dict[int, Callable[[], None]] = {}
        self._watched = 0
        self._sweep_at = _SWEEP_AT

    def adopt(self, task: SimulatedTask[Any]) -> None:
        self.tasks[task] = None
        if len(self.tasks) >= self._sweep_at and self.alive:
            self.sweep()

    def sweep(self) -> None:
        """Drop finished tasks."""
        self.tasks = {task: None for task in self.tasks if not task.done()}
        self._sweep_at = max(_SWEEP_AT, 2 * len(self.tasks))

    def watch(self, callback: Callable[[], None]) -> int:
        """Call back when this life ends, in the order of watching. Returns the key for `unwatch`."""
        self._watched += 1
        self._watchers[self._watched] = callback
        return self._watched

    def unwatch(self, key: int) -> None:
        self._watchers.pop(key, None)

    def burn(self) -> bool:
        """Shorten the fuse by one step; True when it has burnt down."""
        if self.fuse is None:
            return False
        self.fuse -= 1
        return self.fuse <= 0

    def end(self) -> None:
        """Die. Only the loop calls this, in a context of another life."""
        self.alive = False
        self.fuse = None
        self.remains += self.held
        self.held.clear()
        watchers, self._watchers = self._watchers, {}
        for callback in watchers.values():
            callback()
        if not self.gone.done():
            self.gone.set_result(None)


OWNER: ContextVar[ProcessLife] = ContextVar("waypost_simulation_owner")
"""The life that the running code belongs to."""


def context_of(life: ProcessLife) -> Context:
    """A fresh context: a process inherits no variables from its starter."""
    context = Context()
    context.run(OWNER.set, life)
    return context
