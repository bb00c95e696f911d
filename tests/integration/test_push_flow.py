"""The step that tells who is away: real encryption, a push service that opens it, and time as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.adapters.webpush.pusher import WebPusher
from waypost.flow.notify import DEVICES_AT_ONCE, Notifier, Notifying, notify, tell
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId, WorkerId
from waypost.model.push import Dead, DeviceId, Dropped, Listener, PutOff, Subscription, Talk, Told, Verdict
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.ports.failure import Unavailable
from waypost.ports.push import NOTICES
from waypost.rules.push import Habits, first_look
from waypost.rules.push_subscription import Reach
from waypost.testing.clock import ManualClock
from waypost.testing.push_service import Answer, PushService

DEADLINE = 20.0
HABITS = Habits()
ADA, BEN, CY = UserId("ada"), UserId("ben"), UserId("cy")


class Half:
    """Always the same."""

    def unit(self) -> float:
        return 0.5


class Shelf:
    """One conversation and its listeners, kept as the port's contract says; the Ledger's own is tested with it."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.due_at: Instant | None = None
        self.lease_until: Instant | None = None
        self.talk: Talk | None = None
        self.listeners: dict[DeviceId, Listener] = {}
        self.removed: list[DeviceId] = []
        self.settled: list[Mapping[DeviceId, Verdict]] = []
        self.trouble: list[Exception] = []
        self.posted = 0
        self.fence = Fence(0)

    def add(self, device: str, user: UserId, subscription: Subscription, **change: Any) -> None:
        fields: dict[str, Any] = {
            "connected": False,
            "seen_at": None,
            "shown": Position(0),
            "unread": 0,
            "muted": False,
        }
        name = DeviceId(device)
        self.listeners[name] = Listener(device_id=name, user_id=user, subscription=subscription, **fields | change)

    def change(self, device: str, **change: Any) -> None:
        self.listeners[DeviceId(device)] = replace(self.listeners[DeviceId(device)], **change)

    def post(self, sender: UserId, words: str) -> None:
        self.posted += 1
        now = self.clock.now()
        for each in self.listeners.values():
            if each.user_id != sender:
                self.change(each.device_id, unread=each.unread + 1)
        self.due_at = first_look(self.due_at, HABITS, now)
        self.talk = Talk(
            org_id=OrgId("acme"),
            conversation_id=ConversationId(7),
            kind="group",
            title="Lunch",
            latest=Position(self.posted),
            sender=sender,
            words=words,
            at=now,
            floor="human",
            assignee=None,
            listeners=(),
            fence=self.fence,
        )

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[Talk]:
        if self.trouble:
            raise self.trouble.pop()
        due_at = await self.next_notice()
        if self.talk is None or due_at is None or due_at > now:
            return []
        self.due_at, self.lease_until = None, Instant(now + lease)
        self.fence = Fence(self.fence + 1)
        return [replace(self.talk, fence=self.fence, listeners=tuple(self.listeners.values()))]

    async def settle(self, talk: Talk, verdicts: Mapping[DeviceId, Verdict], look_again: Instant | None) -> bool:
        self.settled.append(verdicts)
        claimed = {each.device_id: each.subscription for each in talk.listeners}
        for device, verdict in verdicts.items():
            if isinstance(verdict, Dead) and self.listeners[device].subscription == claimed[device]:
                del self.listeners[device]
                self.removed.append(device)
        if self.fence != talk.fence:
            return False
        for device, verdict in verdicts.items():
            match verdict:
                case Told(upto, at):
                    self.change(device, told=upto, told_at=at, failures=0)
                case Dropped(upto):
                    self.change(device, told=upto, failures=0)
                case PutOff(until):
                    self.change(device, not_before=until, failures=self.listeners[device].failures + 1)
                case Dead():
                    pass
        self.lease_until = None
        self.due_at = min((at for at in (self.due_at, look_again) if at is not None), default=None)
        return True

    async def next_notice(self) -> Instant | None:
        return self.lease_until or self.due_at


