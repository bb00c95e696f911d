"""A simulated process: it has its own clock, random source and ids, can be killed at any await, and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from waypost.model.time import Instant, Span, as_seconds
from waypost_testing.simulation.chance import RandomStreams, SeededIds, SeededRandomSource
from waypost_testing.simulation.life import ProcessLife, context_of
from waypost_testing.simulation.loop import SimulationError, SimulationLoop
from waypost_testing.simulation.trace import Trace

T = TypeVar("T")

START = Instant(1_767_225_600_000_000)
"""Where simulated time begins: 2026-01-01T00:00:00Z."""


class NodeCrashed(SimulationError):
    """The process that should answer is dead."""


class NodeClock:
    """Simulated time plus this node's skew. A jump moves `now` only, neither sleeps, `monotonic` nor `boot`."""

    def __init__(self, node: str, loop: SimulationLoop, trace: Trace) -> None:
        self._node = node
        self._loop = loop
        self._trace = trace
        self.skew = Span(0)
        self._lost = 0
        self.history: list[tuple[int, Span]] = [(0, Span(0))]
        """The skew from each moment on, in microseconds of simulated time."""

    def now(self) -> Instant:
        return Instant(START + self._loop.micros + self.skew)

    def monotonic(self) -> float:
        return self._loop.time()

    def boot(self) -> int:
        return self._loop.micros - self._lost

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))

    def lose(self, span: Span) -> None:
        """The machine stood still and did not notice: only its wall clock was set right afterwards."""
        self._lost += span
        self._trace.note("lose", node=self._node, span=span)

    def jump(self, span: Span) -> None:
        """Set this node's wall clock forward, or back when negative."""
        self.skew = Span(self.skew + span)
        self.history.append((self._loop.micros, self.skew))
        self._trace.note("jump", node=self._node, span=span)


class Node:
    """Clock, random source and ids survive a crash, as the machine does; everything else belongs to one life."""

    def __init__(self, name: str, loop: SimulationLoop, chance: RandomStreams, trace: Trace) -> None:
        self.name = name
        self.clock = NodeClock(name, loop, trace)
        self.random = SeededRandomSource(chance.stream(f"dice:{name}"))
        self.ids = SeededIds(chance.stream(f"ids:{name}"))
        self._loop = loop
        self._trace = trace
        self._generation = 0
        self.life = self._new_life()

    @property
    def alive(self) -> bool:
        return self.life.alive

    @property
    def generation(self) -> int:
        return self._generation

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start a task inside this node. To await it from outside, use `run`, which handles a crash."""
        if not self.life.alive:
            coro.close()
            raise NodeCrashed(f"{self.name} is dead; restart it first")
        return self._loop.create_task(coro, name=name, context=context_of(self.life))

    async def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run inside this node and return the result here; raises NodeCrashed when the node dies first."""
        life = self.life
        task = self.spawn(coro)
        try:
            await asyncio.wait((task, life.gone), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if life.alive or task.done():
            return task.result()
        raise NodeCrashed(f"{self.name} died while it worked")

    def crash(self) -> None:
        """Kill the process. Called from inside, the running step continues to its next await."""
        self._loop.end(self.life)

    def crash_after(self, steps: int) -> None:
        """Kill the process just before its `steps`-th next callback, so that a kill can land on any await."""
        if steps < 1:
            self.crash()
        elif self.life.alive:
            self.life.fuse = steps

    def spare(self) -> None:
        """Put out the fuse that `crash_after` lit."""
        self.life.fuse = None

    def pause(self) -> ProcessLife:
        """Stop the process without killing it; give the life that this returns to `resume`."""
        self._loop.pause(self.life)
        self._trace.note("pause", node=self.name, generation=self._generation)
        return self.life

    def resume(self, life: ProcessLife) -> None:
        """Let a paused life go on as if no time had passed for it; a dead one stays dead."""
        self._loop.resume(life)
        self._trace.note("resume", node=self.name, generation=life.generation)

    async def gone(self) -> None:
        """Return when the present life has ended."""
        await asyncio.wait((self.life.gone,))

    def restart(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Begin a new life, after killing the present one, with `factory` called and awaited inside it."""
        self.crash()
        self.life = self._new_life()

        async def boot() -> T:
            return await factory()

        return self.spawn(boot(), name=f"{self.name}/boot#{self._generation}")

    def _new_life(self) -> ProcessLife:
        self._generation += 1
        life = self._loop.new_life(self.name, self._generation)
        life.watch(lambda: self._trace.note("crash", node=self.name, generation=life.generation))
        self._trace.note("live", node=self.name, generation=life.generation)
        return life
