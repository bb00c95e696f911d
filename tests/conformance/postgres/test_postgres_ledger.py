"""The Ledger's contracts on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.gate import GateClosing, GateKind
from waypost.model.time import Instant, Span, minutes
from waypost.ports.history.history import History
from waypost.rules.limits import breaker
from waypost.rules.limits.gates import PROBE_AFTER, of_org
from waypost.rules.sending.delivery import StandBack
from waypost_testing.contracts.accounts.accounts import AccountsContract
from waypost_testing.contracts.accounts.audit_with_change import AuditWithChangeContract
from waypost_testing.contracts.accounts.dossiers import AuditContract, ConsentsContract, DossiersContract
from waypost_testing.contracts.accounts.mailboxes import MailboxesContract
from waypost_testing.contracts.accounts.policies import PoliciesContract
from waypost_testing.contracts.accounts.quick_replies import QuickRepliesContract
from waypost_testing.contracts.conversation_steps import DUE, TIMES, a_turn, arrive
from waypost_testing.contracts.conversations.chats import ChatsContract
from waypost_testing.contracts.conversations.conversations import ConversationsContract
from waypost_testing.contracts.conversations.search import SearchContract
from waypost_testing.contracts.conversations.turn_queue import TurnQueueContract
from waypost_testing.contracts.examples import (
    ORG,
    Ledgers,
    PassTime,
    a_customer,
    a_number,
    an_inbound,
    an_org,
    claim,
    give_up,
    later,
    settle,
    submit,
)
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
from waypost_testing.services.processes import Postgres

EMPTY = """
DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename NOT IN ('waypost_schema', 'door') LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
    UPDATE door SET open_total = 0, refused_total = 0, ticked_at = 0;
END $$
"""
"""Empty every table: rows of one test must not be found by the next."""


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database()
    asyncio.run(migrate(url))
    yield url
    postgres.drop_database(url)


@pytest.fixture(scope="module")
async def connection(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """The test's own access to the database, past the Ledger."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
async def running(url: str) -> AsyncIterator[Ledgers]:
    """The Ledgers of two processes, open for as long as the tests run."""
    first, second = [SqlLedger(await PostgresEngine.open(url), FAST_PATHS) for _ in range(2)]
    yield first, second
    await first.close()
    await second.close()


@pytest.fixture
async def ledgers(running: Ledgers, connection: asyncpg.Connection[asyncpg.Record]) -> Ledgers:
    await connection.execute(EMPTY)
    return running


@pytest.fixture
def ledger(ledgers: Ledgers) -> SqlLedger:
    return ledgers[0]  # type: ignore[return-value]  # made above


@pytest.fixture
def pass_time(connection: asyncpg.Connection[asyncpg.Record]) -> PassTime:
    """PostgreSQL's own clock cannot be set, but the last tick can be put back."""

    async def put_back(span: Span) -> None:
        for table in ("door", "webhook_listener"):
            await connection.execute(f"UPDATE {table} SET ticked_at = ticked_at - $1", span)

    return put_back


@pytest.fixture
def plant(connection: asyncpg.Connection[asyncpg.Record]) -> InsertRows:
    async def run(sql: str) -> None:
        await connection.execute(sql)

    return run


class TestPostgresLedger(LedgerContract):
    @pytest.fixture
    async def ledgers(self, url: str, connection: asyncpg.Connection[asyncpg.Record]) -> AsyncIterator[Ledgers]:
        """Its own two, since it closes them."""
        await connection.execute(EMPTY)
        first, second = [SqlLedger(await PostgresEngine.open(url), FAST_PATHS) for _ in range(2)]
        yield first, second
        await first.close()
        await second.close()


class TestPostgresOutbox(OutboxContract): ...


class TestPostgresDoor(WebhookUptimeContract): ...


class TestPostgresLookup(MessageLookupContract): ...


class TestPostgresJournal(JournalContract): ...


class TestPostgresUpdates(UpdatesContract): ...


class TestPostgresHeldAccount(HeldAccountContract): ...


class TestPostgresLimits(LimitsContract): ...


class TestPostgresToldTemplates(TemplateStatusContract): ...


class TestPostgresPreferences(PreferencesContract): ...


class TestPostgresMessages(MessagesContract): ...


class TestPostgresAccounts(AccountsContract): ...


class TestPostgresDetector(DetectorContract): ...


class TestPostgresTurnDetector(TurnDetectorContract): ...


class TestPostgresHolds(DisabledAndHeldContract): ...


class TestPostgresTemplates(TemplatesContract): ...


class TestPostgresGates(GatesContract): ...


class TestPostgresWaiting(StandBackContract, DeferContract): ...


class TestPostgresPermits(PermitsContract): ...


class TestPostgresWindows(WindowsContract): ...


class TestPostgresDossiers(DossiersContract): ...


class TestPostgresConsents(ConsentsContract): ...


class TestPostgresAudit(AuditContract): ...


class TestPostgresAudited(AuditWithChangeContract): ...


