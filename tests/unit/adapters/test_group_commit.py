"""The group commit, with a scripted database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from waypost.adapters.sql.engine.group_commit import GroupCommit, TransactionConflict
from waypost.ports.platform.failure import Busy, LedgerError, Rejected, Unavailable

Attempt = Callable[[list[str]], None]
"""Raises what the database would."""


class Database:
    """Commits when it is released; keeps every attempted batch and everything that was committed."""

    def __init__(self, attempt: Attempt = lambda batch: None) -> None:
        self.tried: list[list[str]] = []
        self.committed: list[str] = []
        self.running = asyncio.Event()
        self.let_commit = asyncio.Event()
        self.let_commit.set()
        self._attempt = attempt

    def hold(self) -> None:
        self.let_commit.clear()
        self.running.clear()

    async def run(self, batch: Sequence[str]) -> list[str]:
        self.tried.append(list(batch))
        self.running.set()
        await self.let_commit.wait()
        self._attempt(list(batch))
        self.committed += batch
        return [intent.upper() for intent in batch]


def do(group: GroupCommit[str], *intents: str) -> list[asyncio.Task[str]]:
    return [asyncio.ensure_future(group.do(intent)) for intent in intents]


async def outcomes(tasks: Sequence[asyncio.Task[str]]) -> list[str]:
    """Each answer, or the name of its error."""
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    return [type(end).__name__ if isinstance(end, BaseException) else end for end in ended]


def poisoned_by(*bad: str) -> Attempt:
    def attempt(batch: list[str]) -> None:
        if set(batch) & set(bad):
            raise ValueError("cannot be stored")

    return attempt


class TestBatching:
    async def test_what_queues_while_a_commit_runs_goes_into_the_next(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run)
        first = do(group, "a")
        await database.running.wait()
        rest = do(group, "b", "c", "d")
        await asyncio.sleep(0)  # they have submitted their intents
        database.let_commit.set()
        assert await outcomes([*first, *rest]) == ["A", "B", "C", "D"]
        assert database.tried == [["a"], ["b", "c", "d"]]

    async def test_nobody_is_answered_before_the_commit(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run)
        tasks = do(group, "a", "b")
        await database.running.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)
        database.let_commit.set()
        assert await outcomes(tasks) == ["A", "B"]

    async def test_a_batch_is_not_larger_than_allowed(self) -> None:
        database = Database()
        group = GroupCommit(database.run, most_together=3)
        assert len(await outcomes(do(group, *"abcdefgh"))) == 8
        assert [len(batch) for batch in database.tried] == [3, 3, 2]

    async def test_intents_keep_their_order(self) -> None:
        database = Database()
        group = GroupCommit(database.run, most_together=4)
        await outcomes(do(group, *"hgfedcba"))
        assert database.committed == list("hgfedcba")

    async def test_it_rests_and_starts_again(self) -> None:
        database = Database()
        group = GroupCommit(database.run)
        assert await group.do("a") == "A"
        await asyncio.sleep(0)
        assert await group.do("b") == "B"
        assert database.tried == [["a"], ["b"]]


class TestPoison:
    @pytest.mark.parametrize("bad", list("abcdefgh"))
    async def test_a_poisoned_intent_fails_alone_wherever_it_stands(self, bad: str) -> None:
        database = Database(poisoned_by(bad))
        group = GroupCommit(database.run)
        expected = ["Rejected" if intent == bad else intent.upper() for intent in "abcdefgh"]
        assert await outcomes(do(group, *"abcdefgh")) == expected
        assert sorted(database.committed) == [intent for intent in "abcdefgh" if intent != bad]

    async def test_several_poisoned_intents_fail_alone(self) -> None:
        database = Database(poisoned_by("a", "d", "e"))
        group = GroupCommit(database.run)
        assert await outcomes(do(group, *"abcde")) == ["Rejected", "B", "C", "Rejected", "Rejected"]

    async def test_poison_is_found_by_halving(self) -> None:
        database = Database(poisoned_by("5"))
        group = GroupCommit(database.run)
        await outcomes(do(group, *"01234567"))
        assert [len(batch) for batch in database.tried] == [8, 4, 4, 2, 1, 1, 2]

    async def test_the_failure_keeps_its_cause(self) -> None:
        group = GroupCommit(Database(poisoned_by("a")).run)
        with pytest.raises(Rejected, match="ValueError: cannot be stored") as failure:
            await group.do("a")
        assert isinstance(failure.value.__cause__, ValueError)

    async def test_those_who_came_later_are_served_after_it(self) -> None:
        database = Database(poisoned_by("a"))
        database.hold()
        group = GroupCommit(database.run)
        first = do(group, "a")
        await database.running.wait()
        rest = do(group, "b")
        await asyncio.sleep(0)  # it has submitted its intent
        database.let_commit.set()
        assert await outcomes([*first, *rest]) == ["Rejected", "B"]


class TestConflict:
    async def test_a_conflict_runs_the_same_batch_again(self) -> None:
        conflicts = iter([TransactionConflict("deadlock")])

        def once(batch: list[str]) -> None:
            for conflict in conflicts:
                raise conflict

        database = Database(once)
        group = GroupCommit(database.run)
        assert await outcomes(do(group, *"abcd")) == ["A", "B", "C", "D"]
        assert database.tried == [list("abcd")] * 2

    async def test_a_conflict_that_stays_halves_the_batch_until_it_is_alone(self) -> None:
        def locked(batch: list[str]) -> None:
            if "c" in batch:
                raise TransactionConflict("somebody holds it")

        database = Database(locked)
        group = GroupCommit(database.run)
        assert await outcomes(do(group, *"abcd")) == ["A", "B", "Busy", "D"]
        assert database.tried == [list(batch) for batch in ("abcd", "abcd", "ab", "cd", "cd", "c", "c", "d")]

    async def test_a_conflict_and_a_poison_in_one_batch_are_told_apart(self) -> None:
        def trouble(batch: list[str]) -> None:
            if "a" in batch:
                raise TransactionConflict("somebody holds it")
            if "c" in batch:
                raise ValueError("cannot be stored")

        group = GroupCommit(Database(trouble).run)
        assert await outcomes(do(group, *"abcd")) == ["Busy", "B", "Rejected", "D"]


class TestPressure:
    async def test_too_much_waiting_is_busy_at_once(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run, most_waiting=2)
        running = do(group, "a")
        await database.running.wait()
        waiting = do(group, "b", "c")
        await asyncio.sleep(0)  # they have submitted their intents
        with pytest.raises(Busy):
            await group.do("d")
        database.let_commit.set()
        assert await outcomes([*running, *waiting]) == ["A", "B", "C"]
        assert await group.do("d") == "D"
        assert database.committed == ["a", "b", "c", "d"]


class TestCallers:
    async def test_what_a_caller_asked_for_stands_though_it_went_away(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run)
        running = do(group, "a")
        await database.running.wait()
        gone, staying = do(group, "b", "c")
        await asyncio.sleep(0)  # they have submitted their intents
        gone.cancel()
        database.let_commit.set()
        assert await outcomes([*running, gone, staying]) == ["A", "CancelledError", "C"]
        assert database.committed == ["a", "b", "c"]

    async def test_a_caller_that_goes_away_during_the_commit_disturbs_nobody(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run)
        gone, staying = do(group, "a", "b")
        await database.running.wait()
        gone.cancel()
        database.let_commit.set()
        assert await outcomes([gone, staying]) == ["CancelledError", "B"]
        assert database.committed == ["a", "b"]


class TestClosing:
    async def test_closing_finishes_what_waits(self) -> None:
        database = Database()
        database.hold()
        group = GroupCommit(database.run, most_together=2)
        tasks = do(group, *"abcde")
        await database.running.wait()
        closing = asyncio.ensure_future(group.close())
        await asyncio.sleep(0)
        assert not closing.done()
        database.let_commit.set()
        await closing
        assert await outcomes(tasks) == ["A", "B", "C", "D", "E"]

    async def test_a_closed_one_takes_nothing_more(self) -> None:
        database = Database()
        group = GroupCommit(database.run)
        await group.close()
        with pytest.raises(Unavailable):
            await group.do("a")
        assert database.tried == []

    async def test_closing_twice_is_closing_once(self) -> None:
        group = GroupCommit(Database().run)
        await group.close()
        await group.close()


class TestUnavailable:
    @pytest.mark.parametrize("failure", [Unavailable("gone"), Busy("full")], ids=["unavailable", "busy"])
    async def test_a_ledger_that_is_gone_fails_everybody_without_halving(self, failure: LedgerError) -> None:
        def gone(batch: list[str]) -> None:
            raise failure

        database = Database(gone)
        group = GroupCommit(database.run)
        assert await outcomes(do(group, *"abc")) == [type(failure).__name__] * 3
        assert database.tried == [list("abc")]

    async def test_each_caller_gets_a_failure_of_its_own(self) -> None:
        def gone(batch: list[str]) -> None:
            raise Unavailable("gone")

        group = GroupCommit(Database(gone).run)
        failures = await asyncio.gather(*do(group, "a", "b"), return_exceptions=True)
        assert failures[0] is not failures[1]

    async def test_it_works_again_when_the_ledger_is_back(self) -> None:
        trouble = iter([Unavailable("gone")])

        def once(batch: list[str]) -> None:
            for failure in trouble:
                raise failure

        group = GroupCommit(Database(once).run)
        assert await outcomes(do(group, "a")) == ["Unavailable"]
        assert await group.do("b") == "B"
