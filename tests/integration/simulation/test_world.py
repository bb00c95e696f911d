import asyncio
import gc
import os
import runpy
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from waypost_testing.simulation import Simulation, Trace, run_simulation
from waypost_testing.simulation.life import context_of

STORM = Path(__file__).parent / "storm.py"
storm: Callable[[Simulation], Coroutine[Any, Any, Trace]] = runpy.run_path(str(STORM))["storm"]


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, again, other = (run_simulation(seed, storm) for seed in (1, 1, 2))
    assert first.lines() == again.lines()
    assert first.digest() == again.digest()
    assert first.digest() != other.digest()
    assert first.count > 500


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_same_seed_gives_the_same_run_in_processes_that_hash_differently(shuffle: bool) -> None:
    digests = set()
    for hash_seed in ("0", "1", "4242"):
        command = [sys.executable, str(STORM), "5", str(int(shuffle))]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        digests.add(ran.stdout.strip())
    assert digests == {run_simulation(5, storm, shuffle=shuffle).digest()}


def test_a_bounded_trace_keeps_the_latest_lines_and_the_digest_of_all() -> None:
    whole, bounded = run_simulation(1, storm), run_simulation(1, storm, trace_limit=10)
    assert bounded.lines() == whole.lines()[-10:]
    assert (bounded.digest(), bounded.count) == (whole.digest(), whole.count)


def test_a_trace_takes_plain_values_only() -> None:
    async def main(sim: Simulation) -> None:
        with pytest.raises(TypeError, match="is a object"):
            sim.trace.note("oops", what=object())  # type: ignore[arg-type]

    run_simulation(1, main)


def test_a_task_that_fails_unseen_fails_the_run() -> None:
    async def fail() -> None:
        raise LookupError("unseen")

    async def main(sim: Simulation) -> int:
        sim.node("a").spawn(fail())
        await asyncio.sleep(1)
        return 1

    with pytest.raises(BaseExceptionGroup) as caught:
        run_simulation(1, main)
    assert [str(error) for error in caught.value.exceptions] == ["unseen"]
    assert run_simulation(1, main, strict=False) == 1


def test_the_error_of_main_comes_out_with_its_seed() -> None:
    async def main(sim: Simulation) -> None:
        await asyncio.sleep(1)
        raise LookupError

    with pytest.raises(LookupError) as caught:
        run_simulation(77, main)
    assert "simulation seed 77" in caught.value.__notes__[0]


def test_a_simulation_inside_a_running_loop_is_refused() -> None:
    async def outer() -> None:
        with pytest.raises(RuntimeError, match="its own loop"):
            run_simulation(1, storm)

    asyncio.run(outer())


async def stubborn() -> None:
    """Everything a program may do wrong when it is closed."""
    while True:
        try:
            await asyncio.sleep(1000)
        except BaseException:  # noqa: BLE001 - that is the point
            continue


async def wordy() -> None:
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(1)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(1000))
            async for _ in numbers():
                await asyncio.sleep(500)
    finally:
        await asyncio.sleep(1)


async def mess(sim: Simulation) -> None:
    for name in ("dead", "alive"):
        node = sim.node(name)
        for coro in (stubborn(), wordy(), asyncio.sleep(10**9)):
            node.spawn(coro)
        sim.loop.call_later(500, node.spawn, stubborn(), context=context_of(node.life))
    await asyncio.sleep(1)
    sim.node("dead").crash()
    sim.node("alive").spawn(asyncio.sleep(0))


def test_the_garbage_collector_has_no_say_in_a_run() -> None:
    class Talkative:
        def __init__(self, trace: Trace, number: int) -> None:
            self.itself, self.trace, self.number = self, trace, number

        def __del__(self) -> None:
            self.trace.note("collected", number=self.number)

    async def main(sim: Simulation) -> str:
        for number in range(300):
            Talkative(sim.trace, number)
            await asyncio.sleep(1)
        return sim.trace.digest()

    usual = gc.get_threshold()
    try:
        gc.set_threshold(10)
        often = run_simulation(1, main)
    finally:
        gc.set_threshold(*usual)
    assert often == run_simulation(1, main)


def test_300_runs_leave_no_warning_and_no_object_behind() -> None:
    run_simulation(0, mess)
    gc.collect()
    before = len(gc.get_objects())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(300):
            run_simulation(seed, mess)
            if seed % 10 == 0:
                run_simulation(seed, storm)
    gc.collect()
    assert len(gc.get_objects()) - before < 500
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_speed(capsys: pytest.CaptureFixture[str]) -> None:
    async def main(sim: Simulation) -> int:
        async def worker() -> None:
            for _ in range(2000):
                await asyncio.sleep(0.001)
                await asyncio.sleep(0)

        for number in range(20):
            sim.node(f"n{number % 4}").spawn(worker())
        await asyncio.sleep(10)
        return sim.loop.steps

    began = time.perf_counter()
    steps = run_simulation(1, main)
    took = time.perf_counter() - began
    began = time.perf_counter()
    trace = run_simulation(1, storm)
    with capsys.disabled():
        sys.stdout.write(
            f"\nsimulation: {steps / took:,.0f} callbacks/s; storm of {trace.count} lines in "
            f"{time.perf_counter() - began:.2f} s\n"
        )
    assert steps > 100_000
