"""The contract of device feeds: their own feeds, cursors that only advance, and heads published at commit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from waypost.model.chat import Device, DeviceId, FeedName
from waypost.model.ids import UserId
from waypost.model.push import Subscription
from waypost.model.time import Instant
from waypost.ports.conversations.chats import FIRST_DEVICE, CursorAck, DeviceSweep
from waypost.ports.ledger import Ledger
from waypost.rules.live.push_subscription import written
from waypost_testing.contracts.chat_steps import ANN, BOB, a_post, feed, open_chat, say, text_of
from waypost_testing.contracts.conversation_steps import conversation_with, soon, write
from waypost_testing.contracts.examples import ORG, OTHER_ORG, T0, Ledgers
from waypost_testing.contracts.notification_steps import NotificationFixture

PHONE, LAPTOP = DeviceId("phone"), DeviceId("laptop")
AT_PHONE = Subscription("https://push.example.net/phone", "key-of-phone", "auth-of-phone")
MINE, TEAM = FeedName(f"user:{ANN}"), FeedName(f"team:{ORG}")


def a_device(
    device: DeviceId = PHONE, epoch: str = "e1", cursors: Mapping[FeedName, int] | None = None, user: UserId = ANN
) -> Device:
    return Device(
        user_id=user,
        device_id=device,
        org_id=ORG,
        epoch=epoch,
        created_at=T0,
        seen_at=T0,
        push=None,
        cursors=dict(cursors or {}),
    )


class DeviceFeedsContract:
    async def test_everybody_follows_their_own_feed_and_their_teams(self, ledger: Ledger) -> None:
        assert [following.feed for following in await ledger.device_feeds.feeds(ORG, ANN)] == [MINE, TEAM]
        assert await ledger.device_feeds.heads([MINE, TEAM]) == {MINE: 0, TEAM: 0}
        assert await ledger.device_feeds.heads([]) == {}

    async def test_items_are_told_with_what_they_are_about(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat, BOB, "hi Ann")
        joined, message = await feed(ledger, MINE)
        assert (joined.item.kind, joined.entry, joined.contact_id) == ("joined", None, None)
        assert (text_of(message), message.entry and message.entry.sender) == ("hi Ann", BOB)
        (arrived,) = await feed(ledger, TEAM)
        assert arrived.contact_id == (await conversation_with(ledger)).contact_id
        assert await ledger.device_feeds.heads([MINE, TEAM]) == {MINE: 2, TEAM: 1}

    async def test_pages_follow_each_other(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(5):
            await say(ledger, chat, BOB, f"{n}")
        page = await ledger.device_feeds.items({MINE: 2}, 2)
        assert [moved.item.seq for moved in page] == [3, 4]
        await write(ledger, *"ab")
        several = await ledger.device_feeds.items({MINE: 4, TEAM: 1, FeedName("user:nobody"): 0}, 9)
        assert [(moved.item.feed, moved.item.seq) for moved in several] == [(TEAM, 2), (MINE, 5), (MINE, 6)]
        assert await ledger.device_feeds.items({}, 9) == []
        assert await ledger.device_feeds.oldest(MINE) == 1
        assert await ledger.device_feeds.oldest(FeedName("user:nobody")) is None

    async def test_differing_clocks_leave_no_hole_in_a_feed(self, ledger: Ledger) -> None:
        """Found by simulation: the first item that was kept hid a missing one."""
        chat = await open_chat(ledger, ANN, BOB, now=soon(T0, 0))
        for seconds_later in (60, 0, 60):
            await say(ledger, chat, BOB, now=soon(T0, seconds_later))
        await ledger.feeds.forget(soon(T0, 30), 100)
        assert [moved.item.seq for moved in await ledger.device_feeds.items({MINE: 0}, 9)] == [2, 3, 4]
        assert [await ledger.device_feeds.oldest(MINE, after) for after in (0, 1, 2, 3, 4)] == [2, 2, 3, 4, None]

    async def test_every_feed_is_without_a_gap_whoever_writes_to_it_at_once(self, ledgers: Ledgers) -> None:
        chats = [await open_chat(ledgers[0], ANN, UserId(f"friend{n}")) for n in range(4)]
        posts = [a_post(chats[n % 4], ANN, f"{n}") for n in range(60)]
        await asyncio.gather(*(ledgers[n % 2].chats.post(post, T0) for n, post in enumerate(posts)))
        assert len(await feed(ledgers[1], MINE)) == 4 + 60

    async def test_where_feeds_stand_is_told_after_the_commit(self, ledger: Ledger) -> None:
        moved: list[Mapping[str, int]] = []
        ledger.feeds.on_moved(moved.append)
        chat = await open_chat(ledger, ANN, BOB)
        assert moved[-1] == {f"user:{ANN}": 1, f"user:{BOB}": 1}
        await say(ledger, chat)
        assert moved[-1] == {f"user:{ANN}": 2, f"user:{BOB}": 2}
        await write(ledger, "hello")
        assert moved[-1] == {TEAM: 1}


class DevicesContract:
    async def test_a_new_device_begins_where_it_is_told_to_and_a_known_one_where_it_is(self, ledger: Ledger) -> None:
        new = await ledger.device_feeds.open(a_device(cursors={MINE: 4, TEAM: 7}), T0)
        assert new == a_device(cursors={MINE: 4, TEAM: 7})
        again = await ledger.device_feeds.open(a_device(epoch="e2", cursors={MINE: 9}), soon(T0, 5))
        assert (again.epoch, again.cursors, again.seen_at) == ("e1", {MINE: 4, TEAM: 7}, soon(T0, 5))

    async def test_a_later_hello_is_seen_later_whatever_the_clock_says(self, ledger: Ledger) -> None:
        first = await ledger.device_feeds.open(a_device(), soon(T0, 3600))
        again = await ledger.device_feeds.open(a_device(), T0)
        assert again.seen_at > first.seen_at

    async def test_cursors_move_forwards_only_and_each_device_has_its_own(self, ledger: Ledger) -> None:
        for device in (PHONE, LAPTOP):
            await ledger.device_feeds.open(a_device(device, cursors={MINE: 1}), T0)
        moves = [(MINE, 4), (MINE, 5), (TEAM, 2)]
        await ledger.device_feeds.acked([CursorAck(ANN, PHONE, feed, seq) for feed, seq in moves])
        await ledger.device_feeds.acked([CursorAck(ANN, PHONE, MINE, 3)])
        phone, laptop = sorted(await ledger.device_feeds.devices(ANN), key=lambda d: d.device_id == LAPTOP)
        assert (phone.cursors, laptop.cursors) == ({MINE: 5, TEAM: 2}, {MINE: 1})
        assert await ledger.device_feeds.devices(BOB) == []

    async def test_a_device_that_was_removed_begins_anew(self, ledger: Ledger) -> None:
        await ledger.device_feeds.open(a_device(cursors={MINE: 1}), T0)
        assert await ledger.device_feeds.remove(ANN, PHONE) is True
        assert await ledger.device_feeds.remove(ANN, PHONE) is False
        assert await ledger.device_feeds.remove(BOB, PHONE) is False
        new = await ledger.device_feeds.open(a_device(epoch="e2", cursors={MINE: 8}), Instant(T0 + 1))
        assert (new.epoch, new.cursors) == ("e2", {MINE: 8})

    async def test_a_device_that_is_gone_leaves_no_cursors(self, ledger: Ledger) -> None:
        await ledger.device_feeds.open(a_device(cursors={MINE: 1}), T0)
        await ledger.device_feeds.remove(ANN, PHONE)
        await ledger.device_feeds.acked([CursorAck(ANN, PHONE, TEAM, 7)])
        new = await ledger.device_feeds.open(a_device(epoch="e2", cursors={MINE: 8}), Instant(T0 + 1))
        assert new.cursors == {MINE: 8}

    async def test_a_device_that_was_not_seen_for_long_is_forgotten_and_begins_anew(self, ledger: Ledger) -> None:
        await ledger.device_feeds.open(a_device(cursors={MINE: 1}), T0)
        await ledger.device_feeds.open(a_device(LAPTOP, cursors={MINE: 1}), soon(T0, 5))
        assert (await ledger.device_feeds.forget(T0, FIRST_DEVICE, 100)).gone == 0
        assert await ledger.device_feeds.forget(soon(T0, 5), FIRST_DEVICE, 100) == DeviceSweep(1, None)
        assert [device.device_id for device in await ledger.device_feeds.devices(ANN)] == [LAPTOP]
        new = await ledger.device_feeds.open(a_device(epoch="e2", cursors={MINE: 8}), soon(T0, 9))
        assert (new.epoch, new.cursors) == ("e2", {MINE: 8})

    async def test_one_that_is_connected_still_is_seen(self, ledger: Ledger) -> None:
        for device in (PHONE, LAPTOP):
            await ledger.device_feeds.open(a_device(device), T0)
        await ledger.device_feeds.seen([(ANN, PHONE), (BOB, PHONE), (ANN, PHONE)], soon(T0, 5))
        await ledger.device_feeds.seen([(ANN, PHONE)], soon(T0, 3))
        await ledger.device_feeds.seen([], soon(T0, 5))
        assert (await ledger.device_feeds.forget(soon(T0, 5), FIRST_DEVICE, 100)).gone == 1
        (phone,) = await ledger.device_feeds.devices(ANN)
        assert (phone.device_id, phone.seen_at) == (PHONE, soon(T0, 5))
        assert await ledger.device_feeds.devices(BOB) == []
        again = await ledger.device_feeds.open(a_device(), soon(T0, 4))
        assert again.seen_at > phone.seen_at, "a later hello is told from an earlier one by it"

    async def test_they_are_looked_at_in_bites_each_once(self, ledger: Ledger) -> None:
        for n, user in enumerate((ANN, ANN, BOB, BOB, BOB)):
            await ledger.device_feeds.open(a_device(DeviceId(f"tab-{n}"), user=user), T0)
        bites, last = [], FIRST_DEVICE
        while looked := await ledger.device_feeds.forget(soon(T0, 1), last, 2):
            bites.append(looked.gone)
            if looked.last is None:
                break
            last = looked.last
        assert bites == [2, 2, 1]
        assert [*await ledger.device_feeds.devices(ANN), *await ledger.device_feeds.devices(BOB)] == []

    async def test_several_forget_and_some_say_hello_at_once(self, ledgers: Ledgers) -> None:
        tabs = [DeviceId(f"tab-{n:02}") for n in range(40)]
        for tab in tabs:
            await ledgers[0].device_feeds.open(a_device(tab, cursors={MINE: 1}), T0)
        old = soon(T0, 1)
        forgetting = [ledgers[n % 2].device_feeds.forget(old, FIRST_DEVICE, 100) for n in range(6)]
        hellos = [
            ledgers[n % 2].device_feeds.open(a_device(tab, "e2", {MINE: 9}), old) for n, tab in enumerate(tabs[::2])
        ]
        await asyncio.gather(*forgetting, *hellos)
        kept = await ledgers[0].device_feeds.devices(ANN)
        assert {device.device_id for device in kept} == {*tabs[::2]}
        assert {(device.epoch, device.cursors[MINE]) for device in kept} <= {("e1", 1), ("e2", 9)}

    async def test_where_to_push_to_is_kept_with_the_device(self, ledger: Ledger) -> None:
        assert await ledger.device_feeds.subscribe(ANN, PHONE, "{}") is False
        await ledger.device_feeds.open(a_device(), T0)
        assert await ledger.device_feeds.subscribe(ANN, PHONE, '{"endpoint":"x"}') is True
        assert [device.push for device in await ledger.device_feeds.devices(ANN)] == ['{"endpoint":"x"}']
        await ledger.device_feeds.subscribe(ANN, PHONE, None)
        assert [device.push for device in await ledger.device_feeds.devices(ANN)] == [None]


class UserDevicesContract:
    async def test_a_device_that_can_be_pushed_to_is_kept_until_it_cannot(self, ledger: Ledger) -> None:
        ground, old = NotificationFixture(ledger), soon(T0, 1)
        await ground.subscribe(ANN, PHONE, AT_PHONE, T0)
        assert (await ledger.device_feeds.forget(old, FIRST_DEVICE, 100)).gone == 0
        await ledger.device_feeds.subscribe(ANN, PHONE, None)
        assert (await ledger.device_feeds.forget(old, FIRST_DEVICE, 100)).gone == 1

    async def test_who_is_removed_leaves_nothing_of_their_devices(self, ledger: Ledger) -> None:
        ground = NotificationFixture(ledger)
        await ground.subscribe(BOB, LAPTOP, None, T0)
        await ground.subscribe(ANN, PHONE, AT_PHONE, T0)
        await ledger.device_feeds.acked([CursorAck(ANN, PHONE, MINE, 1), CursorAck(BOB, LAPTOP, TEAM, 2)])
        assert not await ledger.accounts.remove_user(OTHER_ORG, ANN)
        assert len(await ledger.device_feeds.devices(ANN)) == 1
        assert await ledger.accounts.remove_user(ORG, ANN)
        assert await ledger.device_feeds.devices(ANN) == []
        (kept,) = await ledger.device_feeds.devices(BOB)
        assert kept.cursors == {TEAM: 2}
        new = await ledger.device_feeds.open(a_device(epoch="e2"), T0)
        assert (new.push, new.cursors) == (None, {}), "whoever comes by that name begins with nothing"

    async def test_feeds_that_only_they_could_be_told_of_are_not_looked_through(self, ledger: Ledger) -> None:
        ground = NotificationFixture(ledger)
        await ground.subscribe(ANN, PHONE, AT_PHONE, T0)
        chat = await ground.group(ANN, BOB)
        await ledger.accounts.remove_user(ORG, ANN)
        await ground.post(chat, BOB, "Soup?", T0)
        await ground.look(T0)
        assert await ledger.notifications.next_notification() is None

    async def test_a_subscription_of_who_was_removed_is_forgotten(self, ledger: Ledger) -> None:
        """A late hello came after the removal, or the removal happened under an older version."""
        ground = NotificationFixture(ledger)
        await ground.person(ANN)
        await ledger.accounts.remove_user(ORG, ANN)
        await ground.come(ANN, PHONE, T0)
        await ledger.device_feeds.subscribe(ANN, PHONE, written(AT_PHONE))
        assert (await ledger.device_feeds.forget(T0, FIRST_DEVICE, 100)).gone == 1
        assert await ledger.device_feeds.devices(ANN) == []


class LiveContract(DeviceFeedsContract, DevicesContract, UserDevicesContract):
    """The whole contract."""
