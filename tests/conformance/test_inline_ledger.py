"""The Ledger's contracts on the engine of the simulation: the same SQL, in memory, run inline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
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
from waypost.testing.contracts.updates import (
    HeldAccountContract,
    LimitsContract,
    PreferencesContract,
    ToldTemplatesContract,
    UpdatesContract,
)
from waypost.testing.contracts.windows import WindowsContract


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


@pytest.fixture
def plant(store: Store) -> Plant:
    async def run(sql: str) -> None:
        store._connection.execute(sql)

    return run


class TestInlineLedger(LedgerContract): ...


class TestInlineOutbox(OutboxContract): ...


class TestInlineDoor(DoorContract): ...


class TestInlineLookup(LookupContract): ...


class TestInlineJournal(JournalContract): ...


class TestInlineUpdates(UpdatesContract): ...


class TestInlineHeldAccount(HeldAccountContract): ...


class TestInlineLimits(LimitsContract): ...


class TestInlineToldTemplates(ToldTemplatesContract): ...


class TestInlinePreferences(PreferencesContract): ...


class TestInlineMessages(MessagesContract): ...


class TestInlineAccounts(AccountsContract): ...


class TestInlineDetector(DetectorContract): ...


class TestInlineHolds(HoldsContract): ...


class TestInlineTemplates(TemplatesContract): ...


class TestInlineGates(GatesContract): ...


class TestInlineWaiting(StandBackContract, DeferContract): ...


class TestInlinePermits(PermitsContract): ...


class TestInlineWindows(WindowsContract): ...


class TestInlineDossiers(DossiersContract): ...


class TestInlineConsents(ConsentsContract): ...


class TestInlineAudit(AuditContract): ...


class TestInlineAudited(AuditedContract): ...


class TestInlineStanding(StandingContract): ...


class TestInlineOperating(OperatingContract): ...


class TestInlineDeadLetter(DeadLetterContract): ...


class TestInlineMailboxes(MailboxesContract): ...


class TestInlineFailover(FailoverContract): ...


class TestInlinePolicies(PoliciesContract): ...


class TestInlineQuickReplies(QuickRepliesContract): ...


class TestInlineMoney(MoneyContract): ...


class TestInlineFigures(FiguresContract): ...


class TestInlineFiles(FilesContract): ...


class TestInlineLanes(LanesContract): ...


class TestInlineConversations(ConversationsContract): ...


class TestInlineFeeds(FeedsContract): ...


class TestInlineChats(ChatsContract): ...


class TestInlineSearch(SearchContract): ...


class TestInlineHandOver(HandOverContract): ...


class TestInlineLive(LiveContract): ...


class TestInlineLog(LogContract):
    @pytest.fixture
    def log(self, ledger: SqlLedger) -> Log:
        return ledger.log


class TestInlineNotices(NoticesContract): ...
