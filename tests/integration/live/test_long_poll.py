"""GET /sync brings what the socket brings: the same items, in the same order, with the same cursors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import Device, chat, customer, history, house, people, person, posted_id, sync
from waypost.flow.operations import maintenance
from waypost.http.live.long_poll import PAGE
from waypost.model.time import Instant, Span, seconds

pytestmark = pytest.mark.anyio


async def test_the_long_poll_brings_the_same_items_as_the_socket(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    begun = await sync(stage, bob)
    assert (begun["items"], begun["resync_required"], begun["has_more"]) == ([], False, False)
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        where = await chat(stage, ann, [bob])
        first = await posted_id(stage, ann, where, "one")
        await posted_id(stage, ann, where, "two")
        await stage.call("POST", f"/api/v1/conversations/{where}/read", {"message_id": first}, key=bob.token)
        await stage.call("DELETE", f"/api/v1/messages/{first}", key=ann.token)
        await customer(stage)
        await phone.item("deleted")
        await phone.hears("hi")
        polled = await sync(stage, bob, cursors=begun["heads"], epoch=begun["epoch"])
    live = [{name: value for name, value in item.items() if name != "type"} for item in phone.items]
    by_place = {(item["feed"], item["seq"]): item for item in polled["items"]}
    assert len(by_place) == len(polled["items"]) == len(live)
    for item in live:
        same = by_place[item["feed"], item["seq"]]
        if item["kind"] == "message" and same["message"]["message_id"] == first:
            assert same["message"]["content"] == {"type": "deleted"}, "by now nothing of it is left"
        else:
            assert same == item
    assert polled["heads"] == phone.cursors


async def test_a_waiting_poll_wakes_when_something_is_said(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    begun = await sync(stage, bob)
    waiting = asyncio.ensure_future(sync(stage, bob, cursors=begun["heads"], wait=20))
    await stage.eventually(lambda: _followed(stage, bob.feed))
    assert not waiting.done()
    await posted_id(stage, ann, where, "wake up")
    found = await waiting
    assert [item["message"]["content"]["text"] for item in found["items"]] == ["wake up"]


async def _followed(stage: Stage, feed: str) -> bool:
    return bool(stage.server.gateway.tails.followers(feed))  # type: ignore[arg-type]  # a name is a name


@ON_SQLITE
async def test_a_poll_waits_no_longer_than_told_and_ends_with_the_server(stage: Stage) -> None:
    ann = await person(stage)
    assert (await sync(stage, ann, wait=0.05))["items"] == []
    waiting = asyncio.ensure_future(sync(stage, ann, wait=60))
    await stage.eventually(lambda: _followed(stage, ann.feed))
    stage.world.closing.set()
    assert (await waiting)["items"] == []
    stage.world.closing.clear()


async def test_more_than_a_page_comes_in_pages_and_nothing_is_left_out(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    begun = await sync(stage, bob)
    for n in range(PAGE + 5):
        await posted_id(stage, ann, where, f"{n}")
    first = await sync(stage, bob, cursors=begun["heads"], wait=20)
    assert (len(first["items"]), first["has_more"]) == (PAGE, True)
    second = await sync(stage, bob, cursors=first["heads"])
    assert second["has_more"] is False
    texts = [item["message"]["content"]["text"] for item in first["items"] + second["items"]]
    assert texts == [f"{n}" for n in range(PAGE + 5)]


async def test_two_devices_and_a_forgetful_one_each_have_their_own_place(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    heads = {name: (await sync(stage, bob, name))["heads"] for name in ("phone", "laptop", "forgetful")}
    await posted_id(stage, ann, where, "one")
    phone = await sync(stage, bob, "phone", cursors=heads["phone"])
    assert len(phone["items"]) == 1
    await posted_id(stage, ann, where, "two")
    assert len((await sync(stage, bob, "phone", cursors=phone["heads"]))["items"]) == 1
    assert len((await sync(stage, bob, "laptop", cursors=heads["laptop"]))["items"]) == 2
    assert len((await sync(stage, bob, "forgetful"))["items"]) == 2
    assert len((await sync(stage, bob, "forgetful"))["items"]) == 2, "nothing was acknowledged"
    again = (await sync(stage, bob, "forgetful"))["heads"]
    assert (await sync(stage, bob, "forgetful", cursors=again))["items"] == []
    assert (await sync(stage, bob, "forgetful"))["items"] == [], "naming a cursor acknowledges what is before it"


async def test_a_device_may_change_from_the_poll_to_the_socket_and_back(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    begun = await sync(stage, bob, "phone")
    async with house(stage) as here:
        phone = Device(bob, epoch=begun["epoch"], cursors=begun["heads"])
        await posted_id(stage, ann, where, "one")
        await phone.live(here)
        phone.cut()
        await posted_id(stage, ann, where, "two")
        found = await sync(stage, bob, "phone", cursors=phone.cursors, epoch=phone.epoch)
        assert [item["message"]["content"]["text"] for item in found["items"]] == ["two"]
        phone.cursors = found["heads"]
        await posted_id(stage, ann, where, "three")
        await phone.live(here)
        assert phone.texts() == ["one", "three"]


@ON_SQLITE
@pytest.mark.parametrize("lost", ["epoch", "beyond", "trimmed", "forgotten"])
async def test_what_cannot_go_on_is_told_with_the_heads_to_go_on_from(stage: Stage, lost: str) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    begun = await sync(stage, bob)
    asked: dict[str, Any] = {"cursors": begun["heads"], "epoch": begun["epoch"]}
    for text in ("one", "two"):
        await posted_id(stage, ann, where, text)
    if lost == "epoch":
        asked["epoch"] = "another"
    elif lost == "beyond":
        asked["cursors"] = {bob.feed: 10**9}
    elif lost == "forgotten":
        stage.manual.jump(Span(stage.world.tuning.feed_kept + seconds(1)))
        assert await maintenance.prune_devices(stage.world) == 1
    else:
        await stage.world.ledger.feeds.forget(Instant(stage.clock.now() + seconds(1)), 1000)
    told = await sync(stage, bob, wait=20, **asked)
    assert (told["resync_required"], told["items"]) == (True, [])
    assert (await history(stage, bob, where))["messages"]
    again = await sync(stage, bob, cursors=told["heads"], epoch=told["epoch"])
    assert (again["resync_required"], again["items"]) == (False, [])


@ON_SQLITE
@pytest.mark.parametrize(
    "cursors", ["x", "[]", "7", '{"user:1": "2"}', '{"user:1": -1}', '{"user:1": 1e400}', '{"user:1": 1.5}', "{" * 9000]
)
async def test_cursors_that_cannot_be_read_are_refused(stage: Stage, cursors: str) -> None:
    refused = await sync(stage, await person(stage), expect=400, cursors=cursors)
    assert (refused["code"], refused["field"]) == ("invalid_parameter", "cursors")


@ON_SQLITE
@pytest.mark.parametrize("query", [{"wait": -1}, {"wait": 61}, {"wait": "nan"}, {"device": ""}, {"device": "a b"}])
async def test_a_poll_that_makes_no_sense_is_refused(stage: Stage, query: dict[str, Any]) -> None:
    refused = await sync(stage, await person(stage), expect=400, **query)
    assert refused["code"] == "invalid_parameter"


@ON_SQLITE
async def test_a_key_is_nobody_and_follows_nothing(stage: Stage) -> None:
    refused = await stage.call("GET", "/api/v1/sync?device_id=d&wait=0")
    assert (refused.status, refused.code) == (403, "wrong_role")


@ON_SQLITE
async def test_cursors_of_others_feeds_are_as_if_they_were_not_named(stage: Stage) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob], "direct")
    begun = await sync(stage, eve)
    await posted_id(stage, ann, where, "between us")
    found = await sync(stage, eve, cursors={bob.feed: 0, ann.feed: 0, "team:globex": 0, "group:1": 0})
    assert (found["items"], set(found["heads"])) == ([], set(begun["heads"]))
