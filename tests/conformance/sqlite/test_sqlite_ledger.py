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
from waypost.adapters.sqlite.store import SqliteStore
from waypost.model.time import Span
from waypost.ports.history.history import History
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.accounts.accounts import AccountsContract
from waypost_testing.contracts.accounts.audit_with_change import AuditWithChangeContract
from waypost_testing.contracts.accounts.dossiers import AuditContract, ConsentsContract, DossiersContract
from waypost_testing.contracts.accounts.mailboxes import MailboxesContract
from waypost_testing.contracts.accounts.policies import PoliciesContract
from waypost_testing.contracts.accounts.quick_replies import QuickRepliesContract
from waypost_testing.contracts.conversations.chats import ChatsContract
from waypost_testing.contracts.conversations.conversations import ConversationsContract
from waypost_testing.contracts.conversations.search import SearchContract
from waypost_testing.contracts.conversations.turn_queue import TurnQueueContract
from waypost_testing.contracts.examples import Ledgers, PassTime
from waypost_testing.contracts.history.archive import ArchiveFeedContract
from waypost_testing.contracts.history.history import HistoryContract
from waypost_testing.contracts.ledger import LedgerContract
from waypost_testing.contracts.limits.disabled_and_held import DisabledAndHeldContract
from waypost_testing.contracts.limits.gates import GatesContract
from waypost_testing.contracts.limits.money import MoneyContract
from waypost_testing.contracts.limits.permits import PermitsContract
from waypost_testing.contracts.limits.windows import WindowsContract
from waypost_testing.contracts.live.device_feeds import LiveContract
from waypost_testing.contracts.live.notifications import NotificationsContract
from waypost_testing.contracts.operations.invariants import DetectorContract, InsertRows
from waypost_testing.contracts.operations.operator_reads import (
    DeadLetterContract,
    DispatchStateContract,
    OperatorReadsContract,
)
from waypost_testing.contracts.operations.queue_stats import QueueStatsContract
from waypost_testing.contracts.operations.turn_invariants import TurnDetectorContract
from waypost_testing.contracts.receiving.inbound_messages import FeedsContract
from waypost_testing.contracts.receiving.journal import JournalContract
from waypost_testing.contracts.receiving.media import FilesContract
from waypost_testing.contracts.receiving.updates import (
    HeldAccountContract,
    LimitsContract,
    PreferencesContract,
    TemplateStatusContract,
    UpdatesContract,
)
from waypost_testing.contracts.receiving.webhook_uptime import MessageLookupContract, WebhookUptimeContract
from waypost_testing.contracts.sending.deferring import DeferContract, StandBackContract
from waypost_testing.contracts.sending.failover import FailoverContract
from waypost_testing.contracts.sending.messages import MessagesContract
from waypost_testing.contracts.sending.outbox import OutboxContract
from waypost_testing.contracts.sending.templates import TemplatesContract


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema in it, to be copied."""
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    store = SqliteStore(path)
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
def plant(ledgers: Ledgers, tmp_path: Path) -> InsertRows:
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


class TestSqliteDoor(WebhookUptimeContract): ...


class TestSqliteLookup(MessageLookupContract): ...


class TestSqliteJournal(JournalContract): ...


class TestSqliteUpdates(UpdatesContract): ...


class TestSqliteHeldAccount(HeldAccountContract): ...


class TestSqliteLimits(LimitsContract): ...


class TestSqliteToldTemplates(TemplateStatusContract): ...


class TestSqlitePreferences(PreferencesContract): ...


class TestSqliteMessages(MessagesContract): ...


class TestSqliteAccounts(AccountsContract): ...


class TestSqliteDetector(DetectorContract): ...


class TestSqliteTurnDetector(TurnDetectorContract): ...


class TestSqliteHolds(DisabledAndHeldContract): ...


class TestSqliteTemplates(TemplatesContract): ...


class TestSqliteGates(GatesContract): ...


class TestSqliteWaiting(StandBackContract, DeferContract): ...


class TestSqlitePermits(PermitsContract): ...


class TestSqliteWindows(WindowsContract): ...


class TestSqliteDossiers(DossiersContract): ...


class TestSqliteConsents(ConsentsContract): ...


class TestSqliteAudit(AuditContract): ...


class TestSqliteAudited(AuditWithChangeContract): ...


class TestSqliteStanding(DispatchStateContract): ...


class TestSqliteOperating(OperatorReadsContract): ...


class TestSqliteDeadLetter(DeadLetterContract): ...


class TestSqliteMailboxes(MailboxesContract): ...


class TestSqliteFailover(FailoverContract): ...


class TestSqlitePolicies(PoliciesContract): ...


class TestSqliteQuickReplies(QuickRepliesContract): ...


class TestSqliteMoney(MoneyContract): ...


class TestSqliteFigures(QueueStatsContract): ...


class TestSqliteFiles(FilesContract): ...


class TestSqliteLanes(TurnQueueContract): ...


class TestSqliteConversations(ConversationsContract): ...


class TestSqliteFeeds(FeedsContract): ...


class TestSqliteChats(ChatsContract): ...


class TestSqliteSearch(SearchContract): ...


class TestSqliteHandOver(ArchiveFeedContract): ...


class TestSqliteLive(LiveContract): ...


class TestSqliteLog(HistoryContract):
    @pytest.fixture
    def log(self, ledger: SqlLedger) -> History:
        return ledger.history


class TestSqliteNotices(NotificationsContract): ...
