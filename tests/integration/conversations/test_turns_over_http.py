"""Turns and conversations as users see and handle them over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.thinking import PatientBot, wrote
from tests.integration.stage.webhooks import PHONE
from waypost.model.time import seconds
from waypost.ports.conversations.bot import BotFailed
from waypost.ports.platform import hints
from waypost.rules.conversations import entry_ids

TURNS, TALKS = "/api/v1/turns", "/api/v1/conversations"


async def pass_quiet(stage: Stage) -> None:
    stage.manual.advance(seconds(3))
    stage.hints.give([hints.TURNS])


async def the_turn(stage: Stage, **wanted: Any) -> dict[str, Any]:
    """The one open turn, once it looks like this; `...` is anything but null."""

    async def look() -> dict[str, Any] | None:
        turns: list[dict[str, Any]] = (await stage.get(TURNS))["turns"]
        fits = [t for t in turns if all(t[n] is not None if v is ... else t[n] == v for n, v in wanted.items())]
        return fits[0] if fits else None

    found = await stage.eventually(look)
    assert found
    return found


async def no_turn(stage: Stage) -> bool:
    return not (await stage.get(f"{TURNS}?state=open"))["turns"]


async def conversation_messages(stage: Stage, conversation: str = "1") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await stage.get(f"{TALKS}/{conversation}/messages"))["messages"]
    return found


async def answered(stage: Stage, *words: str) -> list[dict[str, Any]]:
    """The conversation, once the bot's latest words reached the phone."""

    async def look() -> list[dict[str, Any]] | None:
        found = await conversation_messages(stage)
        ours = [each for each in found if each["sender_id"] == "bot"]
        there = [each["content"].get("text") for each in ours if each["status"] == "delivered"]
        return found if set(words) <= set(there) else None

    found = await stage.eventually(look)
    assert found
    return found


