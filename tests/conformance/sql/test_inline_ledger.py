"""The Ledger's contracts on the engine of the simulation: the same SQL, in memory, run inline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
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


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(None)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def ledgers(store: SqliteStore, clock: ManualClock) -> Ledgers:
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


@pytest.fixture
def plant(store: SqliteStore) -> InsertRows:
    async def run(sql: str) -> None:
        store._connection.execute(sql)

    return run


class TestInlineLedger(LedgerContract): ...


class TestInlineOutbox(OutboxContract): ...


class TestInlineDoor(WebhookUptimeContract): ...


class TestInlineLookup(MessageLookupContract): ...


class TestInlineJournal(JournalContract): ...


class TestInlineUpdates(UpdatesContract): ...


class TestInlineHeldAccount(HeldAccountContract): ...


class TestInlineLimits(LimitsContract): ...


class TestInlineToldTemplates(TemplateStatusContract): ...


class TestInlinePreferences(PreferencesContract): ...


class TestInlineMessages(MessagesContract): ...


class TestInlineAccounts(AccountsContract): ...


class TestInlineDetector(DetectorContract): ...


class TestInlineHolds(DisabledAndHeldContract): ...


class TestInlineTemplates(TemplatesContract): ...


class TestInlineGates(GatesContract): ...


class TestInlineWaiting(StandBackContract, DeferContract): ...


class TestInlinePermits(PermitsContract): ...


class TestInlineWindows(WindowsContract): ...


class TestInlineDossiers(DossiersContract): ...


class TestInlineConsents(ConsentsContract): ...


class TestInlineAudit(AuditContract): ...


class TestInlineAudited(AuditWithChangeContract): ...


class TestInlineStanding(DispatchStateContract): ...


class TestInlineOperating(OperatorReadsContract): ...


class TestInlineDeadLetter(DeadLetterContract): ...


class TestInlineMailboxes(MailboxesContract): ...


class TestInlineFailover(FailoverContract): ...


class TestInlinePolicies(PoliciesContract): ...


class TestInlineQuickReplies(QuickRepliesContract): ...


class TestInlineMoney(MoneyContract): ...


class TestInlineFigures(QueueStatsContract): ...


class TestInlineFiles(FilesContract): ...


class TestInlineLanes(TurnQueueContract): ...


class TestInlineConversations(ConversationsContract): ...


class TestInlineFeeds(FeedsContract): ...


class TestInlineChats(ChatsContract): ...


class TestInlineSearch(SearchContract): ...


class TestInlineHandOver(ArchiveFeedContract): ...


class TestInlineLive(LiveContract): ...


class TestInlineLog(HistoryContract):
    @pytest.fixture
    def log(self, ledger: SqlLedger) -> History:
        return ledger.history


class TestInlineNotices(NotificationsContract): ...
