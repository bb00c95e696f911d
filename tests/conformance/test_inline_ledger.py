"""The Ledger's contracts on the engine of the simulation: the same SQL, in memory, run inline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
from waypost.adapters.sqlite.store import Store
from waypost.model.time import Span
from waypost.testing.clock import ManualClock
from waypost.testing.contracts.accounts import AccountsContract
from waypost.testing.contracts.door import DoorContract, LookupContract
from waypost.testing.contracts.examples import Ledgers, PassTime
from waypost.testing.contracts.figures import FiguresContract
from waypost.testing.contracts.journal import JournalContract
from waypost.testing.contracts.ledger import LedgerContract
from waypost.testing.contracts.messages import MessagesContract
from waypost.testing.contracts.money import MoneyContract
from waypost.testing.contracts.outbox import OutboxContract
from waypost.testing.contracts.policies import PoliciesContract
from waypost.testing.contracts.templates import TemplatesContract


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store(None)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def ledgers(store: Store, clock: ManualClock) -> Ledgers:
    async def pause(_where: str) -> None:
        await asyncio.sleep(0)

    first, second = (SqlLedger(InlineEngine(store, clock.now, pause)) for _ in range(2))
    return first, second


@pytest.fixture
def ledger(ledgers: Ledgers) -> SqlLedger:
    return ledgers[0]  # type: ignore[return-value]  # made above


@pytest.fixture
def pass_time(clock: ManualClock) -> PassTime:
    async def jump(span: Span) -> None:
        clock.jump(span)

    return jump


class TestInlineLedger(LedgerContract): ...


class TestInlineOutbox(OutboxContract): ...


class TestInlineDoor(DoorContract): ...


class TestInlineLookup(LookupContract): ...


class TestInlineJournal(JournalContract): ...


class TestInlineMessages(MessagesContract): ...


class TestInlineAccounts(AccountsContract): ...


class TestInlineTemplates(TemplatesContract): ...


class TestInlinePolicies(PoliciesContract): ...


class TestInlineMoney(MoneyContract): ...


class TestInlineFigures(FiguresContract): ...
