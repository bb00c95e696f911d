"""The two paths of the commit queues for inbound messages, with a scripted database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import TypeVar

import pytest

from waypost.adapters.sql.engine.engine import CommitQueue
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.kernel import commit_queues
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import FastPaths, InboundAddressKey, Writer
from waypost.adapters.sql.kernel.kernel import Decided
from waypost.model.webhook import WebhookBatch
from waypost.ports.platform.failure import Rejected
from waypost_testing.contracts.examples import T0, a_customer, an_inbound

T = TypeVar("T")

READ = Once("read")
NOT_ALONE = TransactionConflict("somebody holds the feed")


def saying(customer: str, text: str) -> ApplyWebhook:
    return ApplyWebhook(WebhookBatch([], [], [an_inbound(customer, text=text)]), T0)


class Database:
    """Keeps what was stored, in order; the fast path fails with `trouble` when several come together."""

    def __init__(self, trouble: Exception = NOT_ALONE) -> None:
        self.stored: list[ApplyWebhook] = []
        self.shortly: list[int] = []
        self.poisoned: list[ApplyWebhook] = []
        self.overtaken: list[ApplyWebhook] = []
        self._trouble = trouble
        self.looked = asyncio.Event()
        self.on_the_long_way = asyncio.Event()
        self.let_store = asyncio.Event()
        self.let_store.set()

    async def run(self, lane: CommitQueue, plan: Plan[T]) -> T:
        """Each of these plans runs one statement, and finds nothing."""
        if lane is CommitQueue.FULL:
            self.on_the_long_way.set()
            await self.let_store.wait()
        next(plan)
        with pytest.raises(StopIteration) as stop:
            plan.send([])
        answer: T = stop.value.value
        return answer

    def arrive(self, intents: Sequence[ApplyWebhook], elsewhere: Container[InboundAddressKey]) -> Plan[Decided]:
        yield READ
        self.shortly.append(len(intents))
        self.looked.set()
        if len(intents) > 1:
            raise self._trouble
        (intent,) = intents
        (told,) = intent.post.inbound
        if intent in self.overtaken or (told.org_id, told.addresses[0]) in elsewhere:
            return Decided([None], {})
        self.stored.append(intent)
        return Decided([intent], {})

    def decide_together(self, intents: Sequence[ApplyWebhook]) -> Plan[Decided]:
        yield READ
        if any(intent in self.poisoned for intent in intents):
            raise ValueError("cannot be stored")
        self.stored += intents
        return Decided(list(intents), {})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[Database], Writer]:
    def writing(database: Database) -> Writer:
        monkeypatch.setattr(commit_queues, "decide_together", database.decide_together)
        return Writer(database.run, FastPaths(arrive=database.arrive))

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
    await asyncio.gather(*(writing.apply_webhook(intent) for intent in (before, between, after)))
    assert database.stored == [before, between, after]


async def test_what_cannot_be_stored_fails_alone_on_opened(opened: Callable[[Database], Writer]) -> None:
    database = Database(ValueError("cannot be stored"))
    said = [saying(a_customer(), "hello") for _ in range(4)]
    database.poisoned = [said[2]]
    writing = opened(database)
    ended = await asyncio.gather(*(writing.apply_webhook(intent) for intent in said), return_exceptions=True)
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
    gone = asyncio.ensure_future(writing.apply_webhook(before))
    await database.on_the_long_way.wait()
    database.looked.clear()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    staying = asyncio.ensure_future(writing.apply_webhook(after))
    await database.looked.wait()
    database.let_store.set()
    await staying
    assert database.stored == [before, after]
    await writing.apply_webhook(saying(customer, "three"))
    assert database.shortly == [1, 1, 1]
    assert not writing._detours
