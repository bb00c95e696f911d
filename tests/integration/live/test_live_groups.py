"""Large groups have their own feed: no item is lost when a group grows, and a removed member gets nothing more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import (
    Device,
    Person,
    chat,
    history,
    house,
    members,
    people,
    posted_id,
    say,
    sync,
)
from waypost.model.chat import LARGEST_IN_FEEDS
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, UserId

pytestmark = pytest.mark.anyio


async def a_large_group(stage: Stage) -> tuple[list[Person], str]:
    everybody = await people(stage, LARGEST_IN_FEEDS + 2)
    ann, *others = everybody
    return everybody, await chat(stage, ann, others)


async def test_a_group_that_grows_large_while_all_are_connected_leaves_no_gap(stage: Stage) -> None:
    everybody = await people(stage, LARGEST_IN_FEEDS + 1)
    ann, bob, *others, last = everybody
    where = await chat(stage, ann, [bob, *others])
    async with house(stage) as here:
        phone, newcomer = Device(bob), Device(last)
        away = Device(others[0])
        for device in (phone, newcomer, away):
            await device.live(here)
        away.cut()
        await posted_id(stage, ann, where, "small")
        await members(stage, ann, where, add=[last])
        await posted_id(stage, ann, where, "large")
        await posted_id(stage, ann, where, "and on")
        joined = await phone.item("joined", conversation_id=where)
        assert joined["joins"]["feed"] == f"group:{where}"
        first = await phone.item("members")
        assert (first["feed"], first["prev"]) == (f"group:{where}", joined["joins"]["from"])
        await phone.hears("and on")
        await newcomer.hears("and on")
        await away.live(here)
        assert phone.texts() == away.texts() == ["small", "large", "and on"]
        assert newcomer.texts() == ["large", "and on"]
        phone.cut()
        await posted_id(stage, ann, where, "while away")
        await phone.live(here)
        assert phone.texts()[2:] == ["and on", "while away"]


@ON_SQLITE
async def test_who_was_away_alone_while_it_grew_has_it_all_when_live(stage: Stage) -> None:
    """No one else here follows the group's feed, so no one else has read it."""
    ann, bob, *others, last = await people(stage, LARGEST_IN_FEEDS + 1)
    where = await chat(stage, ann, [bob, *others])
    async with house(stage) as here:
        away = Device(bob)
        await away.live(here)
        away.cut()
        await members(stage, ann, where, add=[last])
        await posted_id(stage, ann, where, "large")
        await away.live(here)
        assert away.texts() == ["large"]


async def test_who_is_removed_from_a_large_group_hears_nothing_after_it(stage: Stage) -> None:
    (ann, bob, eve, *_), where = await a_large_group(stage)
    async with house(stage) as here:
        phone, other = Device(eve), Device(bob)
        await phone.live(here)
        await other.live(here)
        await posted_id(stage, ann, where, "before")
        await phone.hears("before")
        await members(stage, ann, where, remove=[eve])
        await posted_id(stage, ann, where, "after")
        await other.hears("after")
        gone = await phone.item("members", feed=eve.feed)
        assert gone["removed"] == [eve.user_id]
        await phone.settled()
        assert phone.texts() == ["before"]
        phone.cut()
        await phone.live(here)
        assert phone.texts() == ["before"]
        assert set(await phone.settled()) == {eve.feed, f"team:{stage.acme.org}"}


@ON_SQLITE
async def test_what_was_said_right_after_somebody_was_removed_is_not_told_with_it(stage: Stage) -> None:
    """All of it is read at once: the server was not looking meanwhile."""
    (ann, bob, eve, *_), where = await a_large_group(stage)
    async with house(stage) as here:
        phone, other = Device(eve), Device(bob)
        await phone.live(here)
        await other.live(here)
        stage.hints.deaf = True
        await posted_id(stage, ann, where, "before")
        await members(stage, ann, where, remove=[eve])
        await posted_id(stage, ann, where, "after")
        stage.hints.deaf = False
        stage.hints.give([f"feed:group:{where}", f"feed:{eve.feed}"])
        await other.hears("after")
        await phone.item("members", feed=eve.feed)
        await phone.settled()
        assert phone.texts() == ["before"]
        assert "after" not in str(phone.items)


@ON_SQLITE
async def test_who_was_removed_and_came_back_hears_both_times_and_not_what_was_between(stage: Stage) -> None:
    (ann, _, eve, *_), where = await a_large_group(stage)
    async with house(stage) as here:
        phone = Device(eve)
        await phone.live(here)
        stage.hints.deaf = True
        await posted_id(stage, ann, where, "before")
        await members(stage, ann, where, remove=[eve])
        await posted_id(stage, ann, where, "between")
        await members(stage, ann, where, add=[eve])
        await posted_id(stage, ann, where, "after")
        stage.hints.deaf = False
        stage.hints.give([f"feed:group:{where}", f"feed:{eve.feed}"])
        await phone.hears("after")
        await posted_id(stage, ann, where, "later")
        await phone.hears("later")
        assert phone.texts() == ["before", "after", "later"]


@ON_SQLITE
async def test_who_joins_a_large_group_while_connected_hears_it_from_then_on(stage: Stage) -> None:
    (ann, *_), where = await a_large_group(stage)
    (zoe,) = await people(stage, 1)
    await posted_id(stage, ann, where, "before")
    async with house(stage) as here:
        phone = Device(zoe)
        await phone.live(here)
        await members(stage, ann, where, add=[zoe])
        await posted_id(stage, ann, where, "after")
        await phone.hears("after")
        assert phone.texts() == ["after"]


