"""The Ledger's contracts on real SQLite files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
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


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema in it, to be copied."""
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    store = Store(path)
    store.migrate()
    store.close()
    return path


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def ledgers(migrated: Path, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Ledgers]:
    path = tmp_path / "waypost.db"
    await asyncio.to_thread(shutil.copy, migrated, path)
    engines = [await asyncio.to_thread(ThreadedEngine, path, clock.now) for _ in range(2)]
    first, second = (SqlLedger(engine) for engine in engines)
    yield first, second
    await first.close()
    await second.close()


@pytest.fixture
def ledger(ledgers: Ledgers) -> SqlLedger:
    return ledgers[0]  # type: ignore[return-value]  # made above


@pytest.fixture
def pass_time(clock: ManualClock) -> PassTime:
    async def jump(span: Span) -> None:
        clock.jump(span)

    return jump


class TestSqliteLedger(LedgerContract): ...


class TestSqliteOutbox(OutboxContract): ...


class TestSqliteDoor(DoorContract): ...


class TestSqliteLookup(LookupContract): ...


class TestSqliteJournal(JournalContract): ...


class TestSqliteMessages(MessagesContract): ...


class TestSqliteAccounts(AccountsContract): ...


class TestSqliteTemplates(TemplatesContract): ...


class TestSqlitePolicies(PoliciesContract): ...


class TestSqliteMoney(MoneyContract): ...


class TestSqliteFigures(FiguresContract): ...
