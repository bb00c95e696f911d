"""The end of a run: what is left is closed silently, and the garbage collector is switched on again."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from waypost_testing.simulation.life import SimulatedTask
from waypost_testing.simulation.loop import SimulationLoop

_PATIENCE = 10  # a coroutine that awaits in its `finally` must be closed once per await


@contextmanager
def steady_memory() -> Iterator[None]:
    """Collect garbage only on request: a destructor that runs at a random moment makes the run random.

    What exists already is frozen, so that the collections of a run look at the run's own objects only.
    """
    was_enabled, was_frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.disable()
    if not was_frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def dispose(loop: SimulationLoop) -> None:
    """Close every unfinished coroutine, then the loop. None of this belongs to the run."""
    loop.disposing = True
    with _silence(), _as_running(loop):
        for life in loop.lives:
            for task in life.tasks:
                _put_away(task)
        for life in loop.lives:
            life.tasks.clear()
            life.remains.clear()
        loop.lives.clear()
        loop.close()
        gc.collect()


def _put_away(task: SimulatedTask[Any]) -> None:
    """Close the coroutine in its own context, under a loop that still accepts calls, so that it can finish."""
    if task.done():
        if not task.cancelled():
            task.exception()
        return
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it is pending by intent
    close: Callable[[], None] = getattr(task.get_coro(), "close", lambda: None)
    for _ in range(_PATIENCE):
        try:
            task.home.run(close)
        except RuntimeError:
            continue
        except BaseException:  # noqa: BLE001, S110 - the last words of the dead
            pass
        return


@contextmanager
def _silence() -> Iterator[None]:
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook


@contextmanager
def _as_running(loop: SimulationLoop) -> Iterator[None]:
    asyncio._set_running_loop(loop)  # noqa: SLF001 - a `finally` may ask for the running loop
    try:
        yield
    finally:
        asyncio._set_running_loop(None)  # noqa: SLF001 - as above