@ON_SQLITE
async def test_the_long_poll_follows_a_large_group_too(stage: Stage) -> None:
    (ann, bob, *_), where = await a_large_group(stage)
    begun = await sync(stage, bob)
    assert f"group:{where}" in begun["heads"]
    await posted_id(stage, ann, where, "hello all")
    found = await sync(stage, bob, cursors=begun["heads"])
    assert [item["message"]["content"]["text"] for item in found["items"]] == ["hello all"]
    await members(stage, ann, where, remove=[bob])
    await posted_id(stage, ann, where, "without Bob")
    told = await sync(stage, bob, cursors=found["heads"])
    assert [(item["kind"], item["removed"]) for item in told["items"]] == [("members", [bob.user_id])]
    assert "without Bob" not in str(told)


async def test_who_was_removed_reads_and_writes_nothing_any_more(stage: Stage) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob, eve])
    await posted_id(stage, ann, where, "before")
    await members(stage, ann, where, remove=[eve])
    await history(stage, eve, where, expect=404)
    assert (await say(stage, eve, where, "let me in")).status == 404
    listed = await stage.get("/api/v1/conversations", eve.token)
    assert listed["conversations"] == []
    refused = await stage.call("POST", f"/api/v1/conversations/{where}/members", {"add": [eve.user_id]}, key=eve.token)
    assert refused.status == 404


@ON_SQLITE
@pytest.mark.parametrize(("setting", "seen"), [("all", ["after", "before"]), ("joined", ["after"])])
async def test_who_joins_later_reads_what_the_groups_setting_allows(
    stage: Stage, setting: str, seen: list[str]
) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob], history=setting)
    await posted_id(stage, ann, where, "before")
    await members(stage, ann, where, add=[eve])
    await posted_id(stage, ann, where, "after")
    page = await history(stage, eve, where, limit=2)
    assert [message["content"]["text"] for message in page["messages"]] == seen
    assert page["has_more"] is False


@ON_SQLITE
async def test_a_group_has_a_limit_and_its_error_is_clear(stage: Stage) -> None:
    (ann,) = await people(stage, 1)
    strangers = [f"nobody-{n}" for n in range(1024)]
    opened = await stage.call("POST", "/api/v1/conversations", {"kind": "group", "members": strangers}, key=ann.token)
    assert (opened.status, opened.code) == (422, "too_many_members")
    unknown = await stage.call("POST", "/api/v1/conversations", {"kind": "group", "members": ["nobody"]}, key=ann.token)
    assert (unknown.status, unknown.code) == (422, "unknown_user")


async def test_who_is_removed_from_the_org_has_left_every_chat_and_keeps_nothing_unread(stage: Stage) -> None:
    ann, bob, eve, *others = await people(stage, LARGEST_IN_FEEDS + 2)
    large = await chat(stage, ann, [bob, eve, *others])
    small, direct = await chat(stage, ann, [bob, eve]), await chat(stage, ann, [eve], "direct")
    message = await posted_id(stage, ann, small, "hello")
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        assert (await stage.call("DELETE", f"/api/v1/users/{eve.user_id}")).status == 204
        told = [await phone.item("members") for _ in (large, small, direct)]
    assert {item["conversation_id"] for item in told} == {large, small, direct}
    assert all(item["removed"] == [eve.user_id] for item in told)
    for where, left in ((large, LARGEST_IN_FEEDS + 1), (small, 2), (direct, 1)):
        shown = await stage.call("GET", f"/api/v1/conversations/{where}", key=ann.token)
        assert len(shown.json["members"]) == left
        assert eve.user_id not in str(shown.json["members"])
    await stage.call("POST", f"/api/v1/conversations/{small}/read", {"message_id": message}, key=bob.token)
    assert (await history(stage, ann, small))["messages"][0]["status"] == "read"


@ON_SQLITE
async def test_a_removal_that_broke_off_is_finished_by_the_next(stage: Stage) -> None:
    ann, eve = await people(stage, 2)
    where = await chat(stage, ann, [eve])
    await stage.world.ledger.accounts.remove_user(OrgId(stage.acme.org), UserId(eve.user_id))
    other = await stage.call("DELETE", f"/api/v1/users/{eve.user_id}", key=stage.globex.key)
    shown = await stage.call("GET", f"/api/v1/conversations/{where}", key=ann.token)
    assert (other.status, len(shown.json["members"])) == (404, 2)
    assert (await stage.call("DELETE", f"/api/v1/users/{eve.user_id}")).status == 404
    shown = await stage.call("GET", f"/api/v1/conversations/{where}", key=ann.token)
    assert len(shown.json["members"]) == 1


@ON_SQLITE
async def test_the_history_of_a_large_group_does_not_ask_who_has_read_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ann, bob, *_), where = await a_large_group(stage)
    small = await chat(stage, ann, [bob])
    for each in (where, small):
        read = await posted_id(stage, ann, each, "for all")
        answer = await stage.call("POST", f"/api/v1/conversations/{each}/read", {"message_id": read}, key=bob.token)
        assert answer.status == 200, answer
    asked: list[ConversationId] = []
    chats = stage.world.ledger.chats
    reads = chats.reads

    async def counted(chat: ConversationId) -> Mapping[UserId, Position]:
        asked.append(chat)
        return await reads(chat)

    monkeypatch.setattr(chats, "reads", counted)
    shown = [(await history(stage, ann, each))["messages"][0]["status"] for each in (where, small)]
    assert (shown, asked) == (["sent", "read"], [int(small)])