async def test_a_turn_is_seen_from_its_first_message_to_its_answer(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    begun = stage.moment(seconds(0))
    await wrote(stage, "one", "two")
    waiting = await the_turn(stage, owner=None)
    assert waiting == {
        "conversation_id": "1",
        "contact": waiting["contact"],
        "owner": None,
        "since": begun,
        "fence": 0,
        "due": stage.moment(seconds(3)),
        "lease": None,
        "waiting": 2,
        "attempts": 0,
        "floor": "bot",
    }
    assert waiting["contact"]["phone"] == PHONE
    await pass_quiet(stage)
    held = await the_turn(stage, owner=...)
    assert (held["fence"], held["waiting"], held["since"]) == (1, 2, stage.moment(seconds(0)))
    assert held["lease"] == stage.moment(seconds(6))
    assert await stage.metric("turns_active") == 1
    await wrote(stage, "three")
    bot.says("both")
    await answered(stage, "both")
    await pass_quiet(stage)
    bot.says("and that")
    newest = await answered(stage, "both", "and that")
    assert [each["content"]["text"] for each in newest] == ["and that", "both", "three", "two", "one"]
    assert await no_turn(stage)
    assert [line.text for turn in bot.asked for line in turn.messages] == ["one", "two", "three"]
    assert await stage.metric("inbound_message_total") == 3
    assert await stage.metric("turn_buffered_total") == 1
    assert await stage.metric('turn_total{state="answered"}') == 2
    assert await stage.metric("turn_wait_seconds_count") == 2
    assert await stage.metric("turn_think_seconds_count") == 2
    assert await stage.metric("turns_active") == 0


async def test_messages_are_read_in_pages_and_their_ids_sort_by_time(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await wrote(stage, "one", "two", "three")
    await pass_quiet(stage)
    bot.says(["first", "second"])
    newest = await answered(stage, "first", "second")
    assert [each["position"] for each in newest] == [5, 4, 3, 2, 1]
    first = newest[-1]
    assert first == {
        "message_id": first["message_id"],
        "conversation_id": "1",
        "position": 1,
        "sender_id": "contact:1",
        "client_message_id": None,
        "content": {"type": "text", "text": "one"},
        "timestamp": first["timestamp"],
        "status": None,
        "error": None,
        "outbound_id": None,
        "provider_message_id": "wamid.one",
        "media": None,
    }
    ids = [entry_ids.read(each["message_id"]) for each in newest]
    assert [(found.conversation_id, found.position) for found in ids if found] == [(1, n) for n in (5, 4, 3, 2, 1)]
    times = [found.id_at for found in ids if found]
    assert times == sorted(set(times))[::-1]
    page = await stage.get(f"{TALKS}/1/messages?limit=2")
    assert ([each["position"] for each in page["messages"]], page["has_more"]) == ([5, 4], True)
    page = await stage.get(f"{TALKS}/1/messages?limit=3&cursor={page['next_cursor']}")
    assert ([each["position"] for each in page["messages"]], page["has_more"]) == ([3, 2, 1], False)
    assert (await stage.call("GET", f"{TALKS}/1/messages?limit=201")).status == 400
    await stage.reads()

    async def read() -> bool:
        return bool((await conversation_messages(stage))[0]["status"] == "read")

    assert await stage.eventually(read)


@ON_SQLITE
async def test_a_conversation_is_found_by_the_phone_in_any_spelling(talking: Stage) -> None:
    stage = talking
    await wrote(stage, "hello")
    (found,) = (await stage.get(f"{TALKS}?phone=%2B16505551234"))["conversations"]
    assert (found["conversation_id"], found["kind"], found["floor"]) == ("1", "customer", "bot")
    for phone in ("16505551234", "%2B1%20(650)%20555-1234"):
        assert (await stage.get(f"{TALKS}?phone={phone}"))["conversations"] == [found]
    assert found["contact"] == {
        "contact_id": "1",
        "name": None,
        "username": None,
        "phone": PHONE,
        "user_id": None,
        "dossier_id": 1,
    }
    assert found["phone_number_id"] == "1001"
    assert found["last_message"]["content"] == {"type": "text", "text": "hello"}
    assert await stage.get(f"{TALKS}/1") == found
    assert (await stage.get(f"{TALKS}?phone=%2B16505559999"))["conversations"] == []
    for query in ("?phone=12", "?phone=abc", f"?phone={PHONE}&user_id=US.1"):
        answer = await stage.call("GET", f"{TALKS}{query}")
        assert (answer.status, answer.code) == (400, "invalid_parameter"), query


@ON_SQLITE
async def test_who_keeps_the_phone_number_back_is_found_by_the_user_id(talking: Stage) -> None:
    stage = talking
    nameless: dict[str, Any] = {"from": None, "from_user_id": "US.13491208655302741918"}
    await wrote(stage, "hello", **nameless)
    (found,) = (await stage.get(f"{TALKS}?user_id=US.13491208655302741918"))["conversations"]
    assert (found["contact"]["phone"], found["contact"]["user_id"]) == (None, "US.13491208655302741918")
    for nobody in ("US.1", "nobody"):
        assert (await stage.get(f"{TALKS}?user_id={nobody}"))["conversations"] == []


async def a_person(stage: Stage, role: str = "agent") -> tuple[str, str]:
    """Their id and token."""
    made = (await stage.call("POST", "/api/v1/users", {"name": "Bea", "role": role})).json
    return made["user_id"], made["token"]


async def test_a_person_takes_over_and_the_bots_late_answer_is_held_back(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    person, token = await a_person(stage)
    await wrote(stage, "help")
    await pass_quiet(stage)
    await the_turn(stage, owner=...)
    taken = await stage.call("POST", f"{TALKS}/1/floor", {"holder": "me"}, key=token)
    assert (taken.status, taken.json["floor"]) == (200, person)
    assert await no_turn(stage)
    bot.says("too late")

    async def forgotten() -> bool:
        return await stage.metric("turns_active") == 0

    assert await stage.eventually(forgotten)
    await wrote(stage, "are you there")
    assert [each["sender_id"] for each in await conversation_messages(stage)] == ["contact:1", "contact:1"]
    assert stage.calls() == []
    back = await stage.call("POST", f"{TALKS}/1/floor", {"holder": "bot"}, key=token)
    assert (back.status, back.json["floor"]) == (200, "bot")
    bot.says("here I am")
    await answered(stage, "here I am")
    assert [line.text for line in bot.asked[-1].messages] == ["help", "are you there"]
    trail = (await stage.get("/api/v1/outbound/audit?entityType=CONVERSATION&entityId=1"))["content"]
    assert [(each["action"], each["actor"], each["details"]) for each in trail] == [
        ("FLOOR_CHANGED", person, f"from {person} to bot"),
        ("FLOOR_CHANGED", person, f"from bot to {person}"),
    ]


async def test_what_the_bot_said_and_was_not_sent_is_cancelled(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await stage.call("PATCH", "/api/v1/numbers/1001", {"enabled": False})
    await wrote(stage, "help")
    await pass_quiet(stage)
    bot.says("let me see")
    reply = await stage.becomes_first("QUEUED")
    taken = await stage.call("POST", f"{TALKS}/1/floor", {"holder": "human"})
    assert (taken.status, taken.json["floor"]) == (200, "human")
    await stage.becomes(reply["id"], "CANCELLED")
    assert (await conversation_messages(stage))[0]["status"] == "failed"


@ON_SQLITE
async def test_who_may_give_the_floor_to_whom(talking: Stage) -> None:
    stage = talking
    person, token = await a_person(stage)
    _, admin = await a_person(stage, "admin")
    readonly = (await stage.call("POST", "/api/v1/keys", {"role": "readonly", "label": "r"})).json["key"]
    await wrote(stage, "help")
    refused = [
        ("me", stage.acme.key, 422, "not_a_person"),
        ("user_nobody", stage.acme.key, 422, "unknown_user"),
        ("human", token, 403, "wrong_role"),
        ("user_other", token, 403, "wrong_role"),
        ("bot", readonly, 403, "wrong_role"),
        ("human", stage.globex.key, 404, "not_found"),
        ("", stage.acme.key, 422, "invalid_payload"),
    ]
    for holder, key, status, code in refused:
        answer = await stage.call("POST", f"{TALKS}/1/floor", {"holder": holder}, key=key)
        assert (answer.status, answer.code) == (status, code), holder
    for holder, key in ((person, stage.acme.key), ("human", admin), (person, token), ("bot", token)):
        answer = await stage.call("POST", f"{TALKS}/1/floor", {"holder": holder}, key=key)
        assert (answer.status, answer.json["floor"]) == (200, holder)


async def test_a_turn_that_was_given_up_is_listed_and_answered_after_all(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await wrote(stage, "one", "two")
    await pass_quiet(stage)
    bot.says(BotFailed("the model is away", hopeless=True))

    async def dead() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await stage.get(f"{TURNS}?state=failed"))["failed"]
        return found

    (failed,) = await stage.eventually(dead)
    assert (failed["conversation_id"], failed["position"], failed["attempts"]) == ("1", 2, 1)
    assert (failed["error"], failed["contact"]["phone"]) == ("the model is away", PHONE)
    assert (await stage.get(f"{TALKS}/1"))["floor"] == "human"
    assert await stage.metric('turn_total{state="failed"}') == 1
    assert await stage.metric("turn_failure_total") == 1
    replayed = await stage.call("POST", f"{TURNS}/1/2/replay")
    assert (replayed.status, replayed.json["floor"]) == (200, "bot")
    assert await dead() == []
    again = await stage.call("POST", f"{TURNS}/1/2/replay")
    assert (again.status, again.code) == (409, "not_replayable")
    bot.says("better late")
    await answered(stage, "better late")
    assert [[line.text for line in turn.messages] for turn in bot.asked] == [["one", "two"]] * 2
    again = await stage.call("POST", f"{TURNS}/1/2/replay")
    assert (again.status, again.code) == (409, "not_replayable")


async def test_what_was_answered_since_is_not_replayed(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await stage.call("PATCH", "/api/v1/policy", {"turns": {"afterFailure": "bot"}})
    await wrote(stage, "one")
    await pass_quiet(stage)
    bot.says(BotFailed("the model is away", hopeless=True))

    async def dead() -> bool:
        return bool((await stage.get(TURNS))["failed"])

    await stage.eventually(dead)
    await wrote(stage, "two")
    await pass_quiet(stage)
    bot.says("two it is")
    await answered(stage, "two it is")
    answer = await stage.call("POST", f"{TURNS}/1/1/replay")
    assert (answer.status, answer.code) == (409, "not_replayable")


@ON_SQLITE
@pytest.mark.parametrize("wrong", ["0", "01", "+1", "-1", "1.0", "x", "%00", "9" * 19, "9" * 40, "%D9%A1"])
async def test_an_id_that_nobody_was_given_is_not_found(stage: Stage, wrong: str) -> None:
    for method, path in (
        ("GET", f"{TALKS}/{wrong}"),
        ("GET", f"{TALKS}/{wrong}/messages"),
        ("POST", f"{TURNS}/{wrong}/1/replay"),
        ("POST", f"{TURNS}/1/{wrong}/replay"),
    ):
        answer = await stage.call(method, path)
        assert (answer.status, answer.code) == (404, "not_found"), path


async def test_another_orgs_conversations_do_not_exist(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await wrote(stage, "one")
    await pass_quiet(stage)
    await the_turn(stage, owner=...)
    key = stage.globex.key
    assert await stage.get(TURNS, key) == {"turns": [], "failed": []}
    assert (await stage.get(f"{TALKS}?phone=16505551234", key))["conversations"] == []
    for path in (f"{TALKS}/1", f"{TALKS}/1/messages"):
        assert (await stage.call("GET", path, key=key)).status == 404
    bot.says(BotFailed("no", hopeless=True))

    async def dead() -> bool:
        return bool((await stage.get(TURNS))["failed"])

    await stage.eventually(dead)
    assert (await stage.call("POST", f"{TURNS}/1/1/replay", key=key)).status == 404
    for path in (TURNS, f"{TALKS}/1", f"{TALKS}/1/messages"):
        assert (await stage.call("GET", path, key="")).status == 401


async def test_the_life_of_a_reply_names_the_turn_that_it_answers(talking: Stage, bot: PatientBot) -> None:
    stage = talking
    await wrote(stage, "one", "two")
    await pass_quiet(stage)
    await the_turn(stage, owner=...)
    stage.manual.advance(seconds(2))
    bot.says("both")
    await answered(stage, "both")
    (reply,) = await stage.get(MESSAGES)
    told = await stage.get(f"{MESSAGES}/{reply['id']}/timeline")
    assert told["why"].endswith(". It answers turn 1-0-2")
    assert [event["kind"] for event in told["events"]][:2] == ["turn", "submitted"]
    assert told["events"][0]["detail"] == (
        "the bot took turn 1-0-2, a burst of 2 messages, attempt 1; answered after 2 s"
    )
