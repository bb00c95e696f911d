"""The contract of what devices follow: feeds of their own, cursors that only move on, and heads told at commit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from waypost.model.chat import Device, DeviceId, FeedName
from waypost.model.ids import UserId
from waypost.model.time import Instant
from waypost.ports.chats import Acked
from waypost.ports.ledger import Ledger
from waypost.testing.contracts.chatting import ANN, BOB, a_post, feed, open_chat, say, text_of
from waypost.testing.contracts.examples import ORG, T0, Ledgers
from waypost.testing.contracts.talking import soon, talk_with, write

PHONE, LAPTOP = DeviceId("phone"), DeviceId("laptop")
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


class FollowsContract:
    async def test_everybody_follows_their_own_feed_and_their_teams(self, ledger: Ledger) -> None:
        assert [following.feed for following in await ledger.follows.feeds(ORG, ANN)] == [MINE, TEAM]
        assert await ledger.follows.heads([MINE, TEAM]) == {MINE: 0, TEAM: 0}
        assert await ledger.follows.heads([]) == {}

    async def test_items_are_told_with_what_they_are_about(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat, BOB, "hi Ann")
        joined, message = await feed(ledger, MINE)
        assert (joined.item.kind, joined.entry, joined.contact_id) == ("joined", None, None)
        assert (text_of(message), message.entry and message.entry.sender) == ("hi Ann", BOB)
        (arrived,) = await feed(ledger, TEAM)
        assert arrived.contact_id == (await talk_with(ledger)).contact_id
        assert await ledger.follows.heads([MINE, TEAM]) == {MINE: 2, TEAM: 1}

    async def test_pages_follow_each_other(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(5):
            await say(ledger, chat, BOB, f"{n}")
        page = await ledger.follows.told({MINE: 2}, 2)
        assert [told.item.seq for told in page] == [3, 4]
        await write(ledger, *"ab")
        several = await ledger.follows.told({MINE: 4, TEAM: 1, FeedName("user:nobody"): 0}, 9)
        assert [(told.item.feed, told.item.seq) for told in several] == [(TEAM, 2), (MINE, 5), (MINE, 6)]
        assert await ledger.follows.told({}, 9) == []
        assert await ledger.follows.oldest(MINE) == 1
        assert await ledger.follows.oldest(FeedName("user:nobody")) is None

    async def test_differing_clocks_leave_no_hole_in_a_feed(self, ledger: Ledger) -> None:
        """Found by simulation: the first item that was kept at all hid one that was missing."""
        chat = await open_chat(ledger, ANN, BOB, now=soon(T0, 0))
        for seconds_later in (60, 0, 60):
            await say(ledger, chat, BOB, now=soon(T0, seconds_later))
        await ledger.feeds.forget(soon(T0, 30), 100)
        assert [told.item.seq for told in await ledger.follows.told({MINE: 0}, 9)] == [2, 3, 4]
        assert [await ledger.follows.oldest(MINE, after) for after in (0, 1, 2, 3, 4)] == [2, 2, 3, 4, None]

    async def test_every_feed_is_without_a_gap_whoever_writes_to_it_at_once(self, ledgers: Ledgers) -> None:
        chats = [await open_chat(ledgers[0], ANN, UserId(f"friend{n}")) for n in range(4)]
        posts = [a_post(chats[n % 4], ANN, f"{n}") for n in range(60)]
        await asyncio.gather(*(ledgers[n % 2].chats.post(post, T0) for n, post in enumerate(posts)))
        assert len(await feed(ledgers[1], MINE)) == 4 + 60

    async def test_where_feeds_stand_is_told_after_the_commit(self, ledger: Ledger) -> None:
        told: list[Mapping[str, int]] = []
        ledger.feeds.on_moved(told.append)
        chat = await open_chat(ledger, ANN, BOB)
        assert told[-1] == {f"user:{ANN}": 1, f"user:{BOB}": 1}
        await say(ledger, chat)
        assert told[-1] == {f"user:{ANN}": 2, f"user:{BOB}": 2}
        await write(ledger, "hello")
        assert told[-1] == {TEAM: 1}


class DevicesContract:
    async def test_a_new_device_begins_where_it_is_told_to_and_a_known_one_where_it_is(self, ledger: Ledger) -> None:
        new = await ledger.follows.open(a_device(cursors={MINE: 4, TEAM: 7}), T0)
        assert new == a_device(cursors={MINE: 4, TEAM: 7})
        again = await ledger.follows.open(a_device(epoch="e2", cursors={MINE: 9}), soon(T0, 5))
        assert (again.epoch, again.cursors, again.seen_at) == ("e1", {MINE: 4, TEAM: 7}, soon(T0, 5))

    async def test_a_later_hello_is_seen_later_whatever_the_clock_says(self, ledger: Ledger) -> None:
        first = await ledger.follows.open(a_device(), soon(T0, 3600))
        again = await ledger.follows.open(a_device(), T0)
        assert again.seen_at > first.seen_at

    async def test_cursors_move_forwards_only_and_each_device_has_its_own(self, ledger: Ledger) -> None:
        for device in (PHONE, LAPTOP):
            await ledger.follows.open(a_device(device, cursors={MINE: 1}), T0)
        moves = [(MINE, 4), (MINE, 5), (TEAM, 2)]
        await ledger.follows.acked([Acked(ANN, PHONE, feed, seq) for feed, seq in moves])
        await ledger.follows.acked([Acked(ANN, PHONE, MINE, 3)])
        phone, laptop = sorted(await ledger.follows.devices(ANN), key=lambda d: d.device_id == LAPTOP)
        assert (phone.cursors, laptop.cursors) == ({MINE: 5, TEAM: 2}, {MINE: 1})
        assert await ledger.follows.devices(BOB) == []

    async def test_a_device_that_was_removed_begins_anew(self, ledger: Ledger) -> None:
        await ledger.follows.open(a_device(cursors={MINE: 1}), T0)
        assert await ledger.follows.remove(ANN, PHONE) is True
        assert await ledger.follows.remove(ANN, PHONE) is False
        assert await ledger.follows.remove(BOB, PHONE) is False
        new = await ledger.follows.open(a_device(epoch="e2", cursors={MINE: 8}), Instant(T0 + 1))
        assert (new.epoch, new.cursors) == ("e2", {MINE: 8})

    async def test_where_to_push_to_is_kept_with_the_device(self, ledger: Ledger) -> None:
        assert await ledger.follows.subscribe(ANN, PHONE, "{}") is False
        await ledger.follows.open(a_device(), T0)
        assert await ledger.follows.subscribe(ANN, PHONE, '{"endpoint":"x"}') is True
        assert [device.push for device in await ledger.follows.devices(ANN)] == ['{"endpoint":"x"}']
        await ledger.follows.subscribe(ANN, PHONE, None)
        assert [device.push for device in await ledger.follows.devices(ANN)] == [None]


class LiveContract(FollowsContract, DevicesContract):
    """All of it."""
