"""History by cursor: the five cases of seed 004, foreign cursors, and pages that nothing shifts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import Person, chat, customer, history, people, person, posted_id
from waypost.model.time import seconds

pytestmark = pytest.mark.anyio


def texts(page: dict[str, Any]) -> list[str]:
    return [message["content"].get("text", message["content"]["type"]) for message in page["messages"]]


async def a_chat(stage: Stage, count: int) -> tuple[Person, Person, str, list[str]]:
    """Two users, their chat, and the ids of one user's messages: `0`, `1`, …"""
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    return ann, bob, where, [await posted_id(stage, ann, where, f"{n}") for n in range(count)]


async def test_without_a_cursor_the_newest_come_first_and_each_page_goes_on(stage: Stage) -> None:
    ann, _, where, ids = await a_chat(stage, 7)
    first = await history(stage, ann, where, limit=3)
    assert (texts(first), first["has_more"]) == (["6", "5", "4"], True)
    second = await history(stage, ann, where, limit=3, cursor=first["next_cursor"])
    assert (texts(second), second["has_more"]) == (["3", "2", "1"], True)
    third = await history(stage, ann, where, limit=3, cursor=second["next_cursor"])
    assert (texts(third), third["has_more"], third["next_cursor"]) == (["0"], False, None)
    assert [message["message_id"] for message in first["messages"]] == ids[:3:-1]


@ON_SQLITE
@pytest.mark.parametrize(("count", "more"), [(2, False), (3, False), (4, True)])
async def test_whether_there_is_more_is_known_without_a_page_that_is_empty(
    stage: Stage, count: int, more: bool
) -> None:
    ann, _, where, _ = await a_chat(stage, count)
    page = await history(stage, ann, where, limit=3)
    assert (len(page["messages"]), page["has_more"], page["next_cursor"] is not None) == (min(3, count), more, more)


@ON_SQLITE
async def test_an_empty_conversation_has_an_empty_page(stage: Stage) -> None:
    ann, _, where, _ = await a_chat(stage, 0)
    assert await history(stage, ann, where) == {"messages": [], "next_cursor": None, "has_more": False}


async def test_a_lost_cursor_costs_no_more_than_beginning_anew(stage: Stage) -> None:
    ann, _, where, _ = await a_chat(stage, 5)
    before = await history(stage, ann, where, limit=2)
    assert texts(await history(stage, ann, where, limit=2)) == texts(before)


@ON_SQLITE
@pytest.mark.parametrize("cursor", ["x", "garbage!", "e30", "A" * 5000, "😀", " ", "eyJwb3NpdGlvbiI6IDN9"])
async def test_a_corrupt_cursor_is_refused(stage: Stage, cursor: str) -> None:
    ann, _, where, _ = await a_chat(stage, 1)
    refused = await history(stage, ann, where, expect=400, cursor=cursor)
    assert (refused["code"], refused["field"]) == ("invalid_cursor", "cursor")


@ON_SQLITE
async def test_a_cursor_with_one_letter_changed_is_refused(stage: Stage) -> None:
    ann, _, where, _ = await a_chat(stage, 3)
    cursor = (await history(stage, ann, where, limit=1))["next_cursor"]
    for at in range(0, len(cursor), 7):
        other = "A" if cursor[at] != "A" else "B"
        changed = cursor[:at] + other + cursor[at + 1 :]
        assert (await history(stage, ann, where, expect=400, cursor=changed))["code"] == "invalid_cursor"


async def test_an_anchor_that_was_deleted_meanwhile_still_tells_where_to_go_on(stage: Stage) -> None:
    ann, _, where, ids = await a_chat(stage, 6)
    page = await history(stage, ann, where, limit=2)
    for anchor in (ids[4], ids[3]):
        assert (await stage.call("DELETE", f"/api/v1/messages/{anchor}", key=ann.token)).status == 204
    after = await history(stage, ann, where, limit=2, cursor=page["next_cursor"])
    assert texts(after) == ["deleted", "2"]
    assert texts(await history(stage, ann, where, cursor=after["next_cursor"])) == ["1", "0"]


