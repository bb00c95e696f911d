"""The writer's two ways for what customers write, with a database that does exactly what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import TypeVar

import pytest

from waypost.adapters.sql import writer
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.kernel import Decided
from waypost.adapters.sql.plan import Once, Plan
from waypost.adapters.sql.taking import Take
from waypost.adapters.sql.writer import Address, Lane, ShortWays, Writer
from waypost.model.report import Post
from waypost.ports.failure import Rejected
from waypost.testing.contracts.examples import T0, a_customer, an_arrival

T = TypeVar("T")

READ = Once("read")
NOT_ALONE = Conflict("somebody holds the feed")


def saying(customer: str, text: str) -> Take:
    return Take(Post([], [], [an_arrival(customer, text=text)]), T0)


class Database:
    """Keeps what was stored, in its order; the short way meets `trouble` when more than one come together."""

    def __init__(self, trouble: Exception = NOT_ALONE) -> None:
        self.stored: list[Take] = []
        self.shortly: list[int] = []
        self.poisoned: list[Take] = []
        self.overtaken: list[Take] = []
        self._trouble = trouble
        self.looked = asyncio.Event()
        self.on_the_long_way = asyncio.Event()
        self.let_store = asyncio.Event()
        self.let_store.set()

    async def run(self, lane: Lane, plan: Plan[T]) -> T:
        """Each of these plans asks for one statement, and finds nothing."""
        if lane is Lane.LONG:
            self.on_the_long_way.set()
            await self.let_store.wait()
        next(plan)
        with pytest.raises(StopIteration) as stop:
            plan.send([])
        answer: T = stop.value.value
        return answer

    def arrive(self, intents: Sequence[Take], elsewhere: Container[Address]) -> Plan[Decided]:
        yield READ
        self.shortly.append(len(intents))
        self.looked.set()
        if len(intents) > 1:
            raise self._trouble
        (intent,) = intents
        (told,) = intent.post.arrivals
        if intent in self.overtaken or (told.org_id, told.addresses[0]) in elsewhere:
            return Decided([None], {})
        self.stored.append(intent)
        return Decided([intent], {})

    def decide_together(self, intents: Sequence[Take]) -> Plan[Decided]:
        yield READ
        if any(intent in self.poisoned for intent in intents):
            raise ValueError("cannot be stored")
        self.stored += intents
        return Decided(list(intents), {})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[Database], Writer]:
    def writing(database: Database) -> Writer:
        monkeypatch.setattr(writer, "decide_together", database.decide_together)
        return Writer(database.run, ShortWays(arrive=database.arrive))

    return writing


@pytest.mark.parametrize("trouble", [NOT_ALONE, ValueError("cannot be stored")], ids=type)
async def test_nobody_overtakes_what_they_said_before_when_their_batch_fails(
    trouble: Exception, opened: Callable[[Database], Writer]
) -> None:
    database = Database(trouble)
    customer = a_customer()
    before, between, after = saying(customer, "one"), saying(a_customer(), "hello"), saying(customer, "two")
    database.overtaken = [before]
    writing = opened(database)
    await asyncio.gather(*(writing.take(intent) for intent in (before, between, after)))
    assert database.stored == [before, between, after]


async def test_what_cannot_be_stored_fails_alone_on_opened(opened: Callable[[Database], Writer]) -> None:
    database = Database(ValueError("cannot be stored"))
    said = [saying(a_customer(), "hello") for _ in range(4)]
    database.poisoned = [said[2]]
    writing = opened(database)
    ended = await asyncio.gather(*(writing.take(intent) for intent in said), return_exceptions=True)
    assert [isinstance(end, Rejected) for end in ended] == [False, False, True, False]
    assert database.stored == [said[0], said[1], said[3]]
    assert database.shortly == [4]


async def test_nobody_overtakes_what_is_still_to_be_stored_though_its_caller_went_away(
    opened: Callable[[Database], Writer],
) -> None:
    database = Database()
    customer = a_customer()
    before, after = saying(customer, "one"), saying(customer, "two")
    database.overtaken = [before]
    database.let_store.clear()
    writing = opened(database)
    gone = asyncio.ensure_future(writing.take(before))
    await database.on_the_long_way.wait()
    database.looked.clear()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    staying = asyncio.ensure_future(writing.take(after))
    await database.looked.wait()
    database.let_store.set()
    await staying
    assert database.stored == [before, after]
    await writing.take(saying(customer, "three"))
    assert database.shortly == [1, 1, 1]
    assert not writing._detours
