import asyncio
import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from waypost.model.time import Span, hours, seconds
from waypost_testing.simulation import START, NodeCrashed, Simulation, run_simulation

SEED = 11


class Program:
    """Several awaits, a child task, a timer, an async generator and a finally: a note for each thing done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.last_words: list[str] = []

    async def main(self) -> None:
        try:
            async with self.held():
                self.done.append("begun")
                child = asyncio.create_task(self.child())
                await asyncio.sleep(0.01)
                self.done.append("slept")
                asyncio.get_running_loop().call_later(0.02, self.done.append, "timer")
                async for number in self.numbers():
                    self.done.append(f"number {number}")
                await child
                self.done.append("joined")
                await asyncio.sleep(0.05)
                self.done.append("ended")
        finally:
            self.last_words.append("main")

    async def child(self) -> None:
        try:
            await asyncio.sleep(0.015)
            self.done.append("child")
            async with asyncio.TaskGroup() as group:
                for number in range(3):
                    group.create_task(self.grandchild(number))
        except BaseException:
            self.last_words.append("child")
            raise

    async def grandchild(self, number: int) -> None:
        await asyncio.sleep(0.001 * number)
        self.done.append(f"grandchild {number}")

    async def numbers(self) -> AsyncIterator[int]:
        try:
            for number in range(3):
                await asyncio.sleep(0.003)
                yield number
        finally:
            self.last_words.append("numbers")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.last_words.append("held")


def run_and_kill_at(step: int) -> tuple[list[str], list[str], bool]:
    """What was done at the kill, or at the end; the simulation then continues for an hour."""
    program = Program()

    async def main(sim: Simulation) -> tuple[list[str], list[str], bool]:
        node = sim.node("victim")
        task = node.spawn(program.main())
        node.crash_after(step)
        killed = asyncio.create_task(node.gone())
        await asyncio.wait((task, killed), return_when=asyncio.FIRST_COMPLETED)
        at_the_kill = (list(program.done), list(program.last_words), not node.alive)
        await asyncio.sleep(3600)
        if not node.alive:
            assert (program.done, program.last_words) == at_the_kill[:2]
        return at_the_kill

    return run_simulation(SEED, main)


def test_a_kill_at_every_step_leaves_what_was_done_and_nothing_after() -> None:
    whole, _, killed = run_and_kill_at(10_000)
    assert not killed
    assert len(whole) == 12
    done: list[str] = []
    before: list[str] = []
    step = 0
    for step in range(1, 1000):
        done, last_words, killed = run_and_kill_at(step)
        assert done == whole[: len(done)]
        assert len(done) >= len(before)
        before = done
        if not killed:
            break
        assert "main" not in last_words
        assert "held" not in last_words
        assert "child" not in last_words
    assert step > 20, "the program has that many awaits to be killed at"
    assert done == whole


def test_the_kill_before_the_first_step_leaves_nothing() -> None:
    assert run_and_kill_at(1) == ([], [], True)
    assert run_and_kill_at(2)[0] == ["begun"]


def test_timers_of_the_dead_do_not_hold_up_the_living() -> None:
    async def main(sim: Simulation) -> None:
        sim.node("a").spawn(asyncio.sleep(1_000_000))
        await asyncio.sleep(1)
        sim.node("a").crash()
        await asyncio.Event().wait()

    with pytest.raises(Exception, match=r"nothing will ever happen again at 1\.0 s"):
        run_simulation(SEED, main)


def test_a_new_context_does_not_escape_the_kill() -> None:
    async def main(sim: Simulation) -> list[str]:
        done: list[str] = []

        async def orphan() -> None:
            await asyncio.sleep(1)
            done.append("orphan")

        async def parent() -> None:
            asyncio.get_running_loop().create_task(orphan(), context=contextvars.Context())
            await asyncio.sleep(0.5)
            node.crash()

        node = sim.node("a")
        node.spawn(parent())
        await asyncio.sleep(5)
        return done

    assert run_simulation(SEED, main) == []


def test_a_restarted_node_lives_again_with_fresh_ids_and_the_same_clock() -> None:
    async def main(sim: Simulation) -> list[str]:
        node, made = sim.node("a"), []

        async def server() -> None:
            while True:
                made.append(node.ids.token())
                await node.clock.sleep(seconds(1))

        node.restart(server)
        await asyncio.sleep(2.5)
        node.crash()
        with pytest.raises(NodeCrashed):
            node.spawn(server())
        await asyncio.sleep(10)
        assert len(made) == 3
        node.restart(server)
        await asyncio.sleep(1.5)
        assert (node.generation, node.alive) == (3, True)
        return made

    made = run_simulation(SEED, main)
    assert len(set(made)) == 5
    assert all(len(token) == 32 for token in made)


def test_run_returns_the_result_or_says_that_the_node_died() -> None:
    async def main(sim: Simulation) -> str:
        node = sim.node("a")

        async def work() -> str:
            await asyncio.sleep(1)
            return "done"

        result = await node.run(work())
        sim.loop.call_later(0.5, node.crash)
        with pytest.raises(NodeCrashed):
            await node.run(work())
        return result

    assert run_simulation(SEED, main) == "done"


def test_a_clock_jump_moves_now_and_nothing_else() -> None:
    async def main(sim: Simulation) -> None:
        clock, other = sim.node("a").clock, sim.node("b").clock
        assert clock.now() == other.now() == START
        await clock.sleep(seconds(1))
        sleeper = asyncio.create_task(clock.sleep(seconds(10)))
        await asyncio.sleep(0)
        clock.jump(hours(-5))
        assert clock.now() == START + seconds(1) - hours(5)
        assert other.now() == START + seconds(1)
        assert clock.monotonic() == 1.0
        await sleeper
        assert clock.monotonic() == 11.0
        clock.jump(Span(hours(5)))
        assert clock.now() == START + seconds(11)

    run_simulation(SEED, main)


def test_chance_is_split_into_streams_that_do_not_disturb_each_other() -> None:
    async def draws(sim: Simulation, extra: int) -> tuple[list[float], str]:
        for _ in range(extra):
            sim.node("a").random.unit()
        return [sim.node("b").random.unit() for _ in range(5)], sim.node("b").ids.token(9)

    assert run_simulation(1, lambda sim: draws(sim, 0)) == run_simulation(1, lambda sim: draws(sim, 3))
    assert run_simulation(1, lambda sim: draws(sim, 0)) != run_simulation(2, lambda sim: draws(sim, 0))


def test_a_paused_process_does_nothing_and_then_goes_on_where_it_stood() -> None:
    async def main(sim: Simulation) -> list[tuple[str, float]]:
        node, seen = sim.node("worker"), []

        async def work() -> None:
            for step in range(3):
                await asyncio.sleep(1)
                seen.append((f"step {step}", sim.loop.time()))

        node.spawn(work())
        await asyncio.sleep(1.5)
        life = node.pause()
        await asyncio.sleep(10)
        assert len(seen) == 1
        node.resume(life)
        await asyncio.sleep(5)
        return seen

    assert run_simulation(SEED, main) == [("step 0", 1.0), ("step 1", 11.5), ("step 2", 12.5)]


def test_a_paused_process_can_be_killed_and_says_nothing_when_it_is_resumed() -> None:
    async def main(sim: Simulation) -> list[str]:
        node, seen = sim.node("worker"), list[str]()

        async def work() -> None:
            try:
                await asyncio.sleep(1)
                seen.append("went on")
            finally:
                seen.append("last words")

        node.spawn(work())
        life = node.pause()
        await asyncio.sleep(2)
        node.crash()
        node.resume(life)
        await asyncio.sleep(2)
        return list(seen)

    assert run_simulation(SEED, main) == []