class TestPostgresStanding(DispatchStateContract): ...


class TestPostgresOperating(OperatorReadsContract): ...


class TestPostgresDeadLetter(DeadLetterContract): ...


class TestPostgresMailboxes(MailboxesContract): ...


class TestPostgresFailover(FailoverContract): ...


class TestPostgresPolicies(PoliciesContract): ...


class TestPostgresQuickReplies(QuickRepliesContract): ...


class TestPostgresMoney(MoneyContract): ...


class TestPostgresFigures(QueueStatsContract): ...


class TestPostgresFiles(FilesContract): ...


class TestPostgresLanes(TurnQueueContract): ...


class TestPostgresConversations(ConversationsContract): ...


class TestPostgresFeeds(FeedsContract): ...


class TestPostgresLockOrder:
    async def test_claims_that_probe_and_settles_that_close_the_same_gate_never_deadlock(
        self, ledgers: Ledgers, connection: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        first, second = ledgers
        await first.accounts.create_org(an_org(), 100_000)
        await first.accounts.connect(a_number(pace=1000))
        name = of_org(ORG)
        app = GateClosing(org_id=ORG, name=name, kind=GateKind.THROTTLE, code="4", reason="too many calls")
        before = await _deadlocks(connection)
        for n in range(60):
            now = later(minutes(10 * n))
            await asyncio.gather(*(submit(first, now=now, recipient=a_customer()) for _ in range(6)))
            under_way = (await claim(first, slots=3, now=now))[:3]
            await first.gates.close(breaker.closing(ORG, name), Instant(now - PROBE_AFTER))
            stand_back = StandBack(app, "too many calls", None)
            settles = [settle(second, claimed, stand_back, now) for claimed in under_way]
            claims = [claim(ledger, slots=2, now=now) for ledger in (first, second, first)]
            await asyncio.gather(*claims, *settles)
            await first.gates.reopen(ORG, name)
        assert await _deadlocks(connection) == before

    async def test_claims_that_stage_and_cancels_beside_settles_never_deadlock(
        self, ledgers: Ledgers, connection: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        first, second = ledgers
        await first.accounts.create_org(an_org(), 100_000)
        await first.accounts.connect(a_number(pace=1000))
        before = await _deadlocks(connection)
        for n in range(60):
            now, soon = later(minutes(10 * n)), later(minutes(10 * n + 5))
            await asyncio.gather(*(submit(first, now=now, recipient=a_customer()) for _ in range(4)))
            drafts = [submit(first, now=now, recipient=a_customer(), scheduled_at=soon) for _ in range(6)]
            waiting = await asyncio.gather(*drafts)
            under_way = await claim(first, now=now)
            settles = [settle(second, claimed, give_up(), soon) for claimed in under_way]
            cancels = [second.outbox.cancel(ORG, message.id, soon) for message in waiting]
            await asyncio.gather(claim(first, slots=2, now=soon), *settles, *cancels, claim(second, slots=2, now=soon))
        assert await _deadlocks(connection) == before

    async def test_a_new_name_beside_a_new_address_never_deadlocks(
        self, ledgers: Ledgers, connection: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        first, second = ledgers
        before = await _deadlocks(connection)
        people = [(a_customer(), f"DE.77{n}") for n in range(8)]
        await arrive(first, *(an_inbound(phone, name="Ann") for phone, _ in people))
        for n in range(30):
            renamed = [an_inbound(phone, name=f"Ann {n}") for phone, _ in people]
            addresses = [(phone, (f"phone:{phone}", f"user:{user}.{n}")) for phone, user in people]
            known_by_more = [an_inbound(phone, name="Ann", addresses=both) for phone, both in addresses]
            await asyncio.gather(arrive(first, *renamed), arrive(second, *reversed(known_by_more)))
        assert await _deadlocks(connection) == before

    async def test_a_turn_is_kept_while_housekeeping_waits(
        self, ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        turn = await a_turn(ledger)
        held = [(turn.conversation.id, turn.turn_state.fence, TIMES.lease)]
        await arrive(ledger, an_inbound())
        async with connection.transaction():
            await connection.execute("LOCK TABLE arrival IN ACCESS EXCLUSIVE MODE")
            forgetting = asyncio.create_task(ledger.conversations.prune_inbound(later(Span(0)), 1))
            while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
            assert await ledger.turn_queue.renew(held, DUE) == {turn.conversation.id}
            assert not forgetting.done()
        await forgetting


async def _deadlocks(connection: asyncpg.Connection[asyncpg.Record]) -> int:
    """The server counts them when a connection is idle, so they are read a moment later."""
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found: int = await connection.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return found


class TestPostgresChats(ChatsContract): ...


class TestPostgresSearch(SearchContract): ...


class TestPostgresHandOver(ArchiveFeedContract): ...


class TestPostgresLive(LiveContract): ...


class TestPostgresLog(HistoryContract):
    @pytest.fixture
    def log(self, ledger: SqlLedger) -> History:
        return ledger.history


class TestPostgresNotices(NotificationsContract): ...
