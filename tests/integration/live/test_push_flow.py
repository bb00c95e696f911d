"""The notification step: real encryption, a push service that decrypts it, and time set by the test."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

import pytest

from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.history import MemoryHistory
from waypost.adapters.local.presence import LocalPresence
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.adapters.sql.conversations.notifications import SqlNotifications
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.adapters.webpush.pusher import WebPusher
from waypost.flow.live.notify import DEVICES_AT_ONCE, Notifier, NotifyContext, notify, notify_conversation
from waypost.model.chat import DeviceId
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import NotificationSettings, NotificationTask, Subscription
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.ports.history.history import ArchiveEntry
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.failure import Unavailable
from waypost.rules.live.push_subscription import AllowedPushServices
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.examples import ORG
from waypost_testing.contracts.notification_steps import NotificationFixture
from waypost_testing.services.push import PushService, ScriptedPushReply

DEADLINE = 20.0
ADA, BEN, CY = UserId("ada"), UserId("ben"), UserId("cy")
WEB = DeviceId("web")
LEASE = NotificationSettings().lease


class Half:
    """Always the same."""

    def unit(self) -> float:
        return 0.5


class Unsteady(SqlNotifications):
    """Unavailable as often as a test says."""

    def __init__(self, engine: InlineEngine) -> None:
        super().__init__(engine)
        self.trouble: list[Exception] = []

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[NotificationTask]:
        if self.trouble:
            raise self.trouble.pop()
        return await super().to_notify(owner, limit, lease, now)


class Stage:
    """Users at lunch, each with a subscribed device."""

    def __init__(self, clock: ManualClock, service: PushService, engine: InlineEngine, pusher: WebPusher) -> None:
        self.clock, self.service, self.notices = clock, service, Unsteady(engine)
        self.ground = NotificationFixture(SqlLedger(engine))
        self.key = pusher.public_key
        self.at: dict[UserId, Subscription] = {}
        self.lunch = ConversationId(0)
        self.step = NotifyContext(
            clock=clock,
            random=Half(),
            notifications=self.notices,
            pusher=pusher,
            presence=LocalPresence(ProcessHints(), clock),
            worker=WorkerId("w1"),
            closing=asyncio.Event(),
            history=SqlLedger(engine).history,
        )

    async def meet(self, *people: UserId) -> None:
        for each in people:
            if each not in self.at:
                self.at[each] = self.service.subscribe(self.key)
                await self.ground.subscribe(each, WEB, self.at[each])
        self.lunch = await self.ground.group(*people)

    async def post(self, sender: UserId, words: str) -> None:
        await self.ground.post(self.lunch, sender, words, self.clock.now())

    def is_here(self, user: UserId, presence: PresenceState = PresenceState.ONLINE) -> None:
        self.step.presence.set(ORG, user, WEB, presence)

    async def after(self, span: Span) -> list[tuple[UserId, int, str | None]]:
        """The notifications of a scan after so long: user, count, text."""
        self.clock.advance(span)
        before = len(self.service.arrived)
        await notify(self.step)
        whose = {subscription: user for user, subscription in self.at.items()}
        arrived = self.service.arrived[before:]
        return sorted((whose[each.subscription], each.notification.count, each.notification.text) for each in arrived)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(None)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
async def stage(store: SqliteStore) -> AsyncIterator[Stage]:
    clock, wire = ManualClock(), ReqwestTransport("waypost-test/1")
    service = PushService(clock.now)
    contact = "mailto:ops@acme.example"
    pusher = WebPusher(
        wire, clock, secret_key="a secret for this test", contact=contact, reach=AllowedPushServices(local=True)
    )

    async def pause(_where: str) -> None:
        await asyncio.sleep(0)

    async with service.listening():
        stage = Stage(clock, service, InlineEngine(store, clock.now, pause), pusher)
        await stage.meet(ADA, BEN)
        yield stage
    await wire.close()


async def test_who_is_away_is_told_and_who_wrote_is_not(stage: Stage) -> None:
    await stage.meet(ADA, BEN, CY)
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(9)) == []
    assert await stage.after(seconds(1)) == [(BEN, 1, "Soup?"), (CY, 1, "Soup?")]
    assert await stage.after(minutes(60)) == []
    assert await stage.notices.next_notification() is None


async def test_more_messages_are_one_more_notice_after_a_while(stage: Stage) -> None:
    await stage.post(ADA, "Soup?")
    await stage.after(seconds(10))
    for words in ("Or salad?", "Hello?", "Soup then."):
        await stage.post(ADA, words)
        assert await stage.after(seconds(10)) == []
    assert await stage.after(minutes(10)) == [(BEN, 4, "Soup then.")]
    assert [each.count for each in stage.service.waiting(stage.at[BEN])] == [4], "the first was replaced"


async def test_who_was_back_is_told_at_once_of_what_comes_later(stage: Stage) -> None:
    await stage.post(ADA, "Soup?")
    await stage.after(seconds(10))
    stage.clock.advance(seconds(30))
    await stage.ground.come(BEN, WEB, stage.clock.now())
    await stage.ground.read(stage.lunch, BEN, Position(1), stage.clock.now())
    stage.clock.advance(seconds(30))
    await stage.post(ADA, "Are you coming?")
    assert await stage.after(seconds(10)) == [(BEN, 1, "Are you coming?")]


async def test_who_is_connected_is_not_told_unless_the_connection_was_dead(stage: Stage) -> None:
    await stage.meet(ADA, BEN, CY)
    stage.is_here(BEN)
    stage.is_here(CY)
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    stage.is_here(CY, PresenceState.OFFLINE)
    stage.clock.advance(seconds(25))
    stage.is_here(BEN)
    assert await stage.after(seconds(25)) == [(CY, 1, "Soup?")]
    assert await stage.notices.next_notification() is None


async def test_a_dead_subscription_is_removed_and_the_others_are_told(stage: Stage) -> None:
    await stage.meet(ADA, BEN, CY)
    stage.service.unsubscribe(stage.at[BEN])
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == [(CY, 1, "Soup?")]
    await stage.post(ADA, "Or salad?")
    assert await stage.after(minutes(10)) == [(CY, 2, "Or salad?")]
    assert stage.service.calls.count(410) == 1


async def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(stage: Stage) -> None:
    stage.service.then(stage.at[BEN], ScriptedPushReply(429, {"retry-after": "300"}))
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    assert await stage.after(seconds(299)) == []
    assert stage.service.calls == [429]
    assert await stage.after(seconds(30)) == [(BEN, 1, "Soup?")]


async def test_a_refused_notice_is_not_tried_again_and_the_next_one_is(stage: Stage) -> None:
    stage.service.then(stage.at[BEN], ScriptedPushReply(413))
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    assert await stage.after(minutes(60)) == []
    await stage.post(ADA, "Or salad?")
    assert await stage.after(seconds(10)) == [(BEN, 2, "Or salad?")]


async def test_a_message_that_comes_while_others_are_told_is_looked_at(stage: Stage) -> None:
    await stage.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    (talk,) = await stage.notices.to_notify(WorkerId("w1"), 1, LEASE, stage.clock.now())
    await stage.post(ADA, "Or salad?")
    assert await notify_conversation(talk, stage.step)
    assert [each.notification.count for each in stage.service.arrived] == [1]
    assert await stage.after(minutes(10)) == [(BEN, 2, "Or salad?")]


async def test_who_died_in_the_middle_is_followed_by_another(stage: Stage) -> None:
    await stage.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    (late,) = await stage.notices.to_notify(WorkerId("w2"), 1, LEASE, stage.clock.now())
    assert await stage.after(Span(LEASE - 1)) == []
    assert await stage.after(Span(1)) == [(BEN, 1, "Soup?")]
    assert not await notify_conversation(late, stage.step)
    assert [each.count for each in stage.service.waiting(stage.at[BEN])] == [1], "a second one replaces the first"


async def test_in_a_large_group_everybody_is_told_in_a_few_looks(stage: Stage) -> None:
    await stage.meet(ADA, *(UserId(f"user-{number}") for number in range(DEVICES_AT_ONCE * 2 + 2)))
    await stage.post(ADA, "Soup?")
    told = [await stage.after(seconds(10)), await stage.after(seconds(0)), await stage.after(seconds(0))]
    assert [len(each) for each in told] == [DEVICES_AT_ONCE, DEVICES_AT_ONCE, 2]
    assert len({user for each in told for user, _, _ in each}) == DEVICES_AT_ONCE * 2 + 2
    assert await stage.notices.next_notification() is None


async def test_who_stops_in_the_middle_hands_the_conversation_back(stage: Stage) -> None:
    stage.service.then(stage.at[BEN], ScriptedPushReply(0, hang=True))
    await stage.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    telling = asyncio.ensure_future(notify(stage.step))
    async with asyncio.timeout(DEADLINE):
        await stage.service.woken.wait()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    assert await stage.after(seconds(0)) == [(BEN, 1, "Soup?")]


async def test_without_a_preview_nothing_of_the_text_is_sent(stage: Stage) -> None:
    stage.step = replace(stage.step, settings=NotificationSettings(preview=False))
    await stage.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == [(BEN, 1, None)]


async def test_it_looks_by_itself_and_a_ledger_that_was_away_only_costs_a_moment(stage: Stage) -> None:
    running = asyncio.ensure_future(Notifier(stage.step).run())
    try:
        async with asyncio.timeout(DEADLINE):
            await stage.post(ADA, "Soup?")
            stage.notices.trouble.append(Unavailable("away"))
            while not stage.service.arrived:
                stage.clock.advance(seconds(1))
                await asyncio.sleep(0)
        assert [each.notification.text for each in stage.service.arrived] == ["Soup?"]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_words_that_only_the_log_has_are_told_unless_it_is_away(stage: Stage, store: SqliteStore) -> None:
    log = MemoryHistory()
    for words, kept in (("Soup?", True), ("Salad!", False)):
        await stage.post(ADA, words)
        (entry,) = await stage.ground.ledger.conversations.entries(stage.lunch, Position(100), 1)
        if kept:
            await log.append([ArchiveEntry(entry=entry)])
        store._connection.execute("UPDATE entry SET body = '' WHERE position = ?", (entry.position,))
        stage.step = dataclasses.replace(stage.step, history=log if kept else stage.ground.ledger.history)
        told = await stage.after(minutes(11))
        assert [text for _, _, text in told] == [words if kept else None]
