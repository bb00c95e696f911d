"""The team's work on customer conversations: assigned, closed, reopened, labelled, annotated, read; all of it live."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conversations.test_bot_context import claimed, shown, text, wrote
from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from tests.integration.stage.live_devices import Device, Person, chat, customer, history, house, people, posted_id, say
from waypost.model.time import seconds

pytestmark = pytest.mark.anyio
CONVERSATIONS = "/api/v1/conversations"


async def change(stage: Stage, by: Person, where: str, **changed: Any) -> Answer:
    return await stage.call("PATCH", f"{CONVERSATIONS}/{where}", changed, key=by.token)


async def seen(stage: Stage, by: Person, where: str) -> dict[str, Any]:
    found: dict[str, Any] = await stage.get(f"{CONVERSATIONS}/{where}", by.token)
    return found


async def listed(stage: Stage, by: Person, query: str) -> list[str]:
    page = await stage.get(f"{CONVERSATIONS}?{query}", by.token)
    return [each["conversation_id"] for each in page["conversations"]]


async def test_who_works_on_a_customer_is_seen_by_the_whole_team(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        answer = await change(stage, ann, where, assignee=bob.user_id, labels=["vip", "late", "vip"])
        assert (answer.status, answer.json["assignee"], answer.json["labels"]) == (200, bob.user_id, ["vip", "late"])
        item = await phone.item("assigned", conversation_id=where)
        assert item["feed"] == f"team:{stage.acme.org}"
        assert (item["assignee"], item["labels"], item["state"]) == (bob.user_id, ["vip", "late"], "open")
        assert await listed(stage, ann, f"assignee={bob.user_id}") == [where]
        assert (await change(stage, ann, where, assignee=None)).json["assignee"] is None
        assert (await phone.item("assigned"))["assignee"] is None
        assert await listed(stage, ann, f"assignee={bob.user_id}") == []
        await change(stage, ann, where, assignee=None)
        await change(stage, ann, where, state="open")
        heads = await phone.settled()
        assert heads == phone.cursors, "what changes nothing is not told"


async def test_a_closed_conversation_is_opened_again_by_the_customers_next_message(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage, "wamid.1")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        assert (await change(stage, ann, where, state="closed")).json["state"] == "closed"
        assert (await phone.item("assigned"))["state"] == "closed"
        assert await listed(stage, ann, "state=closed") == [where]
        assert (await say(stage, ann, where, "bye")).status == 201
        assert (await seen(stage, ann, where))["state"] == "closed", "what we say does not open it"
        await customer(stage, "wamid.2", "one more thing")
        await phone.hears("one more thing")
        assert (await seen(stage, ann, where))["state"] == "open"
        assert await listed(stage, ann, "state=closed") == []
        assert phone.items_of("assigned")[1:] or await phone.item("assigned", state="open")


@ON_SQLITE
async def test_what_cannot_be_changed_is_refused_by_its_field(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    talk, group, direct = await customer(stage), await chat(stage, ann, [bob]), await chat(stage, ann, [bob], "direct")
    refused: list[tuple[str, dict[str, Any], int, str]] = [
        (talk, {"assignee": "nobody"}, 422, "unknown_user"),
        (talk, {"title": "VIP"}, 422, "invalid_payload"),
        (talk, {"state": "gone"}, 422, "invalid_payload"),
        (talk, {"labels": [""]}, 422, "invalid_payload"),
        (talk, {"labels": ["x"] * 51}, 422, "invalid_payload"),
        (group, {"assignee": ann.user_id}, 422, "invalid_payload"),
        (group, {"state": "closed"}, 422, "invalid_payload"),
        (group, {"labels": []}, 422, "invalid_payload"),
        (direct, {"title": "us"}, 422, "not_a_group"),
    ]
    for where, changed, status, code in refused:
        answer = await change(stage, ann, where, **changed)
        assert (answer.status, answer.code) == (status, code), (changed, answer)
    assert (await change(stage, ann, group, title="us")).json["title"] == "us"


async def test_a_note_is_seen_by_the_team_and_goes_nowhere_else(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        note = await stage.call("POST", f"{CONVERSATIONS}/{where}/notes", {"text": "is angry"}, key=ann.token)
        assert note.status == 201
        message = (await phone.hears("is angry"))["message"]
        assert (message["content"]["type"], message["sender_id"]) == ("note", ann.user_id)
        assert message["message_id"] == note.json["message_id"]
        assert (await seen(stage, bob, where))["unread"] == 1, "only what the customer said counts"
        assert (await history(stage, bob, where))["messages"][0]["content"] == {"type": "note", "text": "is angry"}
        assert (await say(stage, ann, where, "hello")).status == 201
        await phone.item("status", status="delivered")
        assert [call["text"]["body"] for call in stage.calls()] == ["hello"]
    for content in ("", "  "):
        refused = await stage.call("POST", f"{CONVERSATIONS}/{where}/notes", {"text": content}, key=ann.token)
        assert (refused.status, refused.code) == (422, "invalid_payload")
    group = await chat(stage, ann, [bob])
    nowhere = await stage.call("POST", f"{CONVERSATIONS}/{group}/notes", {"text": "psst"}, key=ann.token)
    assert nowhere.status == 404, "a note is for a customer's conversation"


async def test_a_bot_is_told_neither_of_notes_nor_of_what_was_taken_back(stage: Stage) -> None:
    ann, _ = await people(stage, 2)
    await wrote(stage, ("w1", text("one")))
    await shown(stage, await claimed(stage))
    (where,) = await listed(stage, ann, "kind=customer")
    await stage.call("POST", f"{CONVERSATIONS}/{where}/notes", {"text": "before the burst"}, key=ann.token)
    await wrote(stage, ("w2", text("two")), ("w3", text("a secret")), after=100)
    await stage.call("POST", f"{CONVERSATIONS}/{where}/notes", {"text": "within the burst"}, key=ann.token)
    await wrote(stage, ("w4", text("four")), after=101)
    secret = next(m for m in (await history(stage, ann, where))["messages"] if m["content"].get("text") == "a secret")
    assert (await stage.call("DELETE", f"/api/v1/messages/{secret['message_id']}")).status == 204
    turn = await shown(stage, await claimed(stage, after=200))
    assert [line.text for line in turn.messages] == ["two", "four"]
    assert [line.text for line in turn.history] == ["one", "an answer"]


async def test_unread_counts_agree_on_all_devices_of_a_person_and_are_each_persons_own(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    ids = [await posted_id(stage, ann, where, f"{n}") for n in range(3)]
    assert ((await seen(stage, bob, where))["unread"], (await seen(stage, ann, where))["unread"]) == (3, 0)
    async with house(stage) as here:
        phone, laptop, other = Device(bob), Device(bob, "laptop"), Device(ann)
        for device in (phone, laptop, other):
            await device.live(here)
        await phone.say("read", conversation_id=where, message_id=ids[1])
        for device in (phone, laptop, other):
            item = await device.item("read", conversation_id=where)
            assert (item["user_id"], item["position"]) == (bob.user_id, 2)
        assert (await seen(stage, bob, where))["unread"] == 1
        back = await stage.call("POST", f"{CONVERSATIONS}/{where}/read", {"message_id": ids[0]}, key=bob.token)
        assert back.json["position"] == 2, "a marker only moves forwards"
        assert (await seen(stage, bob, where))["read_position"] == 2
        assert await laptop.settled() == laptop.cursors
    assert [m["status"] for m in (await history(stage, ann, where))["messages"]] == ["sent", "read", "read"]


@ON_SQLITE
async def test_reading_a_customers_words_is_told_to_ones_own_devices_only(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    message = (await history(stage, ann, where))["messages"][0]["message_id"]
    async with house(stage) as here:
        phone, other = Device(ann), Device(bob)
        await phone.live(here)
        await other.live(here)
        await stage.call("POST", f"{CONVERSATIONS}/{where}/read", {"message_id": message}, key=ann.token)
        await phone.item("read", feed=ann.feed)
        await other.settled()
        assert other.items == []
    assert ((await seen(stage, ann, where))["unread"], (await seen(stage, bob, where))["unread"]) == (0, 1)


@ON_SQLITE
async def test_a_marker_is_of_a_message_of_the_conversation(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    one, other = await chat(stage, ann, [bob]), await chat(stage, ann, [bob])
    message = await posted_id(stage, ann, other, "elsewhere")
    for given in (message, "nonsense", ""):
        answer = await stage.call("POST", f"{CONVERSATIONS}/{one}/read", {"message_id": given}, key=bob.token)
        assert (answer.status, answer.code) == (422, "invalid_payload")


async def test_what_is_taken_back_leaves_a_tombstone_everywhere(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    await posted_id(stage, ann, where, "stays")
    message = await posted_id(stage, ann, where, "a slip")
    async with house(stage) as here:
        phone, away = Device(bob), Device(bob, "away")
        await phone.live(here)
        await away.live(here)
        away.cut()
        late = await posted_id(stage, ann, where, "another slip")
        for each in (message, late):
            assert (await stage.call("DELETE", f"/api/v1/messages/{each}", key=ann.token)).status == 204
        gone = await phone.item("deleted")
        assert (gone["message_id"], gone["position"]) == (message, 2)
        await away.live(here)
        assert away.texts() == ["deleted"], "who was away never sees what it said"
        assert [item["message_id"] for item in away.items_of("deleted")] == [message, late]
    page = await history(stage, bob, where)
    assert [m["content"] for m in page["messages"]] == [{"type": "deleted"}] * 2 + [{"type": "text", "text": "stays"}]
    assert (await seen(stage, bob, where))["last_message"]["content"] == {"type": "deleted"}
    rows = await stage.database.run("SELECT body FROM entry")
    assert "slip" not in str(rows), "nothing of it is kept"


@ON_SQLITE
async def test_lists_show_what_is_asked_for_and_one_thing_at_a_time(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    talk, direct, group = await customer(stage), await chat(stage, ann, [bob], "direct"), await chat(stage, ann, [bob])
    assert set(await listed(stage, ann, "")) == {talk, direct, group}
    for kind, where in (("customer", talk), ("direct", direct), ("group", group)):
        assert await listed(stage, ann, f"kind={kind}") == [where]
    taken = await stage.call("POST", f"{CONVERSATIONS}/{talk}/floor", {"holder": "me"}, key=ann.token)
    assert taken.json["floor"] == ann.user_id
    assert await listed(stage, ann, f"floor={ann.user_id}") == [talk]
    assert await listed(stage, ann, f"floor={bob.user_id}") == []
    refused = await stage.call("GET", f"{CONVERSATIONS}?state=closed&assignee=x", key=ann.token)
    assert (refused.status, refused.code) == (400, "invalid_parameter")


@ON_SQLITE
async def test_a_filtered_list_goes_on_by_its_own_cursor_only(stage: Stage) -> None:
    ann, *others = await people(stage, 4)
    for other in others:
        stage.manual.advance(seconds(1))
        await chat(stage, ann, [other], "direct")
    page = await stage.get(f"{CONVERSATIONS}?kind=direct&limit=2", ann.token)
    assert (len(page["conversations"]), page["has_more"]) == (2, True)
    rest = await stage.get(f"{CONVERSATIONS}?kind=direct&limit=2&cursor={page['next_cursor']}", ann.token)
    assert (len(rest["conversations"]), rest["has_more"], rest["next_cursor"]) == (1, False, None)
    for query in ("limit=2", "kind=group", "state=closed"):
        answer = await stage.call("GET", f"{CONVERSATIONS}?{query}&cursor={page['next_cursor']}", key=ann.token)
        assert (answer.status, answer.code) == (400, "invalid_cursor")


async def test_whoever_a_removed_person_answered_waits_for_another(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    taken = await stage.call("POST", f"{CONVERSATIONS}/{where}/floor", {"holder": "me"}, key=bob.token)
    assert (taken.status, taken.json["floor"]) == (200, bob.user_id)
    assert (await stage.call("DELETE", f"/api/v1/users/{bob.user_id}")).status == 204
    assert (await seen(stage, ann, where))["floor"] == "human"
    assert await listed(stage, ann, "floor=human") == [where]
