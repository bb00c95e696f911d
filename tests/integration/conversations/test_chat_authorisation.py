"""Every route and frame of the chat API, asked by those who have no part in a conversation: no more than that there is
nothing, and the same words for what is not theirs as for what does not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import pytest

from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from tests.integration.stage.live_devices import (
    Device,
    Person,
    chat,
    customer,
    history,
    house,
    key,
    members,
    people,
    person,
    posted_id,
    say,
    sync,
)
from waypost.http.app import api
from waypost.http.live import frames
from waypost.http.openapi import completed
from waypost.model.conversation import ConversationId, Position
from waypost.model.time import Instant
from waypost.rules.conversations.entry_ids import EntryId, made

pytestmark = pytest.mark.anyio

DOCUMENT = completed(api().openapi_schema.to_schema())  # type: ignore[attr-defined]  # Litestar's own, behind ASGIApp
OURS = ("Conversations", "Live")
ROUTES = {
    (method, path)
    for path, item in DOCUMENT["paths"].items()
    for method, route in item.items()
    if set(route["tags"]) & set(OURS)
}

OF_A_CONVERSATION: dict[tuple[str, str], Any] = {
    ("get", "/api/v1/conversations/{conversation_id}"): None,
    ("patch", "/api/v1/conversations/{conversation_id}"): {"title": "ours now"},
    ("get", "/api/v1/conversations/{conversation_id}/messages"): None,
    ("post", "/api/v1/conversations/{conversation_id}/members"): {"add": ["{me}"]},
    ("post", "/api/v1/conversations/{conversation_id}/notes"): {"text": "I was here"},
    ("post", "/api/v1/conversations/{conversation_id}/read"): {"message_id": "{message_id}"},
    ("post", "/api/v1/conversations/{conversation_id}/floor"): {"holder": "bot"},
    ("post", "/api/v1/turns/{conversation_id}/{position}/replay"): None,
    ("post", "/api/v1/messages"): {
        "client_message_id": "mine",
        "conversation_id": "{conversation_id}",
        "content": {"type": "text", "text": "let me in"},
    },
    ("delete", "/api/v1/messages/{message_id}"): None,
    ("get", "/api/v1/search"): None,
}
"""Each names a conversation, or a message of one."""
OF_ONESELF: dict[tuple[str, str], str] = {
    ("get", "/api/v1/conversations"): "",
    ("post", "/api/v1/conversations"): "",
    ("get", "/api/v1/turns"): "",
    ("get", "/api/v1/team"): "",
    ("get", "/api/v1/sync"): "?device_id=d&wait=0",
    ("get", "/api/v1/devices"): "",
    ("delete", "/api/v1/devices/{device_id}"): "",
    ("get", "/api/v1/presence"): "?user_id={me}",
    ("get", "/api/v1/search"): "?q=between",
    ("get", "/api/v1/push-key"): "",
    ("post", "/api/v1/devices/{device_id}/push"): "",
    ("delete", "/api/v1/devices/{device_id}/push"): "",
}
"""None names what somebody else has."""
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/api/v1/conversations"): {"kind": "group", "members": []},
    ("post", "/api/v1/devices/{device_id}/push"): {
        "endpoint": "https://push.example.org/1",
        "keys": {"p256dh": "x", "auth": "y"},
    },
}
QUERIES = {("get", "/api/v1/search"): "?q=between&conversation_id={conversation_id}"}
ONLY_FOR_PEOPLE = {
    ("post", "/api/v1/conversations/{conversation_id}/read"),
    ("post", "/api/v1/conversations"),
    ("get", "/api/v1/sync"),
    ("get", "/api/v1/devices"),
    ("delete", "/api/v1/devices/{device_id}"),
    ("post", "/api/v1/devices/{device_id}/push"),
    ("delete", "/api/v1/devices/{device_id}/push"),
}
NAMES = ("get", "/api/v1/team")
"""Colleagues know each other's."""
FRAMES: dict[str, dict[str, Any] | None] = {
    "hello": None,
    "ping": None,
    "ack": None,
    "send": {
        "client_message_id": "mine",
        "conversation_id": "{conversation_id}",
        "content": {"type": "text", "text": "let me in"},
    },
    "read": {"conversation_id": "{conversation_id}", "message_id": "{message_id}"},
    "typing": {"conversation_id": "{conversation_id}"},
}
"""None: it names no conversation."""


