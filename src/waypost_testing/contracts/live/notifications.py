"""The contract of due notifications: none twice at once, none forgotten, none to a dead subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from waypost.model.chat import LARGEST_IN_FEEDS, ChatKind, DeviceId
from waypost.model.conversation import ANYBODY, ConversationId, Position
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import (
    NotificationSettings,
    NotificationTask,
    Notified,
    NotifyDropped,
    NotifyLater,
    NotifyVerdict,
    SubscribedDevice,
    Subscription,
    SubscriptionDead,
)
from waypost.model.time import Instant, days, hours, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.rules.live.push_subscription import written
from waypost_testing.contracts.chat_steps import erase, person, say
from waypost_testing.contracts.conversation_steps import conversation_with, write
from waypost_testing.contracts.examples import ORG, T0, Ledgers
from waypost_testing.contracts.live.hidden_notifications import HiddenNotificationsContract
from waypost_testing.contracts.notification_steps import BEFORE, NotificationFixture

GRACE = NotificationSettings().grace
DUE = Instant(T0 + GRACE)
LEASE = minutes(1)
W1, W2 = WorkerId("w1"), WorkerId("w2")
ADA, BEN, CY = UserId("ada"), UserId("ben"), UserId("cy")
PHONE, TABLET = DeviceId("ben-phone"), DeviceId("ben-tablet")
AT_PHONE = Subscription("https://push.example.net/phone", "key-of-phone", "auth-of-phone")
AT_TABLET = Subscription("https://push.example.net/tablet", "key-of-tablet", "auth-of-tablet")
ANEW = Subscription("https://push.example.net/anew", "key-of-anew", "auth-of-anew")


async def claim(
    ground: NotificationFixture, now: Instant = DUE, owner: WorkerId = W1, limit: int = 9
) -> Sequence[NotificationTask]:
    return await ground.notifications.to_notify(owner, limit, LEASE, now)


async def claimed(ground: NotificationFixture, now: Instant = DUE) -> NotificationTask:
    (task,) = await claim(ground, now)
    return task


async def settle(
    ground: NotificationFixture,
    task: NotificationTask,
    verdicts: Mapping[DeviceId, NotifyVerdict],
    look_again: Instant | None,
) -> bool:
    return await ground.notifications.settle(
        task, [(listening(task, device), verdict) for device, verdict in verdicts.items()], look_again, DUE
    )


def listening(task: NotificationTask, device: DeviceId = PHONE) -> SubscribedDevice:
    (listener,) = (each for each in task.listeners if each.device_id == device)
    return listener


async def with_a_message(ground: NotificationFixture) -> ConversationId:
    """Ada has written to Ben, whose phone has a subscription."""
    await ground.subscribe(BEN, PHONE, AT_PHONE)
    conversation = await ground.group(ADA, BEN)
    await ground.post(conversation, ADA, "Soup?", T0)
    return conversation


class NotificationClaimContract:
    async def test_a_message_makes_its_conversation_due_after_the_grace(self, ground: NotificationFixture) -> None:
        assert await ground.notifications.next_notification() is None
        await with_a_message(ground)
        assert await ground.notifications.next_notification() == DUE
        assert list(await claim(ground, Instant(DUE - 1))) == []
        assert len(await claim(ground)) == 1

    async def test_a_claim_says_who_could_be_told_of_what(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        task = await claimed(ground)
        assert (task.conversation_id, task.kind, task.title) == (conversation, "group", "Lunch")
        assert (task.feed, task.latest, task.sender, task.words, task.at) == ("user:ben", 1, ADA, "Soup?", T0)
        assert task.listeners == (
            SubscribedDevice(
                device_id=PHONE,
                user_id=BEN,
                subscription=AT_PHONE,
                seen_at=BEFORE,
                shown=Position(0),
                unread=1,
            ),
        )

    async def test_more_messages_put_nothing_off(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        await ground.post(conversation, ADA, "Or salad?", Instant(T0 + seconds(9)))
        task = await claimed(ground)
        assert (task.latest, task.words, listening(task).unread) == (2, "Or salad?", 2)

    async def test_two_who_ask_at_once_never_get_the_same(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        for _ in range(6):
            await ground.post(await ground.group(ADA, BEN), ADA, "Soup?", T0)
        asked = await asyncio.gather(*(claim(ground, owner=owner, limit=4) for owner in (W1, W2)))
        got = [task.conversation_id for tasks in asked for task in tasks]
        assert len(got) == len(set(got))
        rest = await claim(ground)
        assert len(got) + len(rest) == 6

    async def test_the_longest_waiting_come_first(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        conversations = [await ground.group(ADA, BEN) for _ in range(3)]
        for wait, conversation in zip((2, 0, 1), conversations, strict=True):
            await ground.post(conversation, ADA, "Soup?", Instant(T0 + seconds(wait)))
        later = Instant(DUE + seconds(5))
        got = [(await claim(ground, later, limit=1))[0].conversation_id for _ in range(3)]
        assert got == [conversations[1], conversations[2], conversations[0]]

    async def test_what_nobody_settles_is_due_again_when_the_lease_is_over(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        first = await claimed(ground)
        over = Instant(DUE + LEASE)
        assert list(await claim(ground, Instant(over - 1), W2)) == []
        second = await claimed(ground, over)
        assert second.fence > first.fence

    async def test_a_message_during_a_claim_gives_it_to_nobody_else(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        await claimed(ground)
        await ground.post(conversation, ADA, "Or salad?", DUE)
        assert list(await claim(ground, Instant(DUE + seconds(30)), W2)) == []

    async def test_what_was_read_shows(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        await ground.read(conversation, BEN, Position(1), T0)
        ben = listening(await claimed(ground))
        assert (ben.shown, ben.unread) == (1, 0)

    async def test_what_any_device_has_was_shown(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, TABLET, None)
        await with_a_message(ground)
        await ground.has(BEN, TABLET, "user:ben", 2)
        ben = listening(await claimed(ground))
        assert (ben.shown, ben.unread) == (1, 1)

    async def test_what_no_device_has_was_not(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, TABLET, None)
        await with_a_message(ground)
        await ground.has(BEN, TABLET, "user:ben", 1)
        assert listening(await claimed(ground)).shown == 0

    async def test_what_was_taken_back_is_no_news(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        second = await ground.post(conversation, ADA, "Or salad?", T0)
        await erase(ground.ledger, conversation, second, ADA)
        task = await claimed(ground)
        assert (task.latest, task.words) == (1, "Soup?")
        await erase(ground.ledger, conversation, 1, ADA)
        assert list(await claim(ground, Instant(DUE + LEASE))) == []
        assert await ground.notifications.next_notification() is None

    async def test_who_was_there_is_known_by_when(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, TABLET, None)
        await with_a_message(ground)
        await ground.come(BEN, TABLET, Instant(T0 + seconds(3)))
        assert listening(await claimed(ground)).seen_at == T0 + seconds(3)

    async def test_only_devices_with_a_subscription_of_who_is_still_there_are_listed(
        self, ground: NotificationFixture
    ) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(BEN, TABLET, None)
        await ground.subscribe(CY, DeviceId("cy-phone"), ANEW)
        conversation = await ground.group(ADA, BEN, CY)
        await ground.post(conversation, ADA, "Soup?", T0)
        await ground.change(conversation, CY, T0, remove=True)
        found = {task.feed: [each.device_id for each in task.listeners] for task in await claim(ground)}
        assert found == {"user:ben": [PHONE], "user:cy": []}

    async def test_who_was_removed_from_the_org_is_not_listed(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        await ground.ledger.accounts.remove_user(ORG, BEN)
        assert (await claimed(ground)).listeners == ()


class NotificationSettleContract:
    async def test_what_is_said_is_not_due_again(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        assert await settle(ground, await claimed(ground), {PHONE: Notified(Position(1), DUE)}, None)
        assert await ground.notifications.next_notification() is None
        assert list(await claim(ground, Instant(DUE + hours(9)))) == []

    async def test_it_is_due_again_when_somebody_must_look(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        later = Instant(DUE + minutes(7))
        assert await settle(ground, await claimed(ground), {}, later)
        assert await ground.notifications.next_notification() == later
        assert len(await claim(ground, later)) == 1

    async def test_a_message_that_came_since_the_claim_keeps_it_due(self, ground: NotificationFixture) -> None:
        conversation = await with_a_message(ground)
        task = await claimed(ground)
        await ground.post(conversation, ADA, "Or salad?", DUE)
        assert await settle(ground, task, {PHONE: Notified(task.latest, DUE)}, Instant(DUE + hours(1)))
        again = await claimed(ground, Instant(DUE + GRACE))
        assert (again.latest, listening(again).notified) == (2, 1)

    async def test_a_verdict_is_known_at_the_next_claim(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, TABLET, AT_TABLET)
        await with_a_message(ground)
        until = Instant(DUE + hours(2))
        verdicts: dict[DeviceId, NotifyVerdict] = {
            PHONE: Notified(Position(1), DUE),
            TABLET: NotifyLater(until, "HTTP 429"),
        }
        await settle(ground, await claimed(ground), verdicts, DUE)
        task = await claimed(ground)
        phone, tablet = listening(task), listening(task, TABLET)
        assert (phone.notified, phone.notified_at, phone.not_before, phone.failures) == (1, DUE, None, 0)
        assert (tablet.notified, tablet.notified_at, tablet.not_before, tablet.failures) == (0, None, until, 1)

    async def test_failures_are_counted_until_one_goes_well(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        for _ in range(3):
            await settle(ground, await claimed(ground), {PHONE: NotifyLater(DUE, "HTTP 503")}, DUE)
        task = await claimed(ground)
        assert listening(task).failures == 3
        await settle(ground, task, {PHONE: NotifyDropped(Position(1), "HTTP 413")}, DUE)
        after = listening(await claimed(ground))
        assert (after.failures, after.notified, after.notified_at) == (0, 1, None)

    async def test_a_device_is_left_alone_in_every_conversation_and_told_of_each(
        self, ground: NotificationFixture
    ) -> None:
        await with_a_message(ground)
        until = Instant(DUE + hours(2))
        await settle(ground, await claimed(ground), {PHONE: NotifyLater(until, "HTTP 429")}, None)
        await ground.post(await ground.group(ADA, BEN), ADA, "Salad?", T0)
        other = await claimed(ground)
        assert listening(other).not_before == until
        await settle(ground, other, {PHONE: Notified(Position(1), DUE)}, None)
        await ground.post(await ground.group(ADA, BEN), ADA, "Tea?", T0)
        assert listening(await claimed(ground)).notified == 0

    async def test_two_people_may_call_their_devices_alike(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(CY, PHONE, AT_TABLET)
        await ground.post(await ground.group(ADA, BEN, CY), ADA, "Soup?", T0)
        for task in await claim(ground):
            verdict: NotifyVerdict = Notified(Position(1), DUE) if task.feed == "user:ben" else SubscriptionDead()
            await ground.notifications.settle(task, [(task.listeners[0], verdict)], DUE, DUE)
        found = [each for task in await claim(ground) for each in task.listeners]
        assert [(each.user_id, each.subscription, each.notified) for each in found] == [(BEN, AT_PHONE, 1)]

    async def test_a_late_word_changes_nothing(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        late = await claimed(ground)
        over = Instant(DUE + LEASE)
        next_ = await claimed(ground, over)
        assert not await settle(ground, late, {PHONE: Notified(Position(1), DUE)}, None)
        assert await settle(ground, next_, {}, over)
        assert listening(await claimed(ground, over)).notified == 0

    async def test_a_dead_subscription_is_removed_and_the_other_device_stays(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, TABLET, AT_TABLET)
        await with_a_message(ground)
        await settle(ground, await claimed(ground), {PHONE: SubscriptionDead()}, DUE)
        assert [each.device_id for each in (await claimed(ground)).listeners] == [TABLET]

    async def test_a_late_word_of_a_dead_subscription_is_taken(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        late = await claimed(ground)
        over = Instant(DUE + LEASE)
        next_ = await claimed(ground, over)
        assert not await settle(ground, late, {PHONE: SubscriptionDead()}, None)
        await settle(ground, next_, {}, over)
        assert [task.listeners for task in await claim(ground, over)] == [()]

    async def test_a_subscription_that_came_since_is_not_taken_for_the_dead_one(
        self, ground: NotificationFixture
    ) -> None:
        await with_a_message(ground)
        task = await claimed(ground)
        await ground.subscribe(BEN, PHONE, ANEW)
        await settle(ground, task, {PHONE: SubscriptionDead()}, DUE)
        assert listening(await claimed(ground)).subscription == ANEW


class NotificationScheduleContract:
    async def test_where_nobody_can_be_told_nothing_is_due(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, None)
        conversation = await ground.group(ADA, BEN)
        await ground.post(conversation, ADA, "Soup?", T0)
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.look(T0)
        assert await ground.notifications.next_notification() is None, "what came before the subscription is no news"

    async def test_who_writes_is_not_looked_up_for(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.post(await ground.group(ADA, BEN), BEN, "Soup?", T0)
        assert await ground.notifications.next_notification() is None

    async def test_who_ends_the_subscription_is_left_alone_and_who_subscribes_again_is_told(
        self, ground: NotificationFixture
    ) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        conversation = await ground.group(ADA, BEN)
        await ground.subscribe(BEN, PHONE, None)
        await ground.post(conversation, ADA, "Soup?", T0)
        assert await ground.notifications.next_notification() is None
        await ground.subscribe(BEN, PHONE, ANEW)
        await ground.post(conversation, ADA, "Or salad?", T0)
        task = await claimed(ground)
        assert (task.words, listening(task).subscription) == ("Or salad?", ANEW)

    async def test_a_browser_that_somebody_else_signs_in_with_is_theirs(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(CY, PHONE, AT_PHONE)
        await ground.post(await ground.group(ADA, BEN, CY), ADA, "Soup?", T0)
        assert [each.user_id for each in (await claimed(ground)).listeners] == [CY]

    async def test_a_removed_device_is_told_nothing(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.ledger.device_feeds.remove(BEN, PHONE)
        await ground.post(await ground.group(ADA, BEN), ADA, "Soup?", T0)
        assert await ground.notifications.next_notification() is None

    async def test_one_who_ends_it_and_one_who_begins_at_once_do_not_miss_each_other(self, ledgers: Ledgers) -> None:
        (here, there), ground = ledgers, NotificationFixture(ledgers[0], NotificationSettings(bot_answers=False))
        for _ in range(10):
            await ground.subscribe(CY, PHONE, None)
            await ground.subscribe(BEN, PHONE, AT_PHONE)
            ends = here.device_feeds.subscribe(BEN, PHONE, None)
            await asyncio.gather(ends, there.device_feeds.subscribe(CY, PHONE, written(AT_TABLET)))
            await write(ground.ledger, "Where is it?", now=T0)
            await ground.look(T0)
            task = await claimed(ground)
            assert [each.user_id for each in task.listeners] == [CY]
            await settle(ground, task, {}, None)

    async def test_a_customer_who_waits_for_people_is_told_to_the_team_once(self, ledgers: Ledgers) -> None:
        ground = NotificationFixture(ledgers[0], NotificationSettings(bot_answers=False))
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(CY, PHONE, AT_TABLET)
        await write(ground.ledger, "Hello", "Where is it?", now=T0)
        await asyncio.gather(*(each.notifications.look("", ground.habits, T0) for each in ledgers))
        task = await claimed(ground)
        assert (task.feed, task.kind, task.sender, task.words) == (f"team:{ORG}", "customer", "contact", "Where is it?")
        assert [(each.user_id, each.unread) for each in task.listeners] == [(BEN, 2), (CY, 2)]

    async def test_what_the_bot_answers_is_nobodys_until_it_hands_over(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await write(ground.ledger, "Hello", "Where is it?", now=T0)
        await ground.look(T0)
        assert await ground.notifications.next_notification() is None
        conversation = await conversation_with(ground.ledger)
        await ground.ledger.turn_queue.take_floor(ORG, conversation.id, ANYBODY, T0, "bot")
        await ground.look(T0)
        task = await claimed(ground)
        assert (task.latest, task.words, task.floor) == (2, "Where is it?", ANYBODY)

    async def test_what_is_too_old_to_be_news_is_passed_by(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        conversation = await ground.group(ADA, BEN)
        await say_unseen(ground, conversation)
        await ground.look(Instant(T0 + days(3)))
        assert await ground.notifications.next_notification() is None

    async def test_however_much_came_all_of_it_is_looked_through(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        conversation = await ground.group(ADA, BEN)
        await asyncio.gather(*(say_unseen(ground, conversation) for _ in range(1100)))
        await ground.look(T0)
        assert (await claimed(ground)).latest == 1100

    async def test_a_group_that_outgrows_its_members_feeds_is_told_from_its_own(
        self, ground: NotificationFixture
    ) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        conversation = await ground.group(ADA, BEN, *(person(n) for n in range(LARGEST_IN_FEEDS - 2)))
        await ground.person(CY)
        await ground.change(conversation, ADA, T0, add=CY)
        await ground.look(T0)
        await ground.subscribe(CY, PHONE, AT_TABLET)
        await ground.post(conversation, ADA, "Soup?", T0)
        task = await claimed(ground)
        assert task.feed == f"group:{conversation}"
        assert {each.user_id for each in task.listeners} == {BEN, CY}

    async def test_a_direct_chat_is_named_by_who_writes(self, ground: NotificationFixture) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.post(await ground.group(ADA, BEN, kind=ChatKind.DIRECT), ADA, "Soup?", T0)
        task = await claimed(ground)
        assert (task.kind, task.title) == ("direct", "Ada")

    async def test_who_was_told_of_what_is_forgotten(self, ground: NotificationFixture) -> None:
        await with_a_message(ground)
        await settle(ground, await claimed(ground), {PHONE: Notified(Position(1), DUE)}, None)
        assert await ground.notifications.forget(DUE, 9) == 0
        assert await ground.notifications.forget(Instant(DUE + 1), 9) == 1


async def say_unseen(ground: NotificationFixture, conversation: ConversationId) -> None:
    """A text that no scan has found yet."""
    await say(ground.ledger, ground.chat(conversation), ADA, "Soup?", T0)


class NotificationsContract(
    NotificationScheduleContract, NotificationClaimContract, NotificationSettleContract, HiddenNotificationsContract
):
    @pytest.fixture
    def ground(self, ledger: Ledger) -> NotificationFixture:
        return NotificationFixture(ledger)
