"""/api/v1/quick-replies: the team's common answers, changed by any user, refused with a reason, audited."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from tests.integration.stage.live_devices import key, people
from waypost.rules.accounts.quick_replies import MOST

REPLIES = "/api/v1/quick-replies"


async def put(stage: Stage, name: str, text: Any, secret: str | None = None, **more: Any) -> Answer:
    return await stage.call("PUT", f"{REPLIES}/{quote(name, safe='')}", {"text": text} | more, key=secret)


async def remove(stage: Stage, name: str, secret: str | None = None) -> Answer:
    return await stage.call("DELETE", f"{REPLIES}/{quote(name, safe='')}", key=secret)


async def listed(stage: Stage, secret: str | None = None) -> list[tuple[str, str]]:
    answer = await stage.call("GET", REPLIES, key=secret)
    assert answer.status == 200
    return [(reply["name"], reply["text"]) for reply in answer.json["quick_replies"]]


async def trail(stage: Stage) -> list[tuple[str, str, str]]:
    found = (await stage.call("GET", "/api/v1/outbound/audit?entityType=QUICK_REPLY")).json["content"]
    return [(entry["action"], entry["entityId"], entry["actor"]) for entry in reversed(found)]


async def test_what_one_agent_writes_the_others_have(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    assert await listed(stage, bob.token) == []
    added = await put(stage, "Thanks", "Thank you {name}!", ann.token)
    assert (added.status, added.json["name"], added.json["updated_by"]) == (200, "Thanks", ann.user_id)
    assert (await put(stage, "👍 50%?#".replace(" ", "-"), "Sure", ann.token)).status == 200
    assert (await put(stage, "thanks", "Thanks a lot!", bob.token)).json["updated_by"] == bob.user_id
    assert await listed(stage, ann.token) == [("thanks", "Thanks a lot!"), ("👍-50%?#", "Sure")]
    assert (await remove(stage, "THANKS", ann.token)).status == 204
    assert (await remove(stage, "👍-50%?#", ann.token)).status == 204
    assert await listed(stage, bob.token) == []
    assert await trail(stage) == [
        ("QUICK_REPLY_ADDED", "Thanks", ann.user_id),
        ("QUICK_REPLY_ADDED", "👍-50%?#", ann.user_id),
        ("QUICK_REPLY_RENAMED", "thanks", bob.user_id),
        ("QUICK_REPLY_REMOVED", "thanks", ann.user_id),
        ("QUICK_REPLY_REMOVED", "👍-50%?#", ann.user_id),
    ]


async def test_the_same_text_again_changes_and_audits_nothing(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    first = await put(stage, "hello", "Hello!", ann.token)
    again = await put(stage, "hello", "Hello!", bob.token)
    assert again.json == first.json
    assert len(await trail(stage)) == 1


@pytest.mark.parametrize("new", ["grösse", "GRÖSSE", "maß"])
async def test_another_name_leaves_one_quick_reply_of_that_name(stage: Stage, new: str) -> None:
    await put(stage, "größe", "Which size?")
    for _ in range(2):
        renamed = await put(stage, new, "Which size?", replaces="größe")
        assert (renamed.status, renamed.json["name"]) == (200, new)
    assert await listed(stage) == [(new, "Which size?")]
    assert [action for action, *_ in await trail(stage)] == ["QUICK_REPLY_ADDED", "QUICK_REPLY_RENAMED"]


async def test_a_new_one_is_not_written_over_a_colleagues(stage: Stage) -> None:
    assert (await put(stage, "größe", "Which size?", replaces=None)).status == 200
    await put(stage, "hello", "Hello!")
    for replaces in (None, "hello"):
        taken = await put(stage, "grösse", "Other words", replaces=replaces)
        assert (taken.status, taken.code, taken.json["field"]) == (409, "quick_reply_taken", "name")
        assert taken.json["detail"] == "name: the quick reply größe has it: choose another name, or change that one"
    assert await listed(stage) == [("größe", "Which size?"), ("hello", "Hello!")]


@pytest.mark.parametrize("name", ["hello", "x" * 99, "two words", "a\0"])
@ON_SQLITE
async def test_what_is_gone_cannot_be_replaced(stage: Stage, name: str) -> None:
    gone = await put(stage, "hey", "Hi", replaces=name)
    assert (gone.status, gone.code, gone.json["field"]) == (409, "quick_reply_gone", "replaces")
    assert gone.json["detail"].endswith(f"no quick reply {name[:80]}: it was removed or renamed")
    assert (await put(stage, "hey", "Hi", replaces=7)).code == "invalid_payload"
    assert await listed(stage) == []


@ON_SQLITE
async def test_whoever_only_reads_reads_and_changes_nothing(stage: Stage) -> None:
    await put(stage, "hello", "Hello!")
    readonly = await key(stage, "readonly")
    assert await listed(stage, readonly) == [("hello", "Hello!")]
    for answer in (await put(stage, "hello", "Bye!", readonly), await remove(stage, "hello", readonly)):
        assert (answer.status, answer.code) == (403, "wrong_role")
    assert await listed(stage) == [("hello", "Hello!")]


@pytest.mark.parametrize(
    ("name", "text", "field", "why"),
    [
        ("x" * 41, "Hello", "name", "name: has 41 characters: write at most 40"),
        ("order status", "Hello", "name", "name: has white space: join its words with a dash, as in order-status"),
        ("a\0", "Hello", "name", "name: has an invisible character: use letters, digits and signs"),
        ("hello", "", "text", "text: is empty: write 1 to 4000 characters"),
        ("hello", " ", "text", "text: has only white space: write the text of the reply"),
        ("hello", "x" * 4001, "text", "text: has 4001 characters: write at most 4000"),
        ("hello", "a\0", "text", "text: has the character NUL, which cannot be stored: remove it"),
        ("hello", 7, "text", "text: Expected `str`, got `int`"),
    ],
)
@ON_SQLITE
async def test_what_cannot_be_taken_is_told_why(stage: Stage, name: str, text: Any, field: str, why: str) -> None:
    answer = await put(stage, name, text)
    assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", field)
    assert answer.json["detail"] == why
    assert await listed(stage) == []


@pytest.mark.parametrize("name", ["nothing", "x" * 41, "two words", "a\0"])
@ON_SQLITE
async def test_what_is_not_there_cannot_be_removed(stage: Stage, name: str) -> None:
    answer = await remove(stage, name)
    assert (answer.status, answer.code) == (404, "not_found")


async def test_the_last_place_is_given_once_and_a_full_org_is_told_what_to_do(stage: Stage) -> None:
    for n in range(MOST - 1):
        assert (await put(stage, f"r{n}", "Hello")).status == 200
    answers = await asyncio.gather(*(put(stage, name, "Hello") for name in "abc"))
    assert sorted(answer.status for answer in answers) == [200, 409, 409]
    (full, *_) = (answer for answer in answers if answer.status == 409)
    assert full.code == "too_many_quick_replies"
    assert full.json["detail"] == "this org has 200 quick replies, the maximum: remove one first"
    assert (await put(stage, "r0", "Other words")).status == 200
    assert (await put(stage, "hello", "Hello", replaces="r0")).status == 200
    assert (await put(stage, "r0", "Hello", replaces=None)).code == "too_many_quick_replies"
    assert len(await listed(stage)) == MOST
