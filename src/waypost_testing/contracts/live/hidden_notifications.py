"""The contract of notifications for messages from before a user joined: none where the user may not read them."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.model.chat import LARGEST_IN_FEEDS, DeviceId
from waypost.model.conversation import Position
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import Subscription
from waypost.model.time import Instant, minutes, seconds
from waypost_testing.contracts.chat_steps import erase, person
from waypost_testing.contracts.examples import T0
from waypost_testing.contracts.notification_steps import NotificationFixture

ADA, BEN, CY = UserId("ada"), UserId("ben"), UserId("cy")
AT_BEN = Subscription("https://push.example.net/ben", "key-of-ben", "auth-of-ben")
AT_OTHER = Subscription("https://push.example.net/other", "key-of-other", "auth-of-other")


async def notified(ground: NotificationFixture) -> Sequence[tuple[Position, UserId]]:
    """Which users could be notified of which message when every grace period is over."""
    late = Instant(T0 + ground.habits.grace + seconds(9))
    tasks = await ground.notifications.to_notify(WorkerId("w1"), 9, minutes(1), late)
    return [(task.latest, each.user_id) for task in tasks for each in task.listeners]


class HiddenNotificationsContract:
    async def test_what_is_left_when_the_rest_was_taken_back_is_not_told_to_who_came_after_it(
        self, ground: NotificationFixture
    ) -> None:
        await ground.subscribe(BEN, DeviceId("phone"), AT_BEN)
        await ground.subscribe(CY, DeviceId("phone"), AT_OTHER)
        closed = await ground.group(ADA, CY, history="joined")
        await ground.post(closed, ADA, "Not for Ben", T0)
        await ground.change(closed, ADA, Instant(T0 + 1), add=BEN)
        welcome = await ground.post(closed, ADA, "Welcome", Instant(T0 + 2))
        await erase(ground.ledger, closed, welcome, ADA)
        assert await notified(ground) == [(1, CY)]

    async def test_who_comes_to_a_large_group_within_the_grace_is_told_only_of_what_follows(
        self, ground: NotificationFixture
    ) -> None:
        first, *others = [person(n) for n in range(LARGEST_IN_FEEDS + 1)]
        await ground.subscribe(first, DeviceId("phone"), AT_OTHER)
        await ground.subscribe(BEN, DeviceId("phone"), AT_BEN)
        closed = await ground.group(ADA, first, *others, history="joined")
        await ground.post(closed, ADA, "Not for Ben", T0)
        await ground.change(closed, ADA, Instant(T0 + 1), add=BEN)
        await ground.look(Instant(T0 + 2))
        assert await notified(ground) == [(1, first)]

    async def test_where_a_group_shows_everything_who_comes_within_the_grace_is_told(
        self, ground: NotificationFixture
    ) -> None:
        first, *others = [person(n) for n in range(LARGEST_IN_FEEDS + 1)]
        await ground.subscribe(first, DeviceId("phone"), AT_OTHER)
        await ground.subscribe(BEN, DeviceId("phone"), AT_BEN)
        open_ = await ground.group(ADA, first, *others)
        await ground.post(open_, ADA, "For all", T0)
        await ground.change(open_, ADA, Instant(T0 + 1), add=BEN)
        await ground.look(Instant(T0 + 2))
        assert sorted(await notified(ground)) == sorted([(1, first), (1, BEN)])