@ON_SQLITE
async def test_a_cursor_expires_where_a_lifetime_is_set(set_up: OpenStage) -> None:
    stage = await set_up(cursor_ttl_sec=60.0)
    ann, _, where, _ = await a_chat(stage, 3)
    cursor = (await history(stage, ann, where, limit=1))["next_cursor"]
    stage.manual.advance(seconds(60))
    assert texts(await history(stage, ann, where, limit=1, cursor=cursor)) == ["1"]
    stage.manual.advance(seconds(1))
    gone = await history(stage, ann, where, expect=410, limit=1, cursor=cursor)
    assert gone["code"] == "cursor_expired"


@ON_SQLITE
async def test_a_cursor_lasts_for_ever_where_no_lifetime_is_set(stage: Stage) -> None:
    ann, _, where, _ = await a_chat(stage, 3)
    cursor = (await history(stage, ann, where, limit=1))["next_cursor"]
    stage.manual.advance(seconds(400 * 86_400))
    assert texts(await history(stage, ann, where, limit=1, cursor=cursor)) == ["1"]


async def test_a_cursor_is_of_no_use_to_others_or_elsewhere(stage: Stage) -> None:
    ann, bob, where, _ = await a_chat(stage, 3)
    other = await chat(stage, ann, [bob])
    await posted_id(stage, ann, other, "elsewhere")
    cursor = (await history(stage, ann, where, limit=1))["next_cursor"]
    zed, zoe = [await person(stage, name, key=stage.globex.key) for name in ("Zed", "Zoe")]
    foreign = await chat(stage, zed, [zoe], "direct")
    for whose, of in [(bob, where), (ann, other), (zed, foreign)]:
        assert (await history(stage, whose, of, expect=400, cursor=cursor))["code"] == "invalid_cursor"
    for path in ("/api/v1/conversations", "/api/v1/conversations?kind=direct"):
        separator = "&" if "?" in path else "?"
        refused = await stage.call("GET", f"{path}{separator}cursor={cursor}", key=ann.token)
        assert (refused.status, refused.code) == (400, "invalid_cursor")


async def test_who_may_not_see_a_conversation_is_told_so_before_their_cursor_is_read(stage: Stage) -> None:
    ann, _, where, _ = await a_chat(stage, 3)
    eve = await person(stage, "Eve")
    cursor = (await history(stage, ann, where, limit=1))["next_cursor"]
    for given in (cursor, "garbage"):
        assert (await history(stage, eve, where, expect=404, cursor=given))["code"] == "not_found"


async def test_what_is_said_between_two_pages_shifts_nothing(stage: Stage) -> None:
    ann, bob, where, _ = await a_chat(stage, 9)
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await history(stage, bob, where, 200, limit=2, **cursor)
        seen += texts(page)
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
        await posted_id(stage, ann, where, "new")
    assert seen == [f"{n}" for n in range(8, -1, -1)]


@ON_SQLITE
@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "1e3", ""])
async def test_a_limit_out_of_bounds_is_refused(stage: Stage, limit: str) -> None:
    ann, _, where, _ = await a_chat(stage, 1)
    assert (await history(stage, ann, where, expect=400, limit=limit))["code"] == "invalid_parameter"


@ON_SQLITE
async def test_a_customers_history_has_the_same_pages(stage: Stage) -> None:
    ann = await person(stage)
    (where,) = {await customer(stage, f"wamid.{n}", f"{n}") for n in range(3)}
    page = await history(stage, ann, where, limit=2)
    assert (texts(page), page["has_more"]) == (["2", "1"], True)
    assert texts(await history(stage, ann, where, cursor=page["next_cursor"])) == ["0"]
    key_page = await history(stage, stage.acme.key, where, limit=2)
    assert (await history(stage, ann, where, expect=400, cursor=key_page["next_cursor"]))["code"] == "invalid_cursor"


async def test_the_list_of_conversations_goes_on_by_cursor_and_by_latest_activity(stage: Stage) -> None:
    ann, *others = await people(stage, 6)
    chats = [await chat(stage, ann, [other], "direct") for other in others]
    for where in chats:
        stage.manual.advance(seconds(1))
        await posted_id(stage, ann, where, "hello")
    stage.manual.advance(seconds(1))
    chats.append(await customer(stage))
    stage.manual.advance(seconds(1))
    await posted_id(stage, ann, chats[0], "again")
    expected = [chats[0], *reversed(chats[1:])]
    found, cursor = [], ""
    while True:
        page = await stage.get(f"/api/v1/conversations?limit=2{cursor}", ann.token)
        found += [each["conversation_id"] for each in page["conversations"]]
        if not page["has_more"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == expected