def test_every_route_and_frame_of_the_chat_api_is_in_the_tables() -> None:
    assert set(OF_A_CONVERSATION) | set(OF_ONESELF) == ROUTES
    assert set(FRAMES) == {frame.__struct_config__.tag for frame in get_args(frames.FromClient)}


@dataclass
class Place:
    conversation_id: str
    message_id: str
    position: str = "1"


NOWHERE = Place(
    "99999", made(EntryId(conversation_id=ConversationId(99999), position=Position(1), id_at=Instant(10**15)))
)


@dataclass
class Town:
    """Two people with a group and a chat, a customer, and those who have no part in them."""

    ann: Person
    bob: Person
    callers: dict[str, str]
    """Who asks, by what they show."""
    people: dict[str, Person]
    group: Place
    direct: Place
    customer: Place


async def a_town(stage: Stage) -> Town:
    ann, bob, eve, sam = await people(stage, 4)
    zed = await person(stage, "Zed", "admin", key=stage.globex.key)
    boss = await person(stage, "Boss", "admin")
    group = await chat(stage, ann, [bob, eve])
    direct = await chat(stage, ann, [bob], "direct")
    first = {where: await posted_id(stage, ann, where, "between us") for where in (group, direct)}
    await members(stage, ann, group, remove=[eve])
    talk = await customer(stage)
    spoken = (await history(stage, ann, talk))["messages"][0]["message_id"]
    strangers = {"a stranger": sam, "an ex-member": eve, "an admin": boss, "another org's admin": zed}
    keys = {role: await key(stage, role) for role in ("admin", "sender", "readonly")}
    return Town(
        ann,
        bob,
        {name: who.token for name, who in strangers.items()}
        | {f"a key of role {role}": secret for role, secret in keys.items()}
        | {"another org's key": stage.globex.key, "nobody": ""},
        strangers,
        Place(group, first[group]),
        Place(direct, first[direct]),
        Place(talk, spoken),
    )


def filled(template: Any, place: Place, me: str = "user_me") -> Any:
    text = msgspec.json.encode(template).decode()
    for name, value in {**vars(place), "me": me, "device_id": "d"}.items():
        text = text.replace(f"{{{name}}}", value)
    return msgspec.json.decode(text)


async def ask(stage: Stage, route: tuple[str, str], place: Place, secret: str) -> Answer:
    path, body = route[1] + QUERIES.get(route, ""), OF_A_CONVERSATION[route]
    return await stage.call(route[0].upper(), filled(path, place), filled(body, place) if body else None, key=secret)


def expected(route: tuple[str, str], who: str) -> tuple[int, str]:
    if who == "nobody":
        return 401, "not_authenticated"
    if who == "a key of role readonly" and route[0] != "get":
        return 403, "wrong_role"
    if "key" in who and route in ONLY_FOR_PEOPLE:
        return 403, "wrong_role"
    return 404, "not_found"


@pytest.mark.parametrize("what", ["group", "direct"])
async def test_what_people_say_among_themselves_does_not_exist_for_anybody_else(stage: Stage, what: str) -> None:
    town = await a_town(stage)
    place: Place = getattr(town, what)
    before = await _state(stage, town)
    for route in OF_A_CONVERSATION:
        for who, secret in town.callers.items():
            if what == "direct" and who == "an ex-member":
                continue
            theirs, none = [await ask(stage, route, where, secret) for where in (place, NOWHERE)]
            assert (theirs.status, theirs.code) == expected(route, who), (route, who, theirs)
            assert theirs.body == none.body, (route, who)
    assert await _state(stage, town) == before


async def test_another_orgs_customer_does_not_exist(stage: Stage) -> None:
    town = await a_town(stage)
    before = await _state(stage, town)
    for route in OF_A_CONVERSATION:
        for who in ("another org's admin", "another org's key", "nobody"):
            theirs, none = [await ask(stage, route, where, town.callers[who]) for where in (town.customer, NOWHERE)]
            assert (theirs.status, theirs.code) == expected(route, who), (route, who, theirs)
            assert theirs.body == none.body, (route, who)
    assert await _state(stage, town) == before


