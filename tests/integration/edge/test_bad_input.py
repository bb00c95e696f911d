"""Every mistake in a request body: a 4xx that names it, and nothing stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage

MEGABYTE = "x" * 1_000_000
NUL = "a\u0000b"
TABLES = ("message", "delivery", "number", "api_key", "person", "queue", "ready", "later")
NOT_TEXT: list[Any] = [5, 1.5, True, [], {}, ["x"]]
NOT_WHOLE: list[Any] = ["5", "", 1.5, True, [], {}, 10**30, -(10**30), -1]
NOT_BOOL: list[Any] = ["true", 1, 0, [], {}]
NOT_MOMENT: list[Any] = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "1999-12-31T23:59:59Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "2100-01-01T00:00:00Z",
    "2030-01-01T00:00:00",
    "2030-01-01",
    "2030-02-30T00:00:00Z",
    "2030-01-01T25:00:00Z",
    "tomorrow",
    "",
    1893456000,
    "1893456000",
    True,
    [],
    {},
]
MESSAGE_FIELDS: dict[str, list[Any]] = {
    "channel": [*NOT_TEXT, None, MEGABYTE, NUL, "whatsapp"],
    "to": [*NOT_TEXT, None, MEGABYTE, NUL, "", "+", "1" * 16, "+1650555123४"],
    "from": [*NOT_TEXT, MEGABYTE],
    "templateCode": [*NOT_TEXT, MEGABYTE, NUL, ""],
    "subject": [*NOT_TEXT, MEGABYTE, NUL],
    "payloadJson": ["text", 5, True, [], [{}]],
    "dossierId": [*NOT_WHOLE, 0, 2**63],
    "idempotencyKey": [*NOT_TEXT, MEGABYTE, NUL, "", "x" * 256],
    "priority": [*NOT_WHOLE, None, 10],
    "scheduledAt": NOT_MOMENT,
    "expiresAt": NOT_MOMENT,
    "ordered": [*NOT_BOOL, None],
    "maxAttempts": [*NOT_WHOLE, None, 11],
}
NUMBER: dict[str, Any] = {
    "phone_number_id": "5005", "waba_id": "w", "token": "t", "app_secret": "s", "verify_token": "v"
}  # fmt: skip
NUMBER_FIELDS: dict[str, list[Any]] = {
    "phone_number_id": [*NOT_TEXT, None, MEGABYTE, NUL, "", "a b", "../x", "5005\n", "ä"],
    "waba_id": [*NOT_TEXT, None, MEGABYTE, NUL, ""],
    "token": [*NOT_TEXT, None, MEGABYTE, NUL, "", "a\nb", "a\r\nx: y", "ä", "a b", "t\n"],
    "app_secret": [*NOT_TEXT, None, MEGABYTE, NUL, ""],
    "verify_token": [*NOT_TEXT, None, MEGABYTE, NUL, ""],
    "graph_url": [*NOT_TEXT, MEGABYTE, NUL, "", "ftp://x", "http://", "http://a:99999", "http://[::::]/", "http://u:p@x/",
                  "http://256.1.1.1/", "http://1.2.3/", "http://x/?q", "http://x\n", "javascript:alert(1)"],
    "error_catalogue": [*NOT_TEXT, None, MEGABYTE, NUL, "", "meta\n", "META"],
    "enabled": [*NOT_BOOL, None],
}  # fmt: skip
KEY_FIELDS: dict[str, list[Any]] = {
    "role": [*NOT_TEXT, None, MEGABYTE, NUL, "", "agent", "admin\n", "owner"],
    "label": [*NOT_TEXT, None, MEGABYTE, NUL, "x" * 256],
}
USER_FIELDS: dict[str, list[Any]] = {
    "name": [*NOT_TEXT, None, MEGABYTE, NUL, "", "x" * 256],
    "role": [*NOT_TEXT, None, MEGABYTE, NUL, "", "sender", "agent\n"],
}
ROUTES: dict[str, tuple[str, str, dict[str, Any], dict[str, list[Any]]]] = {
    "a message": ("POST", MESSAGES, HELLO, MESSAGE_FIELDS),
    "a number": ("POST", "/api/v1/numbers", NUMBER, NUMBER_FIELDS),
    "a change": ("PATCH", "/api/v1/numbers/1001", {}, NUMBER_FIELDS),
    "a key": ("POST", "/api/v1/keys", {"role": "sender"}, KEY_FIELDS),
    "a user": ("POST", "/api/v1/users", {"name": "Ada"}, USER_FIELDS),
}  # fmt: skip


async def stored(stage: Stage) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(await stage.database.run(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def refused(answer: Answer, field: str | None = None) -> None:
    """A problem with a code and, where one field is at fault, its name; and no megabyte of it."""
    assert 400 <= answer.status < 500, answer
    assert answer.headers["content-type"].startswith("application/problem+json")
    problem = answer.json
    assert problem["code"]
    assert problem["status"] == answer.status
    assert len(answer.body) < 2000
    if field is not None:
        assert (problem["field"] or "").split(".")[0] == field, problem


@pytest.mark.parametrize("what", ROUTES)
async def test_a_wrong_value_in_any_field_is_refused_by_name(stage: Stage, what: str) -> None:
    method, path, right, fields = ROUTES[what]
    before = await stored(stage)
    for field, values in fields.items():
        for value in values:
            answer = await stage.call(method, path, right | {field: value})
            try:
                refused(answer, field)
            except AssertionError as wrong:
                raise AssertionError(f"{field} = {str(value)[:60]!r}: {str(answer)[:300]}, {wrong}") from None
    assert await stored(stage) == before


@pytest.mark.parametrize("what", ROUTES)
@ON_SQLITE
async def test_what_must_be_there_and_what_is_unknown_is_named(stage: Stage, what: str) -> None:
    method, path, right, _ = ROUTES[what]
    before = await stored(stage)
    for missing in right:
        if missing != "payloadJson":
            rest = {name: value for name, value in right.items() if name != missing}
            refused(await stage.call(method, path, rest), missing)
    for unknown in ("unknown", "ID", "org_id", "orgId", "x" * 100):
        refused(await stage.call(method, path, right | {unknown: 1}), unknown[:80])
    assert await stored(stage) == before


@pytest.mark.parametrize("what", ROUTES)
async def test_a_body_that_is_no_such_object_is_refused(stage: Stage, what: str) -> None:
    method, path, right, _ = ROUTES[what]
    before = await stored(stage)
    whole = json.dumps(right | {"subject": "HERE", "label": "HERE", "name": "HERE"}).encode()
    bodies = [
        b"", b"{", b"null", b"[]", b'"x"', b"5", b"\xff", b"\x00", b"{}{}", b"[" * 100_000, b'{"a":' * 100_000,
        whole.replace(b"HERE", b"\xff\xfe"), whole.replace(b"HERE", b"\\ud83d"), whole.replace(b"HERE", b"\x00"),
        json.dumps([right]).encode(), b"<xml/>", b"to=x", json.dumps(right).encode("utf-16"),
    ]  # fmt: skip
    for body in bodies:
        refused(await stage.call(method, path, body=body, headers={"content-type": "application/json"}))
    assert await stored(stage) == before


@ON_SQLITE
async def test_a_body_beyond_all_measure_is_too_large(stage: Stage) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO | {"subject": "x" * 20_000_000})
    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.json["detail"] == "the body of this request may have at most 10000000 bytes"
    refused(answer)


PAYLOADS: dict[str, Any] = {
    "a megabyte of text": {"text": MEGABYTE},
    "a megabyte elsewhere": {"type": "image", "image": {"link": MEGABYTE}},
    "a megabyte as a type": {"type": MEGABYTE},
    "a megabyte as a name": {"type": "text", "text": {"body": "x"}, MEGABYTE: 1},
    "a megabyte of opaque data": {"text": "x", "biz_opaque_callback_data": MEGABYTE},
    "opaque data that is no text": {"text": "x", "biz_opaque_callback_data": 5},
    "a list of types": {"type": ["text"], "text": {"body": "x"}},
    "a text that is none": {"type": "text", "text": 5},
    "a body that is none": {"type": "text", "text": {"body": 5}},
    "no text": {"text": ""},
    "only spaces": {"text": " \n\t"},
    "a type without its object": {"type": "image"},
}


@ON_SQLITE
async def test_a_payload_that_can_never_be_sent_is_refused(stage: Stage) -> None:
    for what, payload in PAYLOADS.items():
        answer = await stage.call("POST", MESSAGES, HELLO | {"payloadJson": payload})
        refused(answer, "payloadJson")
        assert answer.code == "invalid_payload", what
    for payload in ({"language": ""}, {"language": 5}, {"language": {}}, {"language": "en", "components": {}}, {}):
        answer = await stage.call("POST", MESSAGES, HELLO | {"templateCode": "hello_world", "payloadJson": payload})
        refused(answer, "payloadJson")
    assert await stage.get(MESSAGES) == []


@pytest.mark.parametrize("brackets", ["[]", "{}"])
@ON_SQLITE
async def test_a_payload_of_any_depth_is_taken_or_refused_and_never_a_bug(stage: Stage, brackets: str) -> None:
    for depth in (10, 30, 40, 100, 300, 500, 800, 850, 900, 910, 920, 930, 940, 950, 960, 970, 980, 990, 1000, 5000):
        deep = "[" * depth + "]" * depth if brackets == "[]" else '{"a":' * depth + "1" + "}" * depth
        body = json.dumps(HELLO | {"payloadJson": {"type": "x", "x": "HERE"}}).replace('"HERE"', deep)
        answer = await stage.call("POST", MESSAGES, body=body.encode())
        if depth > 32:
            refused(answer)
        else:
            assert answer.status == 201


async def test_what_a_payload_may_hold_comes_back_as_it_was(stage: Stage) -> None:
    odd = {"type": "x", "x": [10**30, -(2**63), 1e300, NUL, "\ud7ff\U0010ffff", "", None, True, {"": {}}]}
    posted = await stage.send(payloadJson=odd, scheduledAt="2090-01-01T00:00:00Z", subject="\ud7ff 😀 \u0001\u001f")
    assert (await stage.message(posted["id"]))["payloadJson"] == odd
    assert (await stage.message(posted["id"]))["subject"] == "\ud7ff 😀 \u0001\u001f"


async def test_of_a_key_that_is_there_twice_the_last_one_counts(stage: Stage) -> None:
    body = json.dumps(HELLO).replace('"to":', '"to": "nobody", "to":').encode()
    assert (await stage.call("POST", MESSAGES, body=body)).status == 201


@ON_SQLITE
async def test_the_edges_of_what_is_allowed_are_allowed(stage: Stage) -> None:
    for changed in (
        {"priority": 0}, {"priority": 9}, {"maxAttempts": 0}, {"maxAttempts": 10}, {"idempotencyKey": "ä" * 255},
        {"subject": ""}, {"subject": "x" * 1000}, {"payloadJson": {"text": "x" * 4096}}, {"to": "1234567"},
        {"to": "1" * 15}, {"scheduledAt": "2000-01-01T00:00:00Z"}, {"expiresAt": "2099-12-31T23:59:59Z"},
        {"scheduledAt": "2030-01-01T00:00:00.123456+05:30"}, {"templateCode": None, "dossierId": None, "from": None},
    ):  # fmt: skip
        answer = await stage.call("POST", MESSAGES, HELLO | changed)
        assert answer.status == 201, (changed, answer)


@ON_SQLITE
async def test_names_in_paths_that_nothing_can_have_are_not_found(stage: Stage) -> None:
    for name in ("%00", "a%00b", "%ff", "%ed%a0%80", "x" * 5000, "..%2f..", "%0a", "1001%0a", "😀"):
        for method, path, body in (
            ("PATCH", "/api/v1/numbers/{}", {}),
            ("DELETE", "/api/v1/numbers/{}", None),
            ("DELETE", "/api/v1/keys/{}", None),
            ("DELETE", "/api/v1/users/{}", None),
            ("POST", "/api/v1/users/{}/token", None),
            ("GET", "/api/v1/outbound/messages/{}", None),
        ):
            answer = await stage.call(method, path.format(name), body)
            assert (answer.status, answer.code) == (404, "not_found"), (method, path, name)
            assert len(answer.body) < 1000


async def test_names_in_paths_do_not_upset_any_database(stage: Stage) -> None:
    for path in ("/api/v1/numbers/a%00b", "/api/v1/keys/%00", "/api/v1/users/%00"):
        assert (await stage.call("DELETE", path)).status == 404


@ON_SQLITE
async def test_unknown_paths_and_methods_are_problems_too(stage: Stage) -> None:
    missing = await stage.call("GET", "/api/v1/nothing")
    assert (missing.status, missing.code) == (404, "not_found")
    refused(missing)
    for method, path in (
        ("PUT", MESSAGES),
        ("DELETE", MESSAGES),
        ("GET", "/api/v1/users/x/token"),
        ("POST", "/healthz"),
    ):
        answer = await stage.call(method, path)
        assert (answer.status, answer.code) == (405, "method_not_allowed"), (method, path)
        assert answer.headers["allow"]
        refused(answer)
