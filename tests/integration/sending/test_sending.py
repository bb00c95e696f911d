"""A message from its POST to its last status, and every outbound route on the way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, a_number, status, status_post
from waypost.model.ids import OrgId
from waypost.model.time import minutes

ORDER = {
    "language": "en",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "Ada"}, {"type": "text", "text": "7"}]}],
}
MINUTE = minutes(1)


# The path of a message


async def test_a_message_climbs_from_queued_to_read(stage: Stage) -> None:
    await stage.fault(statuses="never")
    stage.network.late.clear()
    posted = await stage.send()
    assert (posted["status"], posted["attemptCount"]) == ("QUEUED", 0)
    sending = await stage.becomes(posted["id"], "SENDING")
    assert [(a["attemptNo"], a["status"]) for a in await stage.attempts(posted["id"])] == [(1, "TRYING")]
    assert (sending["attemptCount"], sending["sentAt"]) == (1, None)
    stage.network.late.set()
    sent = await stage.becomes(posted["id"], "SENT", sentAt=...)
    (wamid,) = stage.accepted()
    assert sent["providerMessageId"] == wamid
    for kind, field in (("delivered", "deliveredAt"), ("read", "readAt")):
        assert (await stage.message(posted["id"]))[field] is None
        assert (await stage.post(status_post(stage.acme, status(wamid, kind)))).status == 200
        await stage.becomes(posted["id"], "DELIVERED", **{field: ...})
    assert await stage.kinds(posted["id"]) == ["submitted", "claimed", "accepted", "status", "status"]
    (attempt,) = await stage.attempts(posted["id"])
    assert attempt["status"] == "SUCCESS"
    assert attempt["providerResponseJson"]["messages"][0]["id"] == wamid


async def test_the_sandbox_delivers_and_the_phone_reads(stage: Stage) -> None:
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    await stage.reads()
    read = await stage.becomes(posted["id"], "DELIVERED", readAt=...)
    assert read["sentAt"] <= read["deliveredAt"] <= read["readAt"]
    assert len(stage.accepted()) == 1


async def test_what_the_provider_gets_carries_our_id_and_fence(stage: Stage) -> None:
    payload = {"type": "text", "text": {"body": "hi", "preview_url": True}, "biz_opaque_callback_data": "mine"}
    posted = await stage.send(payloadJson=payload)
    await stage.becomes(posted["id"], "DELIVERED")
    (call,) = stage.calls()
    assert call["to"] == PHONE
    assert call["text"] == {"body": "hi", "preview_url": True}
    assert call["biz_opaque_callback_data"] == f"wp1.{posted['id']}.1;mine"


@ON_SQLITE
@pytest.mark.parametrize(
    "payload",
    [
        {"type": "image", "image": {"link": "https://example.org/a.png", "caption": "é ☃ 😀"}},
        {"type": "location", "location": {"latitude": 1.5, "longitude": -2.25, "name": "x"}},
        {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "😀"}},
        {"text": "short form, with \u0000 and 😀"},
    ],
)
async def test_a_payload_reaches_the_provider_as_it_was_given(stage: Stage, payload: dict[str, Any]) -> None:
    posted = await stage.send(payloadJson=payload)
    assert posted["payloadJson"] == payload
    await stage.becomes(posted["id"], "SENT" if payload.get("type") == "reaction" else "DELIVERED")
    (call,) = stage.calls()
    kind = payload.get("type", "text")
    assert call[kind] == (payload[kind] if "type" in payload else {"body": payload["text"]})


async def test_templates_go_out_with_language_and_parameters(stage: Stage) -> None:
    plain = await stage.send(templateCode="hello_world", payloadJson={"language": "en_US"})
    filled = await stage.send(templateCode="order_confirmation", payloadJson=ORDER)
    for posted in (plain, filled):
        await stage.becomes(posted["id"], "DELIVERED")
    templates = {call["template"]["name"]: call["template"] for call in stage.calls()}
    assert templates["hello_world"] == {"name": "hello_world", "language": {"code": "en_US"}}
    assert templates["order_confirmation"]["components"] == ORDER["components"]


async def test_a_template_that_the_provider_no_longer_knows_fails_at_once(stage: Stage) -> None:
    await stage.get("/api/v1/outbound/templates")
    stage.sandbox.templates.delete(stage.acme.number.waba_id, "hello_world")
    posted = await stage.send(templateCode="hello_world", payloadJson={"language": "en_US"})
    await stage.becomes(posted["id"], "FAILED", errorCode="132001", attemptCount=1)


async def test_a_failure_that_only_a_status_reports_is_not_tried_again(stage: Stage) -> None:
    await stage.fault(status_error=131026)
    posted = await stage.send()
    await stage.becomes(posted["id"], "FAILED", errorCode="131026")
    await stage.pass_time(minutes(600))
    assert len(stage.calls()) == 1


async def test_a_message_goes_from_the_number_that_was_asked_for(stage: Stage) -> None:
    second = a_number("1002")
    stage.sandbox.numbers.add(second)
    connected = {name: getattr(second, name) for name in stage.acme.as_connected}
    assert (await stage.call("POST", "/api/v1/numbers", connected)).status == 201
    first = await stage.send()
    chosen = await stage.send(from_="1002")
    await stage.becomes(chosen["id"], "DELIVERED")
    assert (first["from"], chosen["from"]) == ("1001", "1002")


async def test_a_disabled_number_holds_its_messages_and_uses_up_no_try(stage: Stage) -> None:
    number = f"/api/v1/numbers/{stage.acme.number.phone_number_id}"
    assert (await stage.call("PATCH", number, {"enabled": False})).json["enabled"] is False
    posted = await stage.send()
    (gate,) = await stage.world.ledger.gates.of_org(OrgId("acme"), stage.clock.now())
    assert (gate.gate.name, gate.gate.kind, gate.gate.until, gate.waiting) == ("number:1001", "hold", None, 1)
    await stage.pass_time(MINUTE)
    await stage.becomes(posted["id"], "QUEUED", attemptCount=0)
    assert await stage.attempts(posted["id"]) == []
    assert stage.calls() == []
    await stage.call("PATCH", number, {"enabled": True})
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)


async def test_a_message_of_a_disconnected_number_fails(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=stage.moment(MINUTE))
    assert (await stage.call("DELETE", "/api/v1/numbers/1001")).status == 204
    await stage.pass_time(MINUTE)
    await stage.becomes(posted["id"], "FAILED", errorCode="NUMBER_DISCONNECTED")
    assert stage.calls() == []


async def test_one_slot_is_enough(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    posted = [await stage.send(payloadJson={"text": f"{n}"}) for n in range(5)]
    for message in posted:
        await stage.becomes(message["id"], "DELIVERED")
    assert len(stage.accepted()) == 5


# Refusals


@ON_SQLITE
@pytest.mark.parametrize(
    ("changed", "status_code", "code", "field"),
    [
        ({"channel": "PIGEON"}, 422, "unsupported_channel", "channel"),
        ({"channel": "SMS"}, 422, "unsupported_channel", "channel"),
        ({"to": "nobody"}, 422, "invalid_recipient", "to"),
        ({"to": "123456"}, 422, "invalid_recipient", "to"),
        ({"dossierId": 7}, 422, "unknown_dossier", "dossierId"),
        ({"from": "2001"}, 404, "unknown_number", "from"),
        ({"payloadJson": None}, 422, "invalid_payload", "payloadJson"),
        ({"payloadJson": {}}, 422, "invalid_payload", "payloadJson.type"),
        ({"payloadJson": {"text": " "}}, 422, "invalid_payload", "payloadJson.text"),
        ({"payloadJson": {"text": "x" * 4097}}, 422, "invalid_payload", "payloadJson.text"),
        ({"payloadJson": {"type": "image"}}, 422, "invalid_payload", "payloadJson.image"),
        ({"templateCode": "hello_world"}, 422, "invalid_payload", "payloadJson.language"),
        ({"maxAttempts": 11}, 422, "invalid_payload", "maxAttempts"),
        ({"priority": 10}, 422, "invalid_payload", "priority"),
    ],
)
async def test_a_refusal_names_code_and_field(
    stage: Stage, changed: dict[str, Any], status_code: int, code: str, field: str
) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO | changed)
    assert (answer.status, answer.code, answer.json["field"]) == (status_code, code, field)
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert await stage.get(MESSAGES) == []


@ON_SQLITE
@pytest.mark.parametrize("spelled", ["16505551234", "+1 (650) 555-1234", "+1.650.555.1234", " [1]6505551234 "])
async def test_a_phone_number_may_be_spelled_as_people_do(stage: Stage, spelled: str) -> None:
    assert (await stage.send(to=spelled))["to"] == PHONE


# Order


async def test_ordered_messages_arrive_in_the_order_of_their_posts(stage: Stage) -> None:
    posted = [await stage.send(ordered=True, payloadJson={"text": f"{n}"}, priority=n) for n in range(8)]
    for message in posted:
        await stage.becomes(message["id"], "DELIVERED")
    assert [call["text"]["body"] for call in stage.calls()] == [f"{n}" for n in range(8)]


async def test_an_ordered_message_waits_for_the_one_before_it_but_nobody_else_does(stage: Stage) -> None:
    await stage.fault(error_code=131000, times=1)
    head = await stage.send(ordered=True, payloadJson={"text": "first"})
    await stage.becomes(head["id"], "QUEUED", attemptCount=1)
    behind = [await stage.send(ordered=True, payloadJson={"text": text}) for text in ("second", "third")]
    free = await stage.send(payloadJson={"text": "not ordered"})
    elsewhere = await stage.send(ordered=True, to="+16505550000")
    for message in (free, elsewhere):
        await stage.becomes(message["id"], "DELIVERED")
    assert {(await stage.message(message["id"]))["status"] for message in behind} == {"QUEUED"}
    await stage.pass_time(MINUTE)
    for message in (head, *behind):
        await stage.becomes(message["id"], "DELIVERED")
    assert [call["text"]["body"] for call in stage.calls() if call["wamid"]] == [
        "not ordered", "first", "second", "third"
    ]  # fmt: skip


async def test_a_head_that_fails_or_is_cancelled_lets_the_next_one_go(stage: Stage) -> None:
    failing = await stage.send(ordered=True, scheduledAt=stage.moment(MINUTE))
    cancelled = await stage.send(ordered=True)
    last = await stage.send(ordered=True)
    await stage.fault(error_code=131026, times=1)
    assert (await stage.call("POST", f"{MESSAGES}/{cancelled['id']}/cancel")).status == 200
    assert (await stage.message(last["id"]))["status"] == "QUEUED"
    await stage.pass_time(MINUTE)
    await stage.becomes(failing["id"], "FAILED")
    await stage.becomes(last["id"], "DELIVERED")
    assert len(stage.accepted()) == 1


async def test_cancelling_the_head_lets_the_next_one_go_at_once(stage: Stage) -> None:
    head = await stage.send(ordered=True, scheduledAt=stage.moment(MINUTE))
    behind = await stage.send(ordered=True)
    await stage.call("POST", f"{MESSAGES}/{head['id']}/cancel")
    await stage.becomes(behind["id"], "DELIVERED")
