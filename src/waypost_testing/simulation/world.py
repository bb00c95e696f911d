"""The entry point: one seed, one main, one world in which nodes live and die, and the same run every time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from waypost_testing.simulation.chance import RandomStreams
from waypost_testing.simulation.disposal import dispose, steady_memory
from waypost_testing.simulation.life import context_of
from waypost_testing.simulation.loop import SimulationLoop
from waypost_testing.simulation.network import Network
from waypost_testing.simulation.node import Node
from waypost_testing.simulation.trace import Trace

T = TypeVar("T")


class Complaint(msgspec.Struct, frozen=True):
    """An unhandled error: a task that failed unawaited, or a callback that raised."""

    where: str
    message: str
    error: BaseException | None


class Simulation:
    """What main receives. `main` itself runs in the world, which never crashes."""

    def __init__(self, seed: int, *, shuffle: bool = False, trace_limit: int | None = None) -> None:
        self.seed = seed
        self.chance = RandomStreams(seed)
        self.loop = SimulationLoop(self.chance.stream("shuffle") if shuffle else None)
        self.trace = Trace(self.loop.stamp, trace_limit)
        self.network = Network(self.loop, self.chance, self.trace)
        self.complaints: list[Complaint] = []
        self._nodes: dict[str, Node] = {}
        self.loop.set_exception_handler(self._complain)

    def node(self, name: str) -> Node:
        """The node of that name, created and started at the first call."""
        if name not in self._nodes:
            self._nodes[name] = Node(name, self.loop, self.chance, self.trace)
        return self._nodes[name]

    def finish(self) -> None:
        """Drop finished tasks, so that unseen failures are reported, and end the trace."""
        for life in self.loop.lives:
            if life.alive:
                life.sweep()
        self.trace.note("end", complaints=len(self.complaints))
        self.trace.close()

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        if self.loop.disposing:
            return
        self.complaints.append(Complaint(self.loop.stamp(), context["message"], context.get("exception")))


def run_simulation(
    seed: int,
    main: Callable[[Simulation], Coroutine[Any, Any, T]],
    *,
    shuffle: bool = False,
    trace_limit: int | None = None,
    strict: bool = True,
) -> T:
    """Run main to its end in simulated time and return its result; everything else still running is dropped.

    `strict` raises the complaints as a group when main itself succeeded. Nothing of the run is left behind.
    """
    if asyncio._get_running_loop() is not None:  # noqa: SLF001 - its public twin raises instead of answering
        raise RuntimeError("run_simulation brings its own loop: call it from synchronous code")
    with steady_memory():
        simulation = Simulation(seed, shuffle=shuffle, trace_limit=trace_limit)
        loop = simulation.loop
        try:
            task = loop.create_task(main(simulation), name="main", context=context_of(loop.world))
            result = loop.run_until_complete(task)
            simulation.finish()
        except BaseException as error:
            error.add_note(f"simulation seed {seed}, at {loop.stamp()}")
            raise
        finally:
            simulation.trace.close()
            dispose(loop)
    if strict and simulation.complaints:
        raise BaseExceptionGroup(f"unhandled errors (seed {seed})", _errors(simulation.complaints))
    return result


def _errors(complaints: list[Complaint]) -> list[BaseException]:
    return [each.error or RuntimeError(f"{each.where}: {each.message}") for each in complaints]
