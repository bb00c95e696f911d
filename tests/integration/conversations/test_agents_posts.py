"""An agent's message to a customer goes through the outbox, under all its rules, and its status is shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import Device, customer, history, house, key, people, person, say
from tests.integration.stage.webhooks import PHONE
from waypost.model.time import as_seconds, days, seconds

pytestmark = pytest.mark.anyio

DAY = seconds(25 * 3600)
TEMPLATE: dict[str, Any] = {"type": "template", "template": {"name": "hello_world", "language": "en_US"}}


async def statuses(device: Device, last: str) -> list[str]:
    """What comes of one message, up to this."""
    found: list[str] = []
    while not found or found[-1] != last:
        found.append((await device.item("status"))["status"])
    return found


async def test_an_agents_post_goes_out_and_its_statuses_come_to_the_team(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        posted = await say(stage, ann, where, "on its way")
        assert posted.status == 201
        item = await phone.hears("on its way")
        assert item["message"]["sender_id"] == ann.user_id
        assert "delivered" in await statuses(phone, "delivered")
        await stage.reads()
        assert (await statuses(phone, "read"))[-1] == "read"
        told = phone.items_of("status")
        assert {each["message_id"] for each in told} == {posted.json["message_id"]}
        assert [each["status"] for each in told] == sorted([each["status"] for each in told], key=CLIMBS.index)
    (call,) = stage.calls()
    assert (call["to"], call["text"]["body"]) == (PHONE, "on its way")
    assert (await history(stage, ann, where))["messages"][0]["status"] == "read"
    assert (await stage.get(f"/api/v1/conversations/{where}", ann.token))["last_message"]["status"] == "read"


CLIMBS = ["sent", "delivered", "read"]


@ON_SQLITE
async def test_one_that_failed_says_why_what_to_do_and_where_it_stands(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    await stage.fault(error_code=131026, times=1)
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        await say(stage, ann, where, "can you hear me?")
        told = await phone.item("status", status="failed")
        (said, *_) = (await history(stage, ann, where))["messages"]
        assert told["error"] == said["error"] != {}
        assert (said["error"]["code"], said["error"]["title"]) == ("131026", "Message undeliverable")
        assert "another way" in said["error"]["remedy"]
        seen = await stage.get(f"/api/v1/conversations/{where}", ann.token)
        assert seen["last_message"]["error"] == said["error"]
        retried = await stage.call("POST", f"/api/v1/outbound/messages/{said['outbound_id']}/retry", key=ann.token)
        assert retried.status == 200
        assert (await phone.item("status", status=None))["error"] is None
        sent = await phone.item("status", status="delivered")
    (said, asked) = (await history(stage, ann, where))["messages"]
    assert (said["error"], said["provider_message_id"]) == (None, sent["provider_message_id"])
    assert (asked["provider_message_id"], asked["outbound_id"]) == ("wamid.in", None)


async def test_a_file_that_an_agent_sent_can_be_seen_by_the_team(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await customer(stage)
    menu = stage.sandbox.media.store(stage.acme.number, b"%PDF the menu", "application/pdf", days(1))
    sent = {"id": menu.id, "filename": "menu.pdf", "caption": "see the menu"}
    assert (await say(stage, ann, where, {"type": "document", "document": sent})).status == 201

    async def stored() -> Any:
        (said, *_) = (await history(stage, bob, where))["messages"]
        return said["media"] if said["media"]["state"] == "stored" else None

    file = await stage.eventually(stored)
    assert (file["mime_type"], file["filename"], file["size"]) == ("application/pdf", "menu.pdf", 13)
    seen = await stage.call("GET", f"/api/v1/media/{file['id']}", key=bob.token)
    assert (seen.status, seen.body) == (200, b"%PDF the menu")


@ON_SQLITE
async def test_what_is_sent_by_link_is_nobodys_to_fetch(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    link = {"type": "image", "image": {"link": "https://example.com/cat.png"}}
    assert (await say(stage, ann, where, link)).status == 201
    assert (await history(stage, ann, where))["messages"][0]["media"] is None


@ON_SQLITE
async def test_colleagues_have_names_for_everybody_of_the_org(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    reader = await key(stage, "readonly")
    for asks in (ann.token, reader):
        found = (await stage.get("/api/v1/team", asks))["people"]
        assert {each["user_id"] for each in found} >= {ann.user_id, bob.user_id}
        assert {*found[0]} == {"user_id", "name", "role"}


@ON_SQLITE
async def test_the_same_post_by_socket_and_by_rest_goes_out_once(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        content = {"type": "text", "text": "once"}
        both = [say(stage, ann, where, "once", name="c") for _ in range(5)]
        await phone.say("send", client_message_id="c", conversation_id=where, content=content)
        answers = await asyncio.gather(*both)
        ack = await phone.until("ack", client_message_id="c")
        assert {answer.json["message_id"] for answer in answers} == {ack["message_id"]}
        assert [answer.status for answer in answers].count(201) + (not ack["duplicate"]) == 1
        await phone.item("status", status="delivered")
    assert len(stage.calls()) == 1


async def test_who_said_no_is_not_written_to(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    dossier = (await stage.get(f"/api/v1/conversations/{where}", ann.token))["contact"]["dossier_id"]
    consent = {"dossierId": dossier, "channel": "WHATSAPP", "status": "REVOKED"}
    assert (await stage.call("PUT", "/api/v1/outbound/consents", consent)).status in (200, 201)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        refused = await say(stage, ann, where, "please")
        assert (refused.status, refused.code) == (422, "consent_required")
        content = {"type": "text", "text": "please"}
        await phone.say("send", client_message_id="x", conversation_id=where, content=content)
        told = await phone.until("error", client_message_id="x")
        assert (told["code"], told["retryable"]) == ("consent_required", False)
        note = await stage.call("POST", f"/api/v1/conversations/{where}/notes", {"text": "said no"}, key=ann.token)
        assert note.status == 201, "the team may still talk about them"
    assert [m["content"]["type"] for m in (await history(stage, ann, where))["messages"]] == ["note", "text"]
    assert stage.calls() == []


async def test_outside_the_window_words_fail_and_a_template_goes(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    ann = await person(stage)
    where = await customer(stage)
    stage.manual.advance(DAY)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        posted = await say(stage, ann, where, "still there?")
        assert posted.status == 201
        failed = await phone.item("status", status="failed")
        assert failed["message_id"] == posted.json["message_id"]
        (message,) = await stage.get("/api/v1/outbound/messages?status=FAILED")
        assert message["errorCode"] == "SESSION_EXPIRED"
        assert stage.calls() == []
        sent = await say(stage, ann, where, TEMPLATE)
        assert sent.status == 201, sent
        await phone.item("status", status="delivered", message_id=sent.json["message_id"])
        (call,) = stage.calls()
        assert call["template"]["name"] == "hello_world"
    found = (await history(stage, ann, where))["messages"]
    assert [(m["content"]["type"], m["status"]) for m in found[:2]] == [("template", "delivered"), ("text", "failed")]


@ON_SQLITE
async def test_a_template_that_is_none_is_refused_by_its_field(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    unknown = {"type": "template", "template": {"name": "no_such", "language": "en_US"}}
    refused = await say(stage, ann, where, unknown)
    assert (refused.status, refused.code) == (422, "unknown_template")
    assert refused.json["field"].startswith("content")
    lacking = {"type": "template", "template": {"name": "order_confirmation", "language": "en"}}
    refused = await say(stage, ann, where, lacking)
    assert (refused.status, refused.code) == (422, "template_parameters")


async def disable(stage: Stage, template: str) -> None:
    """Meta reports that a template may no longer be sent."""
    value = {"event": "DISABLED", "message_template_name": template, "message_template_language": "en_US"}
    told = {"field": "message_template_status_update", "value": value}
    now = int(as_seconds(stage.clock.now()))
    body = {"entry": [{"id": stage.acme.number.waba_id, "time": now, "changes": [told]}]}
    assert (await stage.post(body)).status == 200


async def test_a_post_whose_answer_was_lost_is_answered_again_whatever_was_disabled_meanwhile(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    first = await say(stage, ann, where, TEMPLATE, name="lost")
    assert first.status == 201
    await disable(stage, "hello_world")
    new = await say(stage, ann, where, TEMPLATE, name="new")
    assert (new.status, new.code) == (422, "unknown_template")
    again = await say(stage, ann, where, TEMPLATE, name="lost")
    assert (again.status, again.json) == (200, first.json | {"duplicate": True})
    other = {"type": "template", "template": TEMPLATE["template"] | {"name": "no_such"}}
    conflict = await say(stage, ann, where, other, name="lost")
    assert (conflict.status, conflict.code) == (409, "idempotency_conflict")
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        await phone.say("send", client_message_id="lost", conversation_id=where, content=TEMPLATE)
        ack = await phone.until("ack", client_message_id="lost")
        assert (ack["message_id"], ack["duplicate"]) == (first.json["message_id"], True)
        await stage.eventually(lambda: _all_out(stage, 1))
    assert len((await history(stage, ann, where))["messages"]) == 2


@ON_SQLITE
async def test_a_post_that_is_repeated_is_no_new_wish_to_write_to_whoever_stopped_marketing(stage: Stage) -> None:
    held = stage.sandbox.templates.of(stage.acme.number.waba_id)
    held[:] = [replace(each, category="MARKETING") for each in held]
    assert (await stage.call("POST", "/api/v1/outbound/templates/sync")).status == 200
    ann = await person(stage)
    where = await customer(stage)
    assert (await say(stage, ann, where, TEMPLATE, name="lost")).status == 201
    dossier = (await stage.get(f"/api/v1/conversations/{where}", ann.token))["contact"]["dossier_id"]
    consent = {"dossierId": dossier, "channel": "WHATSAPP_MARKETING", "status": "REVOKED"}
    assert (await stage.call("PUT", "/api/v1/outbound/consents", consent)).status in (200, 201)
    assert (await say(stage, ann, where, TEMPLATE, name="lost")).status == 200
    address = f"/api/v1/outbound/audit?entityType=ADDRESS&entityId={PHONE.replace('+', '%2B')}"
    trail = [entry["action"] for entry in (await stage.get(address))["content"]]
    assert "BLOCKED_BY_POLICY" not in trail
    assert (await say(stage, ann, where, TEMPLATE, name="new")).status == 422
    trail = [entry["action"] for entry in (await stage.get(address))["content"]]
    assert trail.count("BLOCKED_BY_POLICY") == 1


@ON_SQLITE
async def test_a_post_from_a_number_that_was_disconnected_since_is_still_known(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    first = await say(stage, ann, where, "once", name="lost")
    assert (await stage.call("DELETE", f"/api/v1/numbers/{stage.acme.number.phone_number_id}")).status == 204
    again = await say(stage, ann, where, "once", name="lost")
    assert (again.status, again.json) == (200, first.json | {"duplicate": True})
    assert (await say(stage, ann, where, "twice", name="new")).status == 422


@ON_SQLITE
@pytest.mark.parametrize(
    "content",
    [
        {"type": "image"},
        {"type": "image", "image": {}},
        {"type": "text", "text": "x" * 5000},
        {"type": "deleted"},
        {"type": "no such kind"},
        {"type": "note", "note": {"body": "psst"}},
    ],
)
async def test_what_the_provider_would_not_take_is_refused_at_once(stage: Stage, content: dict[str, Any]) -> None:
    ann = await person(stage)
    where = await customer(stage)
    refused = await say(stage, ann, where, content)
    assert (refused.status, refused.code) == (422, "invalid_payload"), refused
    assert refused.json["field"].startswith("content")
    assert len((await history(stage, ann, where))["messages"]) == 1


@ON_SQLITE
async def test_an_agents_posts_go_out_in_the_order_in_which_they_were_written(stage: Stage) -> None:
    ann = await person(stage)
    where = await customer(stage)
    texts = [f"{n}" for n in range(8)]
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        for text in texts:
            content = {"type": "text", "text": text}
            await phone.say("send", client_message_id=text, conversation_id=where, content=content)
        await phone.until("ack", client_message_id=texts[-1])
        await stage.eventually(lambda: _all_out(stage, len(texts)))
    assert [call["text"]["body"] for call in stage.calls()] == texts


async def _all_out(stage: Stage, count: int) -> bool:
    return len(stage.calls()) == count


@ON_SQLITE
async def test_a_key_may_write_to_a_customer_in_the_orgs_name(stage: Stage) -> None:
    where = await customer(stage)
    posted = await say(stage, stage.acme.key, where, "from the back office")
    assert posted.status == 201
    ann = await person(stage)
    newest = (await history(stage, ann, where))["messages"][0]
    assert newest["content"]["text"] == "from the back office"
    assert not newest["sender_id"].startswith(("contact:", "user_"))