@ON_SQLITE
async def test_what_is_ones_own_needs_a_key_and_where_it_is_a_persons_a_person(stage: Stage) -> None:
    town = await a_town(stage)
    for route, query in OF_ONESELF.items():
        for who, secret in town.callers.items():
            me = town.people[who].user_id if who in town.people else town.ann.user_id
            path = filled(route[1] + query, NOWHERE, me)
            answer = await stage.call(route[0].upper(), path, BODIES.get(route), key=secret)
            if who == "nobody" or ("key" in who and route in ONLY_FOR_PEOPLE):
                assert (answer.status, answer.code) == expected(route, who), (route, who, answer)
            else:
                assert answer.status in (200, 201, 204, 404, 409), (route, who, answer)
            assert "between us" not in answer.body.decode()
            if route != NAMES:
                assert town.bob.user_id not in answer.body.decode()


async def test_frames_tell_no_more_of_others_conversations_than_of_none(stage: Stage) -> None:
    town = await a_town(stage)
    before = await _state(stage, town)
    async with house(stage) as here:
        for who, somebody in town.people.items():
            phone = Device(somebody)
            await phone.live(here)
            for place in (town.group, town.direct, *([town.customer] if "another" in who else [])):
                for type_, fields in FRAMES.items():
                    if fields is not None:
                        told = [await _refused(phone, type_, filled(fields, where)) for where in (place, NOWHERE)]
                        assert told[0] == told[1], (who, type_)
                        assert told[0]["code"] == "not_found"
                        assert told[0]["retryable"] is False
            await phone.say("ack", feed=town.ann.feed, seq=1)
            assert town.ann.feed not in await phone.settled()
            assert phone.texts() == []
            await phone.leave()
    assert await _state(stage, town) == before


async def _refused(phone: Device, type_: str, fields: dict[str, Any]) -> dict[str, Any]:
    await phone.say(type_, **fields)
    return await phone.until("error")


@pytest.mark.parametrize("what", ["used before", "content that is none", "an id that is none"])
async def test_no_other_refusal_comes_before_that_there_is_nothing(stage: Stage, what: str) -> None:
    """Otherwise the kind of refusal would reveal that it exists."""
    town = await a_town(stage)
    sam = town.people["a stranger"]
    own = await chat(stage, sam, [])
    assert (await say(stage, sam, own, "mine", name="used")).status == 201
    content: Any = {"type": "image"} if what == "content that is none" else "other words"
    name = {"used before": "used", "an id that is none": "\n"}.get(what, "fresh")
    answers = [await say(stage, sam, place.conversation_id, content, name) for place in (town.group, NOWHERE)]
    assert answers[0].body == answers[1].body
    assert answers[0].status == (422 if what == "an id that is none" else 404)


async def test_who_was_removed_may_ask_again_for_what_they_had_said_before(stage: Stage) -> None:
    """The answer was lost on the way: the repeated one is the same, and reveals nothing new."""
    ann, eve = await people(stage, 2)
    group = await chat(stage, ann, [eve])
    first = await say(stage, eve, group, "bye", name="1")
    await members(stage, ann, group, remove=[eve])
    again = await say(stage, eve, group, "bye", name="1")
    assert (again.status, again.json["message_id"]) == (200, first.json["message_id"])
    assert (await say(stage, eve, group, "no", name="1")).status == 404


async def test_only_who_wrote_a_message_takes_it_back_or_an_admin_a_customers(stage: Stage) -> None:
    town = await a_town(stage)
    boss = town.people["an admin"]
    note = (
        await stage.call(
            "POST", f"/api/v1/conversations/{town.customer.conversation_id}/notes", {"text": "hm"}, key=town.ann.token
        )
    ).json
    tried = [
        (town.bob, town.group.message_id, 403),
        (town.bob, note["message_id"], 403),
        (town.bob, town.customer.message_id, 403),
        (boss, town.group.message_id, 404),
        (boss, note["message_id"], 204),
        (boss, town.customer.message_id, 204),
        (town.ann, town.group.message_id, 204),
        (town.ann, town.group.message_id, 204),
    ]
    for who, message, status in tried:
        answer = await stage.call("DELETE", f"/api/v1/messages/{message}", key=who.token)
        assert answer.status == status, (who, message, answer)


async def _state(stage: Stage, town: Town) -> Any:
    """Everything that Ann could see of it, and the heads of the feeds."""
    told = await sync(stage, town.ann, "watch")
    seen = [await history(stage, town.ann, place.conversation_id) for place in (town.group, town.direct, town.customer)]
    listed = await stage.get("/api/v1/conversations", town.ann.token)
    return told["heads"], seen, listed
