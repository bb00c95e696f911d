"""The live connection end to end, on real sockets: hello, catch up, live, several devices, cuts, and refusals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import Device, chat, customer, house, members, people, person, posted_id, say
from waypost.flow.operations import maintenance
from waypost.http.live.gateway import HEARTBEAT, SEEN_EVERY, SILENT_FOR
from waypost.model.ids import UserId
from waypost.model.time import Instant, Span, seconds

pytestmark = pytest.mark.anyio


async def test_a_device_says_hello_hears_what_is_posted_and_is_told_of_its_own_posts(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone, other = Device(ann), Device(bob)
        welcome = await phone.live(here)
        assert (welcome["resumed"], set(welcome["heads"])) == (False, {ann.feed, f"team:{stage.acme.org}"})
        assert welcome["heartbeat_ms"] > 0
        await other.live(here)
        content = {"type": "text", "text": "hello Bob"}
        await phone.say("send", client_message_id="c-1", conversation_id=where, content=content)
        ack = await phone.until("ack", client_message_id="c-1")
        assert (ack["position"], ack["duplicate"]) == (1, False)
        message = (await other.hears("hello Bob"))["message"]
        assert message["message_id"] == ack["message_id"]
        assert (message["sender_id"], message["client_message_id"]) == (ann.user_id, "c-1")
        await phone.say("send", client_message_id="c-1", conversation_id=where, content=content)
        again = await phone.until("ack", client_message_id="c-1")
        assert (again["message_id"], again["duplicate"]) == (ack["message_id"], True)
        posted = await say(stage, ann, where, "hello Bob", name="c-1")
        assert (posted.status, posted.json["message_id"]) == (200, ack["message_id"])
        await other.settled()
        assert other.texts() == phone.texts() == ["hello Bob"]


@ON_SQLITE
async def test_a_token_may_come_in_the_header_and_the_first_frame_counts_more(stage: Stage) -> None:
    ann = await person(stage)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.connect(here, headers={"authorization": f"Bearer {ann.token}"})
        await phone.say("hello", device_id="phone")
        await phone.until("live")
        other = Device(ann, "other")
        await other.connect(here, headers={"authorization": "Bearer unknown"})
        await other.say("hello", device_id="other", token=ann.token)
        await other.until("live")


async def test_after_a_cut_nothing_is_missing_and_nothing_comes_twice(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        expected = []
        for round_ in range(4):
            for n in range(3):
                await posted_id(stage, ann, where, f"{round_}.{n}")
                expected.append(f"{round_}.{n}")
            if round_ % 2:
                await phone.hears(expected[-1])
            phone.cut()
            await posted_id(stage, ann, where, f"{round_} away")
            expected.append(f"{round_} away")
            assert (await phone.live(here))["resumed"]
        assert phone.texts() == expected


async def test_several_devices_each_go_on_where_they_were(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone, laptop = Device(bob, "phone"), Device(bob, "laptop")
        await phone.live(here)
        await laptop.live(here)
        await posted_id(stage, ann, where, "one")
        await phone.hears("one")
        await laptop.hears("one")
        await laptop.leave()
        await posted_id(stage, ann, where, "two")
        await phone.hears("two")
        await laptop.live(here)
        await posted_id(stage, ann, where, "three")
        await phone.hears("three")
        await laptop.hears("three")
        assert phone.texts() == laptop.texts() == ["one", "two", "three"]


async def test_a_device_that_names_no_cursor_goes_on_after_what_it_acked(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        await posted_id(stage, ann, where, "one")
        await posted_id(stage, ann, where, "two")
        first = await phone.hears("one")
        await phone.hears("two")
        await phone.say("ack", feed=first["feed"], seq=first["seq"])
        await phone.say("ack", feed=first["feed"], seq=first["seq"] + 99)
        await phone.say("ack", feed="group:12", seq=1)
        await phone.settled()
        await phone.leave()

        async def stored() -> bool:
            (device,) = (await stage.get("/api/v1/devices", bob.token))["devices"]
            return bool(device["cursors"][bob.feed] == first["seq"])

        await stage.eventually(stored)
        again = Device(bob)
        await again.connect(here)
        await again.say("hello", device_id="phone", token=bob.token)
        await again.until("live")
        assert again.texts() == ["two"]


async def test_what_happens_while_a_device_catches_up_comes_once_and_in_order(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        phone.cut()
        texts = [f"text {n}" for n in range(450)]
        for text in texts[:420]:
            await posted_id(stage, ann, where, text)
        coming = asyncio.ensure_future(phone.hello(here))
        for text in texts[420:]:
            await posted_id(stage, ann, where, text)
        await coming
        await phone.hears(texts[-1])
        assert phone.texts() == texts


@ON_SQLITE
@pytest.mark.parametrize("lost", ["another epoch", "beyond the head", "trimmed"])
async def test_a_device_that_cannot_go_on_is_told_to_read_everything_anew(stage: Stage, lost: str) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        await phone.leave()
        await posted_id(stage, ann, where, "while away")
        if lost == "another epoch":
            phone.epoch = "of another life"
        elif lost == "beyond the head":
            phone.cursors[bob.feed] = 4711
        else:
            await posted_id(stage, ann, where, "the last of a feed stays")
            await stage.world.ledger.feeds.forget(Instant(stage.clock.now() + seconds(1)), 1000)
        assert (await phone.hello(here))["resumed"] is False
        told = await phone.until("resync_required")
        assert told["reason"]
        await phone.until("live")
        await posted_id(stage, ann, where, "afterwards")
        await phone.hears("afterwards")
        assert phone.texts() == ["afterwards"]
        phone.cut()
        assert (await phone.live(here))["resumed"], "what it was told to keep is worth something"


@ON_SQLITE
async def test_a_forgotten_device_begins_anew(stage: Stage) -> None:
    ann = await person(stage)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        await phone.leave()
        removed = await stage.call("DELETE", "/api/v1/devices/phone", key=ann.token)
        assert removed.status == 204
        await phone.hello(here)
        await phone.until("resync_required")


@pytest.mark.parametrize("kept", ["all", "no epoch", "only the epoch", "part"])
async def test_a_device_that_was_away_for_too_long_to_be_known_reads_anew(stage: Stage, kept: str) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        await phone.leave()
        stage.manual.jump(Span(stage.world.tuning.feed_kept + seconds(1)))
        assert await maintenance.prune_devices(stage.world) == 1
        assert (await stage.get("/api/v1/devices", bob.token))["devices"] == []
        await posted_id(stage, ann, where, "while away")  # and kept: only the device was removed
        places: dict[str, dict[str, Any]] = {
            "all": {},
            "no epoch": {"epoch": None},
            "only the epoch": {"cursors": {}},
            "part": {"epoch": None, "cursors": {f"team:{stage.acme.org}": 0}},
        }
        assert (await phone.hello(here, **places[kept]))["resumed"] is False
        await phone.until("resync_required")
        await phone.until("live")
        await posted_id(stage, ann, where, "afterwards")
        await phone.hears("afterwards")
        assert phone.texts() == ["afterwards"]
        phone.cut()
        assert (await phone.live(here))["resumed"]


@ON_SQLITE
async def test_one_that_stays_connected_is_known_however_long_that_is(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        began = stage.clock.now()
        while stage.clock.now() - began < SEEN_EVERY + HEARTBEAT:
            stage.manual.advance(Span(SILENT_FOR // 2))
            await phone.settled()

        async def seen() -> bool:
            (device,) = await stage.world.ledger.device_feeds.devices(UserId(bob.user_id))
            return device.seen_at > began + SEEN_EVERY // 2

        await stage.eventually(seen)
        stage.manual.jump(Span(stage.world.tuning.feed_kept - seconds(60)))
        assert await maintenance.prune_devices(stage.world) == 0
        phone.cut()
        await posted_id(stage, ann, where, "while away")
        assert (await phone.live(here))["resumed"]
        assert phone.texts() == ["while away"]


async def test_who_is_removed_while_connected_hears_that_and_nothing_after_it(stage: Stage) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob, eve])
    async with house(stage) as here:
        phone, other = Device(eve), Device(bob)
        await phone.live(here)
        await other.live(here)
        await posted_id(stage, ann, where, "before")
        await members(stage, ann, where, remove=[eve])
        await posted_id(stage, ann, where, "after")
        await other.hears("after")
        gone = await phone.item("members")
        assert (gone["removed"], gone["conversation_id"]) == ([eve.user_id], where)
        await phone.settled()
        assert phone.texts() == ["before"]


async def test_who_joins_while_connected_hears_what_is_said_from_then_on(stage: Stage) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob])
    await posted_id(stage, ann, where, "before")
    async with house(stage) as here:
        phone, other = Device(eve), Device(bob)
        await phone.live(here)
        await other.live(here)
        await members(stage, ann, where, add=[eve])
        joined = await phone.item("joined", conversation_id=where)
        assert joined["user_ids"] == [eve.user_id]
        assert (await other.item("members"))["added"] == [eve.user_id]
        await posted_id(stage, ann, where, "after")
        await phone.hears("after")
        assert phone.texts() == ["after"]


@ON_SQLITE
async def test_a_customers_words_and_an_agents_answer_come_to_the_whole_team(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    async with house(stage) as here:
        phone, other = Device(ann), Device(bob)
        await phone.live(here)
        await other.live(here)
        where = await customer(stage, text="where is my order?")
        for device in (phone, other):
            message = (await device.hears("where is my order?"))["message"]
            assert message["sender_id"].startswith("contact:")
        await phone.say(
            "send", client_message_id="a", conversation_id=where, content={"type": "text", "text": "on its way"}
        )
        await other.hears("on its way")
        await other.item("status", status="delivered")
        assert [call["text"]["body"] for call in stage.calls()] == ["on its way"]


@ON_SQLITE
async def test_a_lost_hint_costs_seconds_and_no_message(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        stage.hints.deaf = True
        await posted_id(stage, ann, where, "unheard")
        await phone.hears("unheard")
        stage.hints.deaf = False


async def test_what_the_database_does_not_take_is_told_and_the_line_goes_on(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone, late = Device(ann), Device(bob)
        await phone.live(here)
        sent = {"client_message_id": "1", "conversation_id": where, "content": {"type": "text", "text": "hi"}}
        await stage.database.refuse_writes("entry")
        await phone.say("send", **sent)
        told = await phone.until("error", client_message_id="1")
        assert (told["code"], told["retryable"]) == ("cannot_be_stored", False)
        await stage.database.take_writes("entry")
        await stage.database.refuse_writes("device")
        await late.connect(here)
        await late.say("hello", device_id="phone", token=bob.token)
        assert (await late.closing())[0] == 4000, "it may come back"
        await stage.database.take_writes("device")
        await late.live(here)
        await phone.say("send", **sent)
        await phone.until("ack", client_message_id="1")
        await late.hears("hi")


@ON_SQLITE
async def test_a_server_that_stops_says_so_and_the_device_loses_nothing(set_up: OpenStage) -> None:
    stage = await set_up()
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    second = await stage.add_server()
    async with house(stage, second) as old, house(stage) as new:
        phone = Device(bob)
        await phone.live(old)
        await posted_id(stage, ann, where, "one")
        await second.wind_down(seconds(0))
        assert await phone.closing() == (4001, "server going away")
        late = Device(bob)
        await late.connect(old)
        assert (await late.closing())[0] == 4001
        await posted_id(stage, ann, where, "two")
        await phone.live(new)
        assert phone.texts() == ["one", "two"]
