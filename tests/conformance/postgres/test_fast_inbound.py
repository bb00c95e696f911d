"""The fast path for inbound messages: a decision counts only while its basis is unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_inbound import store_inbound_fast as short_way
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.engine import CommitQueue
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Plan, Row, Step
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import InboundAddressKey
from waypost.adapters.sql.kernel.kernel import Decided
from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.conversation import InboundMessage
from waypost.model.webhook import WebhookBatch
from waypost_testing.contracts.conversation_steps import arrive, conversation_with, entries, words
from waypost_testing.contracts.examples import ORG, T0, a_customer, an_inbound

STORED = "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM arrival), (SELECT head FROM feed)"


@pytest.fixture
async def engine(postgres_url: str) -> AsyncIterator[PostgresEngine]:
    await migrate(postgres_url)
    engine = await PostgresEngine.open(postgres_url)
    yield engine
    await engine.close()


@pytest.fixture
async def beside(postgres_url: str, engine: PostgresEngine) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Other transactions at work."""
    assert engine is not None
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def run(engine: PostgresEngine, step: Step) -> list[Row]:
    def only() -> Plan[list[Row]]:
        return (yield step)

    return await engine._lines[CommitQueue.ARRIVE].step_by_step(only())


async def ended(engine: PostgresEngine, plan: Plan[Decided], step: Step) -> list[Any]:
    """The answer of a plan whose last step this is."""
    with pytest.raises(StopIteration) as stop:
        plan.send(await run(engine, step))
    decided: Decided = stop.value.value
    return decided.answers


async def sent_away(
    engine: PostgresEngine, *said: InboundMessage, elsewhere: Container[InboundAddressKey] = ()
) -> list[Any]:
    """The answer of a plan that writes nothing: it ends when it has read."""
    plan = short_way([take(told) for told in said], elsewhere)
    return await ended(engine, plan, next(plan))


def take(*arrivals: InboundMessage) -> ApplyWebhook:
    return ApplyWebhook(WebhookBatch([], [], list(arrivals)), T0)


async def test_who_is_known_is_read_once_and_written_once(
    engine: PostgresEngine, beside: asyncpg.Connection[asyncpg.Record]
) -> None:
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound())
    plan = short_way([take(an_inbound(), an_inbound())], set())
    (taken,) = await ended(engine, plan, plan.send(await run(engine, next(plan))))
    assert taken is not None
    assert taken.arrived == 2
    assert tuple(await beside.fetchrow(STORED) or ()) == (3, 3, 3)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE lane SET owner = 'w', hi = tail, fence = fence + 1",
        "UPDATE conversation SET position = position",
        "UPDATE pair SET blocked_times = 7",
        "INSERT INTO arrival SELECT number, '{wamid}', conversation_id, 9, 0 FROM arrival LIMIT 1",
        "DELETE FROM lane",
    ],
)
async def test_what_somebody_changed_meanwhile_is_decided_again(
    change: str, engine: PostgresEngine, beside: asyncpg.Connection[asyncpg.Record]
) -> None:
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound())
    told = an_inbound()
    plan = short_way([take(told)], set())
    writing = plan.send(await run(engine, next(plan)))
    await beside.execute(change.format(wamid=told.wamid))
    before = await beside.fetchrow(STORED)
    assert await ended(engine, plan, writing) == [None]
    assert await beside.fetchrow(STORED) == before


async def test_a_pair_that_there_is_not_yet_is_made_on_the_long_way(
    engine: PostgresEngine, beside: asyncpg.Connection[asyncpg.Record]
) -> None:
    """The fast path does not learn that another process has created it meanwhile, and blocked it."""
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound())
    await beside.execute("DELETE FROM pair")
    assert await sent_away(engine, an_inbound()) == [None]
    plan = short_way([take(an_inbound(opens_window=False))], set())
    (taken,) = await ended(engine, plan, plan.send(await run(engine, next(plan))))
    assert taken.arrived == 1


@pytest.mark.parametrize("customer", ["+5215512345678", "+525512345678", "+541123456789", "+5511987654321"])
async def test_who_has_a_pair_for_each_form_of_their_phone_goes_the_long_way(
    customer: str, engine: PostgresEngine
) -> None:
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound(customer))
    assert await sent_away(engine, an_inbound(customer)) == [None]


async def test_nobody_overtakes_what_they_said_before(engine: PostgresEngine) -> None:
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound(name="Sheena"))
    renamed, after = an_inbound(name="Sheena Nelson"), an_inbound()
    assert await sent_away(engine, renamed, after) == [None, None]
    assert await sent_away(engine, after, elsewhere={(ORG, after.addresses[0])}) == [None]


async def test_what_comes_at_once_keeps_its_order_on_whichever_way(engine: PostgresEngine) -> None:
    ledger = SqlLedger(engine, FAST_PATHS)
    customers = [a_customer() for _ in range(5)]
    for n in range(20):
        named = [an_inbound(c, text=f"{n}a", name=f"Name {n}") for c in customers]
        plain = [an_inbound(c, text=f"{n}b") for c in customers]
        await asyncio.gather(*(arrive(ledger, told) for told in [*named, *plain]))
    for customer in customers:
        talk = await conversation_with(ledger, customer)
        assert words(await entries(ledger, talk.id)) == [f"{n}{side}" for n in range(20) for side in "ab"]


async def test_a_batch_that_fails_is_not_stored_in_another_order(
    engine: PostgresEngine, beside: asyncpg.Connection[asyncpg.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it were split, its first half would be overtaken, and its second half must not be stored before it."""
    customer = a_customer()
    await arrive(SqlLedger(engine, FAST_PATHS), an_inbound(customer, text="zero"))
    tried, as_usual = 0, engine.run

    async def meet_others(lane: CommitQueue, plan: Plan[Any]) -> Any:
        nonlocal tried
        tried += lane is CommitQueue.ARRIVE
        if lane is CommitQueue.FULL or tried > 3:
            return await as_usual(lane, plan)
        if tried < 3:
            raise TransactionConflict("somebody holds the feed")
        writing = plan.send(await run(engine, next(plan)))
        await beside.execute("UPDATE conversation SET position = position")
        return Decided(await ended(engine, plan, writing), {})

    monkeypatch.setattr(engine, "run", meet_others)
    ledger = SqlLedger(engine, FAST_PATHS)
    await asyncio.gather(*(arrive(ledger, an_inbound(customer, text=text)) for text in ("one", "two")))
    talk = await conversation_with(ledger, customer)
    assert words(await entries(ledger, talk.id)) == ["zero", "one", "two"]