class Stage:
    def __init__(self, clock: ManualClock, service: PushService, shelf: Shelf, step: Notifying) -> None:
        self.clock, self.service, self.shelf, self.step = clock, service, shelf, step

    async def after(self, span: Span) -> list[tuple[str, int, str | None]]:
        """What reached devices in a look after so long: endpoint's end, count, text."""
        self.clock.advance(span)
        before = len(self.service.arrived)
        await notify(self.step)
        return sorted(
            (each.subscription.endpoint.rpartition("/")[2], each.notice.count, each.notice.text)
            for each in self.service.arrived[before:]
        )


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    clock, wire = ManualClock(), ReqwestWire("waypost-test/1")
    service, shelf = PushService(clock.now), Shelf(clock)
    pusher = WebPusher(
        wire, clock, secret_key="a secret for this test", contact="mailto:ops@acme.example", reach=Reach(local=True)
    )
    step = Notifying(
        clock=clock,
        dice=Half(),
        hints=ProcessHints(),
        devices=shelf,
        pusher=pusher,
        worker=WorkerId("w1"),
        closing=asyncio.Event(),
        habits=HABITS,
    )
    async with service.listening():
        shelf.add("ada's", ADA, service.subscribe(pusher.public_key))
        shelf.add("ben's", BEN, service.subscribe(pusher.public_key))
        shelf.add("cy's", CY, service.subscribe(pusher.public_key))
        yield Stage(clock, service, shelf, step)
    await wire.close()


async def test_who_is_away_is_told_and_who_wrote_is_not(stage: Stage) -> None:
    stage.shelf.post(ADA, "Soup?")
    assert await stage.after(seconds(9)) == []
    assert await stage.after(seconds(1)) == [("device-2", 1, "Soup?"), ("device-3", 1, "Soup?")]
    assert await stage.after(minutes(60)) == []
    assert stage.shelf.due_at is None


async def test_more_messages_are_one_more_notice_after_a_while(stage: Stage) -> None:
    stage.shelf.change("cy's", muted=True)
    stage.shelf.post(ADA, "Soup?")
    await stage.after(seconds(10))
    for words in ("Or salad?", "Hello?", "Soup then."):
        stage.shelf.post(ADA, words)
        assert await stage.after(seconds(10)) == []
    assert await stage.after(minutes(10)) == [("device-2", 4, "Soup then.")]
    assert [each.count for each in stage.service.waiting(stage.shelf.listeners[DeviceId("ben's")].subscription)] == [4]


async def test_who_was_back_is_told_at_once_of_what_comes_later(stage: Stage) -> None:
    stage.shelf.change("cy's", muted=True)
    stage.shelf.post(ADA, "Soup?")
    await stage.after(seconds(10))
    stage.clock.advance(seconds(30))
    stage.shelf.change("ben's", seen_at=stage.clock.now(), shown=Position(1), unread=0)
    stage.clock.advance(seconds(30))
    stage.shelf.post(ADA, "Are you coming?")
    assert await stage.after(seconds(10)) == [("device-2", 1, "Are you coming?")]


async def test_who_is_connected_is_not_told_unless_the_connection_was_dead(stage: Stage) -> None:
    stage.shelf.change("ben's", connected=True)
    stage.shelf.change("cy's", connected=True)
    stage.shelf.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    stage.shelf.change("cy's", connected=False, seen_at=stage.clock.now())
    assert await stage.after(seconds(50)) == [("device-3", 1, "Soup?")]
    assert stage.shelf.due_at is None


async def test_a_dead_subscription_is_removed_and_the_others_are_told(stage: Stage) -> None:
    stage.service.unsubscribe(stage.shelf.listeners[DeviceId("ben's")].subscription)
    stage.shelf.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == [("device-3", 1, "Soup?")]
    assert stage.shelf.removed == ["ben's"]
    stage.shelf.post(ADA, "Or salad?")
    await stage.after(minutes(10))
    assert stage.service.calls.count(410) == 1


