"""Careless or hostile values in each field of a message: refused by name, and nothing stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage
from waypost.model.time import Span, minutes, seconds

FIELDS = (
    "channel", "to", "from", "templateCode", "subject", "payloadJson", "dossierId", "idempotencyKey", "priority",
    "scheduledAt", "expiresAt", "ordered", "maxAttempts",
)  # fmt: skip
BROKEN: dict[str, bytes] = {
    "bytes that are no UTF-8": b'"a\xff\xfe"',
    "a surrogate, encoded": b'"a\xed\xa0\x80"',
    "half a pair": b'"a\\ud83d"',
    "the other half": b'"a\\udc00 b"',
    "a raw NUL": b'"a\x00b"',
    "a raw line end": b'"a\nb"',
    "not a number": b"NaN",
    "infinity": b"-Infinity",
    "a number without end": b"1e999",
    "octal": b"007",
    "hexadecimal": b"0x10",
    "Python's true": b"True",
    "no value": b"",
    "an open text": b'"abc',
    "a word": b"undefined",
}
ODD: dict[str, bytes] = {
    "a megabyte": b'"' + b"x" * 1_000_000 + b'"',
    "a megabyte of escapes": b'"' + b"\\u0061" * 160_000 + b'"',
    "a megabyte of zeros": b"0." + b"0" * 1_000_000,
    "a list of a megabyte": b"[" + b"0," * 500_000 + b"0]",
    "a deep list": b"[" * 5000 + b"]" * 5000,
    "a deep object": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "an escaped NUL": b'"\\u0000"',
    "a whole number beyond all": b"9" * 400,
    "half a number": b"1.5",
    "a list": b'["x"]',
}
NULLABLE = ("from", "templateCode", "subject", "payloadJson", "dossierId", "idempotencyKey", "scheduledAt", "expiresAt")
LOOSE: dict[str, tuple[str, ...]] = {
    '"5"': ("dossierId", "priority", "maxAttempts"),
    "true": ("to", "subject", "dossierId", "priority", "maxAttempts", "scheduledAt", "payloadJson"),
    "1": ("ordered", "to", "channel", "idempotencyKey", "scheduledAt"),
    '"true"': ("ordered",),
    "null": tuple(name for name in FIELDS if name not in NULLABLE),
}


def body(field: str, value: bytes) -> bytes:
    """A message with this in its midst, so that something stands before and after."""
    members = {f'"{name}": '.encode(): json.dumps(content).encode() for name, content in HELLO.items() if name != field}
    first, *rest = (name + content for name, content in members.items())
    return b"{" + b", ".join([first, f'"{field}": '.encode() + value, *rest]) + b"}"


async def refused(stage: Stage, field: str, value: bytes, what: str) -> Answer:
    answer = await stage.call("POST", MESSAGES, body=body(field, value))
    told = (field, what, answer.status, answer.body[:300])
    assert answer.status in (400, 404, 422), told
    assert answer.code, told
    assert len(answer.body) < 2000, told
    assert (answer.json["field"] or "").split(".")[0] == field, told
    return answer


@pytest.mark.parametrize("field", FIELDS)
@ON_SQLITE
async def test_what_is_no_json_is_refused_by_the_field_it_is_in(stage: Stage, field: str) -> None:
    for what, value in BROKEN.items():
        answer = await refused(stage, field, value, what)
        assert answer.code in ("invalid_json", "invalid_payload"), what
    assert await stage.get(MESSAGES) == []


@pytest.mark.parametrize("field", FIELDS)
@ON_SQLITE
async def test_what_is_json_and_no_such_value_is_refused(stage: Stage, field: str) -> None:
    for what, value in ODD.items():
        await refused(stage, field, value, what)
    for loose, fields in LOOSE.items():
        if field in fields:
            await refused(stage, field, loose.encode(), loose)
    assert await stage.get(MESSAGES) == []


CONTENT: list[tuple[str, dict[str, Any]]] = [
    ("payloadJson.text.body", {"type": "text", "text": {"body": True}}),
    ("payloadJson.text.preview_url", {"type": "text", "text": {"body": "x", "preview_url": "true"}}),
    ("payloadJson.image", {"type": "image", "image": {}}),
    ("payloadJson.image.link", {"type": "image", "image": {"link": "file:///etc/passwd"}}),
    ("payloadJson.location.latitude", {"type": "location", "location": {"latitude": 91, "longitude": 0}}),
    ("payloadJson.contacts[0].name", {"type": "contacts", "contacts": [{}]}),
    ("payloadJson.reaction.message_id", {"type": "reaction", "reaction": {"emoji": "x"}}),
    ("payloadJson.interactive.action.buttons[0].reply.title", {"type": "interactive", "interactive": {
        "type": "button", "body": {"text": "x"},
        "action": {"buttons": [{"type": "reply", "reply": {"id": "1", "title": "x" * 21}}]}}}),
    ("payloadJson.context.message_id", {"text": "x", "context": {}}),
    ("payloadJson.status", {"type": "text", "text": {"body": "x"}, "status": "read"}),
    ("payloadJson.status", {"text": "x", "status": "read"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "payload"), CONTENT)
@ON_SQLITE
async def test_a_mistake_deep_in_the_content_is_named(stage: Stage, field: str, payload: dict[str, Any]) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO | {"payloadJson": payload})
    assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", field)
    assert await stage.get(MESSAGES) == []


@ON_SQLITE
async def test_a_recipient_that_is_none_is_told_why(stage: Stage) -> None:
    for to, reason in (("+49x1511234567", "'x'"), ("12345", "this has 5"), ("+1 555+1 555 1234", "at the start")):
        answer = await stage.call("POST", MESSAGES, HELLO | {"to": to})
        assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_recipient", "to")
        assert reason in answer.json["detail"]


@ON_SQLITE
async def test_a_message_that_has_expired_already_is_refused(stage: Stage) -> None:
    for past in (0, -1, -minutes(60)):
        answer = await stage.call("POST", MESSAGES, HELLO | {"expiresAt": stage.moment(Span(past))})
        assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", "expiresAt")
    assert await stage.get(MESSAGES) == []
    await stage.send(expiresAt=stage.moment(seconds(1)))


@ON_SQLITE
async def test_repeating_a_call_after_its_message_expired_gives_that_message(stage: Stage) -> None:
    wish: dict[str, Any] = {"expiresAt": stage.moment(minutes(1)), "idempotencyKey": "code-7"}
    posted = await stage.send(**wish)
    await stage.becomes(posted["id"], "DELIVERED")
    await stage.pass_time(minutes(2))
    assert (await stage.send(200, **wish))["status"] == "DELIVERED"


@ON_SQLITE
async def test_a_reply_in_the_short_form_quotes_what_it_answers(stage: Stage) -> None:
    posted = await stage.send(payloadJson={"text": "yes", "context": {"message_id": "wamid.question"}})
    await stage.becomes(posted["id"], "DELIVERED")
    (call,) = stage.calls()
    assert (call["text"], call["context"]) == ({"body": "yes"}, {"message_id": "wamid.question"})


@ON_SQLITE
async def test_with_a_default_region_national_numbers_are_understood(set_up: OpenStage) -> None:
    stage = await set_up(default_region="DE")
    posted = await stage.send(to="(030) 90 18 20")
    foreign = await stage.send(to="0044 20 7946 0000")
    assert (posted["to"], foreign["to"]) == ("+4930901820", "+442079460000")
    assert [found["id"] for found in await stage.get(f"{MESSAGES}?to=030901820")] == [posted["id"]]
    answer = await stage.call("POST", MESSAGES, HELLO | {"to": "030 1"})
    assert (answer.status, answer.code) == (422, "invalid_recipient")
    assert "DE" in answer.json["detail"]
