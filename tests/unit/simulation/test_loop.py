import asyncio
import socket
import time

import anyio
import pytest

from waypost_testing.simulation import Deadlock, Livelock, RealWorldForbidden, Simulation, run_simulation
from waypost_testing.simulation import loop as loop_module

SEED = 7


def test_a_year_of_sleep_takes_no_real_time() -> None:
    async def main(sim: Simulation) -> float:
        await asyncio.sleep(365 * 86_400)
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    assert run_simulation(SEED, main) == 365 * 86_400
    assert time.monotonic() - began < 5


def test_sleeps_end_at_whole_microseconds_however_floats_add_up() -> None:
    async def main(sim: Simulation) -> int:
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return sim.loop.micros

    assert run_simulation(SEED, main) == 100_000_000


def test_wait_for_and_timeout_fire_at_their_moment() -> None:
    async def main(sim: Simulation) -> list[float]:
        moments = []
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2.5)
        moments.append(sim.loop.time())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.sleep(10)
        moments.append(sim.loop.time())
        assert await asyncio.wait_for(asyncio.sleep(1, "in time"), 5) == "in time"
        return [*moments, sim.loop.time()]

    assert run_simulation(SEED, main) == [2.5, 3.5, 4.5]


def test_a_task_group_cancels_its_siblings_in_the_order_of_their_birth() -> None:
    async def main(sim: Simulation) -> list[int]:
        cancelled: list[int] = []

        async def sibling(number: int) -> None:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        async def fail() -> None:
            await asyncio.sleep(1)
            raise LookupError

        async def family() -> None:
            async with asyncio.TaskGroup() as group:
                for number in range(6):
                    group.create_task(sibling(number))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup):
            await family()
        assert sim.loop.time() == 1
        return cancelled

    assert run_simulation(SEED, main) == [0, 1, 2, 3, 4, 5]


def test_queue_lock_condition_and_gather_work() -> None:
    async def main(sim: Simulation) -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)
        lock, condition = asyncio.Lock(), asyncio.Condition()
        got: list[int] = []

        async def produce() -> None:
            for number in range(10):
                await queue.put(number)
                await asyncio.sleep(0.01)

        async def consume() -> None:
            while len(got) < 10:
                async with lock:
                    got.append(await queue.get())
                async with condition:
                    condition.notify_all()

        async def wait() -> None:
            async with condition:
                await condition.wait_for(lambda: len(got) == 10)

        await asyncio.gather(produce(), consume(), wait())
        return got

    assert run_simulation(SEED, main) == list(range(10))


def test_timers_of_one_moment_fire_in_the_order_they_were_set() -> None:
    async def main(sim: Simulation) -> list[int]:
        fired: list[int] = []
        for number in range(50):
            sim.loop.call_at(1.0, fired.append, number)
        await asyncio.sleep(2)
        return fired

    assert run_simulation(SEED, main) == list(range(50))


def test_an_executor_runs_inline_and_passes_errors_on() -> None:
    async def main(sim: Simulation) -> int:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return await sim.loop.run_in_executor(None, lambda: 42)

    assert run_simulation(SEED, main) == 42


def test_anyio_sleeps_groups_and_cancel_scopes_work() -> None:
    async def main(sim: Simulation) -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 3)
            with anyio.move_on_after(1):
                await anyio.sleep(100)
        return sim.loop.time()

    assert run_simulation(SEED, main) == 3


def test_waiting_for_nothing_is_a_deadlock_that_names_who_waits() -> None:
    async def main(sim: Simulation) -> None:
        sim.node("server").spawn(asyncio.Event().wait(), name="server/forever")
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="waiting: main, server/forever") as caught:
        run_simulation(SEED, main)
    assert "simulation seed 7" in caught.value.__notes__[0]


def test_spinning_at_one_moment_is_a_livelock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "_STEPS_AT_ONE_MOMENT", 1000)

    async def main(sim: Simulation) -> None:
        while sim.loop.micros == 0:  # noqa: ASYNC110 - that is the mistake
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="the latest in world"):
        run_simulation(SEED, main)


def test_sockets_and_threads_are_forbidden() -> None:
    async def main(sim: Simulation) -> None:
        with pytest.raises(RealWorldForbidden, match="create_connection"):
            await asyncio.open_connection("localhost", 80)
        with pytest.raises(RealWorldForbidden, match="getaddrinfo"):
            await sim.loop.getaddrinfo("localhost", 80)
        with socket.socket() as real, pytest.raises(RealWorldForbidden, match="sock_recv"):
            await sim.loop.sock_recv(real, 1)

    run_simulation(SEED, main)


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main(sim: Simulation) -> int:
        for _ in range(5000):
            async with asyncio.timeout(3600):
                await asyncio.sleep(0.001)
        return len(sim.loop._timers)

    assert run_simulation(SEED, main) < 500


@pytest.mark.parametrize("shuffle", [False, True])
def test_each_node_keeps_its_own_order_of_callbacks(shuffle: bool) -> None:
    async def main(sim: Simulation) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []

        async def one(name: str, number: int) -> None:
            seen.append((name, number))

        for number in range(20):
            for name in ("a", "b", "c"):
                sim.node(name).spawn(one(name, number))
        await asyncio.sleep(1)
        return seen

    seen = run_simulation(SEED, main, shuffle=shuffle)
    for name in ("a", "b", "c"):
        assert [number for who, number in seen if who == name] == list(range(20))
    in_turn = [(name, number) for number in range(20) for name in ("a", "b", "c")]
    assert (seen == in_turn) is not shuffle
