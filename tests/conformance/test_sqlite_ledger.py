"""The Ledger's contracts on real SQLite files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import Store
from waypost.model.time import Span
from waypost.ports.log import Log
from waypost.testing.clock import ManualClock
from waypost.testing.contracts.accounts import AccountsContract
from waypost.testing.contracts.arrivals import FeedsContract
from waypost.testing.contracts.audited import AuditedContract
from waypost.testing.contracts.chats import ChatsContract
from waypost.testing.contracts.conversations import ConversationsContract
from waypost.testing.contracts.deferring import DeferContract, StandBackContract
from waypost.testing.contracts.detector import DetectorContract, Plant
from waypost.testing.contracts.door import DoorContract, LookupContract
from waypost.testing.contracts.dossiers import AuditContract, ConsentsContract, DossiersContract
from waypost.testing.contracts.examples import Ledgers, PassTime
from waypost.testing.contracts.failover import FailoverContract
from waypost.testing.contracts.figures import FiguresContract
from waypost.testing.contracts.follows import LiveContract
from waypost.testing.contracts.gates import GatesContract
from waypost.testing.contracts.hand_over import HandOverContract
from waypost.testing.contracts.holds import HoldsContract
from waypost.testing.contracts.journal import JournalContract
from waypost.testing.contracts.lanes import LanesContract
from waypost.testing.contracts.ledger import LedgerContract
from waypost.testing.contracts.log import LogContract
from waypost.testing.contracts.mailboxes import MailboxesContract
from waypost.testing.contracts.media import FilesContract
from waypost.testing.contracts.messages import MessagesContract
from waypost.testing.contracts.money import MoneyContract
from waypost.testing.contracts.notices import NoticesContract
from waypost.testing.contracts.operating import DeadLetterContract, OperatingContract, StandingContract
from waypost.testing.contracts.outbox import OutboxContract
from waypost.testing.contracts.permits import PermitsContract
from waypost.testing.contracts.policies import PoliciesContract
from waypost.testing.contracts.quick_replies import QuickRepliesContract
from waypost.testing.contracts.search import SearchContract
from waypost.testing.contracts.templates import TemplatesContract
from waypost.testing.contracts.turn_detector import TurnDetectorContract
from waypost.testing.contracts.updates import (
    HeldAccountContract,
    LimitsContract,
    PreferencesContract,
    ToldTemplatesContract,
    UpdatesContract,
)
from waypost.testing.contracts.windows import WindowsContract


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


@pytest.fixture
def plant(ledgers: Ledgers, tmp_path: Path) -> Plant:
    def run(sql: str) -> None:
        connection = apsw.Connection(str(tmp_path / "waypost.db"))
        connection.set_busy_timeout(5000)
        connection.execute(sql)
        connection.close()

    async def plant(sql: str) -> None:
        await asyncio.to_thread(run, sql)

    return plant


class TestSqliteLedger(LedgerContract): ...


class TestSqliteOutbox(OutboxContract): ...


class TestSqliteDoor(DoorContract): ...


class TestSqliteLookup(LookupContract): ...


class TestSqliteJournal(JournalContract): ...


class TestSqliteUpdates(UpdatesContract): ...


class TestSqliteHeldAccount(HeldAccountContract): ...


class TestSqliteLimits(LimitsContract): ...


class TestSqliteToldTemplates(ToldTemplatesContract): ...


class TestSqlitePreferences(PreferencesContract): ...


class TestSqliteMessages(MessagesContract): ...


class TestSqliteAccounts(AccountsContract): ...


class TestSqliteDetector(DetectorContract): ...


class TestSqliteTurnDetector(TurnDetectorContract): ...


class TestSqliteHolds(HoldsContract): ...


class TestSqliteTemplates(TemplatesContract): ...


class TestSqliteGates(GatesContract): ...


class TestSqliteWaiting(StandBackContract, DeferContract): ...


class TestSqlitePermits(PermitsContract): ...


class TestSqliteWindows(WindowsContract): ...


class TestSqliteDossiers(DossiersContract): ...


class TestSqliteConsents(ConsentsContract): ...


class TestSqliteAudit(AuditContract): ...


class TestSqliteAudited(AuditedContract): ...


class TestSqliteStanding(StandingContract): ...


class TestSqliteOperating(OperatingContract): ...


class TestSqliteDeadLetter(DeadLetterContract): ...


class TestSqliteMailboxes(MailboxesContract): ...


class TestSqliteFailover(FailoverContract): ...


class TestSqlitePolicies(PoliciesContract): ...


class TestSqliteQuickReplies(QuickRepliesContract): ...


class TestSqliteMoney(MoneyContract): ...


class TestSqliteFigures(FiguresContract): ...


class TestSqliteFiles(FilesContract): ...


class TestSqliteLanes(LanesContract): ...


class TestSqliteConversations(ConversationsContract): ...


class TestSqliteFeeds(FeedsContract): ...


class TestSqliteChats(ChatsContract): ...


class TestSqliteSearch(SearchContract): ...


class TestSqliteHandOver(HandOverContract): ...


class TestSqliteLive(LiveContract): ...


class TestSqliteLog(LogContract):
    @pytest.fixture
    def log(self, ledger: SqlLedger) -> Log:
        return ledger.log


class TestSqliteNotices(NoticesContract): ...
