"""A message from its POST to its last status, and every outbound route on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.harness import HELLO, MESSAGES, PHONE, Stage, a_number, status, told
from waypost.model.time import Instant, Span, minutes, seconds, to_datetime

ON_SQLITE = pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
ORDER = {
    "language": "en",
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "Ada"}, {"type": "text", "text": "7"}]}],
}
MINUTE = minutes(1)


def at(stage: Stage, span: Span) -> str:
    """A moment of the stage, as JSON has it."""
    return to_datetime(Instant(stage.clock.now() + span)).isoformat()


# The way of a message


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
        assert (await stage.post(told(stage.acme, status(wamid, kind)))).status == 200
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


async def test_a_template_that_the_provider_does_not_know_fails_at_once(stage: Stage) -> None:
    posted = await stage.send(templateCode="nobody", payloadJson={"language": "en_US"})
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
    await stage.becomes(posted["id"], "QUEUED", nextRetryAt=..., attemptCount=0)
    assert stage.calls() == []
    await stage.call("PATCH", number, {"enabled": True})
    await stage.pass_time(MINUTE)
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)


async def test_a_message_of_a_disconnected_number_fails(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=at(stage, MINUTE))
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
        ({"channel": "EMAIL"}, 422, "unsupported_channel", "channel"),
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


# Idempotency


async def test_the_same_key_and_content_is_the_same_message(stage: Stage) -> None:
    first = await stage.send(idempotencyKey="k", payloadJson={"type": "text", "text": {"body": "hi"}})
    again = await stage.send(200, idempotencyKey="k", payloadJson={"text": {"body": "hi"}, "type": "text"})
    respelled = await stage.send(
        200, idempotencyKey="k", to="1-650-555-1234", payloadJson={"type": "text", "text": {"body": "hi"}}
    )
    assert first["id"] == again["id"] == respelled["id"]
    await stage.becomes(first["id"], "DELIVERED")
    later = await stage.send(200, idempotencyKey="k", payloadJson={"type": "text", "text": {"body": "hi"}})
    assert later["status"] == "DELIVERED"
    assert len(stage.calls()) == 1


@ON_SQLITE
@pytest.mark.parametrize(
    "changed",
    [
        {"to": "+16505550000"},
        {"payloadJson": {"text": "other"}},
        {"priority": 6},
        {"subject": "s"},
        {"ordered": True},
        {"maxAttempts": 4},
        {"from": "1001"},
        {"scheduledAt": "2030-01-01T00:00:00Z"},
        {"expiresAt": "2030-01-01T00:00:00Z"},
        {"templateCode": "hello_world", "payloadJson": {"language": "en_US"}},
    ],
)
async def test_the_same_key_with_other_content_is_a_conflict(stage: Stage, changed: dict[str, Any]) -> None:
    first = await stage.send(idempotencyKey="k")
    answer = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "k"} | changed)
    assert (answer.status, answer.code, answer.json["field"]) == (409, "idempotency_conflict", "idempotencyKey")
    assert [message["id"] for message in await stage.get(MESSAGES)] == [first["id"]]


async def test_the_key_may_come_in_the_header_and_the_body_wins(stage: Stage) -> None:
    header = {"idempotency-key": "from-header"}
    first = await stage.call("POST", MESSAGES, HELLO, headers=header)
    again = await stage.call("POST", MESSAGES, HELLO, headers=header)
    in_body = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "from-header"})
    other = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "from-body"}, headers=header)
    assert [answer.status for answer in (first, again, in_body, other)] == [201, 200, 200, 201]
    assert first.json["idempotencyKey"] == "from-header"
    assert other.json["idempotencyKey"] == "from-body"
    empty = await stage.call("POST", MESSAGES, HELLO, headers={"idempotency-key": ""})
    long = await stage.call("POST", MESSAGES, HELLO, headers={"idempotency-key": "x" * 256})
    assert (empty.status, long.status) == (422, 400)


async def test_two_orgs_may_use_the_same_key(stage: Stage) -> None:
    body = HELLO | {"idempotencyKey": "shared"}
    answers = [await stage.call("POST", MESSAGES, body, key=account.key) for account in (stage.acme, stage.globex)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json["id"] != answers[1].json["id"]


async def test_a_hundred_posts_of_one_key_at_once_make_one_message(stage: Stage) -> None:
    second = await stage.add_server()
    stage.network.hosts["second.test"] = second.app
    body = HELLO | {"idempotencyKey": "once"}

    hosts = ["waypost.test", "second.test"] * 50
    answers = await asyncio.gather(*(stage.call("POST", MESSAGES, body, host=host) for host in hosts))
    assert Counter(answer.status for answer in answers) == {201: 1, 200: 99}
    (message_id,) = {answer.json["id"] for answer in answers}
    await stage.becomes(message_id, "DELIVERED")
    assert len(stage.calls()) == 1


async def test_of_concurrent_posts_with_one_key_and_other_content_one_wins(stage: Stage) -> None:
    bodies = [HELLO | {"idempotencyKey": "k", "payloadJson": {"text": f"{n % 2}"}} for n in range(20)]
    answers = await asyncio.gather(*(stage.call("POST", MESSAGES, body) for body in bodies))
    counted = Counter(answer.status for answer in answers)
    assert counted == {201: 1, 200: 9, 409: 10}


# Tries


async def test_tries_come_at_0_1_6_21_81_and_441_minutes(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send()
    for tried, wait in enumerate((1, 5, 15, 60, 360), start=1):
        waiting = await stage.becomes(posted["id"], "QUEUED", attemptCount=tried, errorCode="131000")
        assert waiting["nextRetryAt"] == at(stage, minutes(wait)).replace("+00:00", "Z")
        await stage.pass_time(Span(minutes(wait) - 1))
        stage.wake()
        assert (await stage.message(posted["id"]))["attemptCount"] == tried
        await stage.pass_time(Span(1))
    failed = await stage.becomes(posted["id"], "FAILED", attemptCount=6)
    assert (failed["errorCode"], failed["nextRetryAt"]) == ("131000", None)
    assert len(stage.calls()) == 6
    attempts = await stage.attempts(posted["id"])
    assert [(a["attemptNo"], a["status"]) for a in attempts] == [(n, "FAILED") for n in range(1, 7)]
    assert [a["nextRetryAt"] is None for a in attempts] == [False] * 5 + [True]
    assert await stage.metric('outbound_message_dead_letter_total{channel="whatsapp"}') == 1
    assert await stage.metric('outbound_message_retry_total{channel="whatsapp"}') == 5
    assert await stage.metric('outbound_message_send_failure_total{channel="whatsapp",error_code="131000"}') == 6


@ON_SQLITE
async def test_jitter_only_makes_a_wait_longer(set_up: OpenStage) -> None:
    stage = await set_up(outbound_jitter=0.1)
    stage.dice.shows = 0.5
    await stage.fault(error_code=131000)
    posted = await stage.send()
    waiting = await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert waiting["nextRetryAt"] == at(stage, seconds(63)).replace("+00:00", "Z")


async def test_a_try_that_succeeds_clears_the_error(stage: Stage) -> None:
    await stage.fault(error_code=131000, times=2)
    posted = await stage.send()
    for tried in (1, 2):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=tried)
        await stage.pass_time(minutes(5))
    delivered = await stage.becomes(posted["id"], "DELIVERED", attemptCount=3)
    assert (delivered["errorCode"], delivered["errorMessage"], delivered["nextRetryAt"]) == (None, None, None)
    assert [a["status"] for a in await stage.attempts(posted["id"])] == ["FAILED", "FAILED", "SUCCESS"]


async def test_a_provider_that_asks_for_more_time_gets_it(stage: Stage) -> None:
    await stage.fault(retry_after=300, times=1)
    posted = await stage.send()
    waiting = await stage.becomes(posted["id"], "QUEUED", errorCode="130429")
    assert waiting["nextRetryAt"] == at(stage, minutes(5)).replace("+00:00", "Z")


@pytest.mark.parametrize("most", [0, 10])
async def test_max_attempts_counts_the_tries_after_the_first(stage: Stage, most: int) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(maxAttempts=most)
    for tried in range(1, most + 1):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=tried)
        await stage.pass_time(minutes(360))
    await stage.becomes(posted["id"], "FAILED", attemptCount=most + 1)
    await stage.pass_time(minutes(720))
    assert len(stage.calls()) == most + 1


async def test_a_hopeless_error_ends_a_message_at_its_first_try(stage: Stage) -> None:
    await stage.fault(error_code=131026)
    posted = await stage.send()
    await stage.becomes(posted["id"], "FAILED", errorCode="131026", attemptCount=1)


# Retry and cancel by a person


async def test_a_retry_is_a_new_generation(stage: Stage) -> None:
    await stage.fault(error_code=131026, times=1)
    posted = await stage.send()
    await stage.becomes(posted["id"], "FAILED")
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")
    assert (answer.status, answer.json["status"], answer.json["attemptCount"]) == (200, "QUEUED", 0)
    assert answer.json["errorCode"] is None
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)
    attempts = await stage.attempts(posted["id"])
    assert [(a["generation"], a["attemptNo"], a["status"]) for a in attempts] == [(1, 1, "FAILED"), (2, 1, "SUCCESS")]
    assert len({a["id"] for a in attempts}) == 2
    assert "retried" in await stage.kinds(posted["id"])


async def test_a_retry_gets_all_its_tries_again(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(maxAttempts=1)
    for _ in range(2):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
        await stage.pass_time(MINUTE)
        await stage.becomes(posted["id"], "FAILED", attemptCount=2)
        assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")).status == 200
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert len(stage.calls()) == 5


async def test_what_is_on_its_way_or_arrived_cannot_be_retried(stage: Stage) -> None:
    waiting = await stage.send(scheduledAt=at(stage, MINUTE))
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    for message in (waiting, posted):
        answer = await stage.call("POST", f"{MESSAGES}/{message['id']}/retry")
        assert (answer.status, answer.code) == (409, "not_retryable")


async def test_a_cancelled_message_is_never_sent_unless_it_is_retried(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=at(stage, MINUTE))
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (answer.status, answer.json["status"]) == (200, "CANCELLED")
    again = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (again.status, again.code) == (409, "not_cancellable")
    await stage.pass_time(minutes(2))
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "DELIVERED")
    assert stage.calls() == []
    assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")).status == 200
    await stage.becomes(posted["id"], "DELIVERED")
    assert await stage.kinds(posted["id"]) == [
        "submitted", "cancelled", "retried", "claimed", "accepted", "status", "status"
    ]  # fmt: skip


async def test_what_the_provider_has_cannot_be_cancelled(stage: Stage) -> None:
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (answer.status, answer.code) == (409, "not_cancellable")


async def test_a_waiting_retry_can_be_cancelled(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")).status == 200
    await stage.pass_time(minutes(600))
    assert (await stage.message(posted["id"]))["status"] == "CANCELLED"
    assert len(stage.calls()) == 1


# Time


async def test_a_scheduled_message_waits_for_its_time(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=at(stage, minutes(90)))
    assert posted["nextRetryAt"] is None
    await stage.pass_time(Span(minutes(90) - 1))
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "DELIVERED")
    assert (await stage.message(posted["id"]))["status"] == "QUEUED"
    await stage.pass_time(Span(1))
    await stage.becomes(posted["id"], "DELIVERED")


async def test_a_time_in_the_past_is_now(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=at(stage, Span(-minutes(60))))
    await stage.becomes(posted["id"], "DELIVERED")


async def test_after_its_time_a_message_is_cancelled_and_not_sent(stage: Stage) -> None:
    scheduled = await stage.send(scheduledAt=at(stage, minutes(10)), expiresAt=at(stage, minutes(11)))
    late = await stage.send(to="+16505550000", expiresAt=at(stage, Span(-1)))
    await stage.becomes(late["id"], "CANCELLED", errorCode="EXPIRED")
    await stage.pass_time(minutes(11))
    await stage.becomes(scheduled["id"], "CANCELLED", errorCode="EXPIRED")
    assert stage.sandbox.calls.listed() == []


async def test_a_message_may_expire_between_two_tries(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(expiresAt=at(stage, minutes(5)))
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    await stage.pass_time(MINUTE)
    await stage.becomes(posted["id"], "QUEUED", attemptCount=2)
    await stage.pass_time(minutes(5))
    await stage.becomes(posted["id"], "CANCELLED", errorCode="EXPIRED")
    assert len(stage.calls()) == 2


async def test_a_message_that_would_expire_before_it_is_due_is_refused(stage: Stage) -> None:
    answer = await stage.call(
        "POST", MESSAGES, HELLO | {"scheduledAt": at(stage, MINUTE), "expiresAt": at(stage, MINUTE)}
    )
    assert (answer.status, answer.json["field"]) == (422, "expiresAt")


async def test_a_higher_priority_goes_first(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    due = at(stage, MINUTE)
    for priority in (0, 5, 9):
        await stage.send(priority=priority, scheduledAt=due, payloadJson={"text": f"{priority}"})
    await stage.pass_time(MINUTE)
    await stage.eventually(lambda: _count(stage, 3))
    assert [call["text"]["body"] for call in stage.calls()] == ["9", "5", "0"]


async def _count(stage: Stage, wanted: int) -> bool:
    return len(stage.accepted()) == wanted


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
    failing = await stage.send(ordered=True, scheduledAt=at(stage, MINUTE))
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
    head = await stage.send(ordered=True, scheduledAt=at(stage, MINUTE))
    behind = await stage.send(ordered=True)
    await stage.call("POST", f"{MESSAGES}/{head['id']}/cancel")
    await stage.becomes(behind["id"], "DELIVERED")


# Reading


async def test_the_list_filters_by_status_and_recipient(stage: Stage) -> None:
    await stage.fault(error_code=131026, to="+16505550000")
    failed = await stage.send(to="+16505550000")
    sent = await stage.send()
    waiting = await stage.send(scheduledAt=at(stage, MINUTE))
    await stage.becomes(failed["id"], "FAILED")
    await stage.becomes(sent["id"], "DELIVERED")

    async def ids(query: str) -> list[int]:
        return [message["id"] for message in await stage.get(f"{MESSAGES}?{query}")]

    assert await ids("") == [waiting["id"], sent["id"], failed["id"]]
    assert await ids("limit=2") == [waiting["id"], sent["id"]]
    assert await ids("status=FAILED") == [failed["id"]]
    assert await ids("status=SENT") == []
    assert await ids("to=%2B16505551234") == [waiting["id"], sent["id"]]
    assert await ids("to=+16505551234") == [waiting["id"], sent["id"]]
    assert await ids("to=1-650-555-1234&status=QUEUED") == [waiting["id"]]
    assert await ids("to=%2B16505551234&status=DELIVERED&limit=1") == [sent["id"]]
    assert await ids("dossierId=7") == []
    assert await ids("dossierId=7&status=FAILED&to=%2B16505551234") == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?limit=many", "limit"),
        ("?status=GONE", "status"),
        ("?to=nobody", "to"),
        ("?dossierId=0", "dossierId"),
        ("?dossierId=9223372036854775808", "dossierId"),
        ("/paginated?page=-1", "page"),
        ("/paginated?size=0", "size"),
        ("/paginated?size=1001", "size"),
        ("/paginated?sort=status", "sort"),
        ("/paginated?direction=UP", "direction"),
    ],
)
async def test_a_parameter_that_cannot_be_read_is_named(stage: Stage, query: str, field: str) -> None:
    answer = await stage.call("GET", MESSAGES + query)
    assert (answer.status, answer.code, answer.json["field"]) == (400, "invalid_parameter", field)


async def test_pages_cover_everything_once(stage: Stage) -> None:
    sent = [(await stage.send(scheduledAt=at(stage, MINUTE)))["id"] for _ in range(7)]

    async def page(query: str) -> dict[str, Any]:
        found: dict[str, Any] = await stage.get(f"{MESSAGES}/paginated{query}")
        return found

    whole = await page("")
    assert [message["id"] for message in whole["content"]] == sent[::-1]
    assert {name: whole[name] for name in ("page", "size", "totalElements", "totalPages")} == {
        "page": 0, "size": 20, "totalElements": 7, "totalPages": 1
    }  # fmt: skip
    rising = [await page(f"?page={n}&size=3&sort=createdAt&direction=ASC") for n in range(4)]
    assert [[message["id"] for message in part["content"]] for part in rising] == [sent[:3], sent[3:6], sent[6:], []]
    assert {part["totalPages"] for part in rising} == {3}
    assert (await page("?dossierId=7"))["totalElements"] == 0
    assert (await page("?dossierId=7&direction=ASC"))["totalPages"] == 0


MALFORMED = ("1", "0", "-1", "abc", "1.5", "9" * 18, "9" * 19, "9" * 30, "-" + "9" * 30, "9" * 5000)


@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", ""), ("GET", "/attempts"), ("GET", "/timeline"), ("POST", "/retry"), ("POST", "/cancel")],
)
async def test_an_unknown_or_malformed_id_is_not_found(stage: Stage, method: str, rest: str) -> None:
    for name in MALFORMED:
        answer = await stage.call(method, f"{MESSAGES}/{name}{rest}")
        assert (answer.status, answer.code) == (404, "not_found"), name[:40]
        assert len(answer.body) < 1000