async def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(stage: Stage) -> None:
    stage.shelf.change("cy's", muted=True)
    stage.service.then(stage.shelf.listeners[DeviceId("ben's")].subscription, Answer(429, {"retry-after": "300"}))
    stage.shelf.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    assert await stage.after(seconds(299)) == []
    assert stage.service.calls == [429]
    assert await stage.after(seconds(30)) == [("device-2", 1, "Soup?")]


async def test_a_refused_notice_is_not_tried_again_and_the_next_one_is(stage: Stage) -> None:
    stage.shelf.change("cy's", muted=True)
    stage.service.then(stage.shelf.listeners[DeviceId("ben's")].subscription, Answer(413))
    stage.shelf.post(ADA, "Soup?")
    assert await stage.after(seconds(10)) == []
    assert await stage.after(minutes(60)) == []
    stage.shelf.post(ADA, "Or salad?")
    assert await stage.after(seconds(10)) == [("device-2", 2, "Or salad?")]


async def test_a_message_that_comes_while_others_are_told_is_looked_at(stage: Stage) -> None:
    stage.shelf.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    (talk,) = await stage.shelf.to_notify(WorkerId("w1"), 1, minutes(1), stage.clock.now())
    stage.shelf.post(BEN, "Salad!")
    assert await tell(talk, stage.step)
    assert await stage.after(seconds(10)) == [("device-1", 1, "Salad!")]


async def test_who_died_in_the_middle_is_followed_by_another_and_a_late_word_changes_nothing(stage: Stage) -> None:
    stage.shelf.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    (late,) = await stage.shelf.to_notify(WorkerId("w2"), 1, minutes(1), stage.clock.now())
    assert await stage.after(seconds(59)) == []
    assert len(await stage.after(seconds(1))) == 2
    told = dict(stage.shelf.listeners)
    assert not await stage.shelf.settle(late, {DeviceId("ben's"): Dropped(Position(1), "late")}, None)
    assert stage.shelf.listeners == told


async def test_in_a_large_group_everybody_is_told_in_a_few_looks(stage: Stage) -> None:
    for number in range(DEVICES_AT_ONCE * 2):
        stage.shelf.add(f"more-{number}", UserId(f"user-{number}"), stage.service.subscribe())
    stage.shelf.post(ADA, "Soup?")
    told = [await stage.after(seconds(10)), await stage.after(seconds(0)), await stage.after(seconds(0))]
    assert [len(each) for each in told] == [DEVICES_AT_ONCE, DEVICES_AT_ONCE, 2]
    assert len({device for each in told for device, _, _ in each}) == DEVICES_AT_ONCE * 2 + 2
    assert stage.shelf.due_at is None


async def test_who_stops_in_the_middle_hands_the_conversation_back(stage: Stage) -> None:
    ben = stage.shelf.listeners[DeviceId("ben's")].subscription
    stage.service.then(ben, Answer(0, hang=True))
    stage.shelf.change("cy's", muted=True)
    stage.shelf.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    telling = asyncio.ensure_future(notify(stage.step))
    async with asyncio.timeout(DEADLINE):
        await stage.service.woken.wait()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    assert await stage.after(seconds(0)) == [("device-2", 1, "Soup?")]


async def test_without_a_preview_nothing_of_the_text_is_sent(stage: Stage) -> None:
    step = Notifying(**{**vars(stage.step), "habits": Habits(preview=False)})
    stage.shelf.post(ADA, "Soup?")
    stage.clock.advance(seconds(10))
    await notify(step)
    assert {each.notice.text for each in stage.service.arrived} == {None}


async def test_a_hint_wakes_it_and_a_ledger_that_was_away_only_costs_a_moment(stage: Stage) -> None:
    stage.shelf.change("cy's", muted=True)
    running = asyncio.ensure_future(Notifier(stage.step).run())
    try:
        async with asyncio.timeout(DEADLINE):
            stage.shelf.post(ADA, "Soup?")
            stage.shelf.trouble.append(Unavailable("away"))
            while not stage.service.arrived:
                stage.clock.advance(seconds(1))
                stage.step.hints.give([NOTICES])
                await asyncio.sleep(0)
        assert [each.notice.text for each in stage.service.arrived] == ["Soup?"]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
