"""Dossiers and consents over HTTP: found or opened, changed, refused by name; and what they do to a message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage
from tests.integration.stage.webhooks import PHONE, Account
from waypost.model.time import seconds

DOSSIERS = "/api/v1/dossiers"
CONSENTS = "/api/v1/outbound/consents"
AUDIT = "/api/v1/outbound/audit"
ACTIVITIES = "/api/v1/outbound/activities"
OTHER = "+16505559999"
TEMPLATE: dict[str, Any] = {"templateCode": "hello_world", "payloadJson": {"language": "en_US"}}
"""Not subject to the 24-hour window."""


async def opened(stage: Stage, account: Account | None = None, **person: Any) -> dict[str, Any]:
    answer = await stage.call("POST", DOSSIERS, person or {"phone": PHONE}, key=(account or stage.acme).key)
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.json
    return found


async def says(stage: Stage, dossier: int, status: str, channel: str = "WHATSAPP") -> dict[str, Any]:
    answer = await stage.call("PUT", CONSENTS, {"dossierId": dossier, "channel": channel, "status": status})
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.json
    return found


async def trail(stage: Stage, query: str = "", key: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await stage.get(f"{AUDIT}?limit=1000{query}", key))["content"]
    moments = [entry["at"] for entry in found]
    assert moments == sorted(moments, reverse=True)
    assert len({entry["id"] for entry in found}) == len(found)
    return found


async def of_dossier(stage: Stage, dossier: int) -> list[dict[str, Any]]:
    return await trail(stage, f"&entityType=DOSSIER&entityId={dossier}")


async def key_with(stage: Stage, role: str) -> dict[str, Any]:
    made: dict[str, Any] = (await stage.call("POST", "/api/v1/keys", {"role": role})).json
    return made


# Dossiers


async def test_a_dossier_is_opened_once_and_then_found(stage: Stage) -> None:
    person: dict[str, Any] = {
        "phone": "+1 (650) 555-1234",
        "email": "ada@Example.COM",
        "name": "Ada",
        "externalRef": "crm-7",
    }
    dossier = await opened(stage, **person)
    assert isinstance(dossier["id"], int)
    shown = {name: dossier[name] for name in (*person, "status")}
    assert shown == {
        "phone": PHONE, "email": "ada@example.com", "name": "Ada", "externalRef": "crm-7", "status": "NEW"
    }  # fmt: skip
    assert dossier["createdAt"] == dossier["updatedAt"]
    for again in (
        {"phone": PHONE},
        {"externalRef": "crm-7", "name": "other"},
        {"phone": OTHER, "externalRef": "crm-7"},
    ):
        answer = await stage.call("POST", DOSSIERS, again)
        assert (answer.status, answer.json) == (200, dossier)
    assert await stage.get(f"{DOSSIERS}/{dossier['id']}") == dossier
    phone, ref = "phone=16505551234", "externalRef=crm-7"
    for query in ("?phone=%2B16505551234", f"?{phone}", f"?{ref}", f"?{phone}&{ref}", ""):
        assert (await stage.get(DOSSIERS + query))["content"] == [dossier], query
    assert (await stage.get(f"{DOSSIERS}?phone=16505559999"))["content"] == []


async def test_of_many_callers_at_once_one_opens_the_dossier(stage: Stage) -> None:
    await stage.add_server()
    answers = await asyncio.gather(*(stage.call("POST", DOSSIERS, {"phone": PHONE}) for _ in range(12)))
    assert sorted(answer.status for answer in answers) == [200] * 11 + [201]
    assert len({answer.json["id"] for answer in answers}) == 1


async def test_a_dossier_is_changed_by_what_is_sent(stage: Stage) -> None:
    dossier = await opened(stage, phone=PHONE, name="Ada", externalRef="crm-7")
    stage.manual.advance(seconds(1))
    path = f"{DOSSIERS}/{dossier['id']}"
    answer = await stage.call("PATCH", path, {"name": None, "email": "ada@example.com", "status": "WON"})
    assert answer.status == 200
    changed = dossier | {"name": None, "email": "ada@example.com", "status": "WON"}
    assert answer.json == changed | {"updatedAt": answer.json["updatedAt"]}
    assert answer.json["updatedAt"] > dossier["updatedAt"]
    assert await stage.get(path) == answer.json
    newest, first = await of_dossier(stage, dossier["id"])
    assert (newest["action"], newest["details"]) == ("UPDATED", "changed: email, name, status")
    assert first["action"] == "CREATED"


async def test_two_people_are_not_mixed_up(stage: Stage) -> None:
    one, two = await opened(stage, phone=PHONE), await opened(stage, externalRef="crm-7")
    both = await stage.call("POST", DOSSIERS, {"phone": PHONE, "externalRef": "crm-7"})
    assert (both.status, both.code) == (409, "dossier_conflict")
    taken = await stage.call("PATCH", f"{DOSSIERS}/{two['id']}", {"phone": PHONE})
    assert (taken.status, taken.code, taken.json["field"]) == (409, "dossier_conflict", "phone")
    assert str(one["id"]) in taken.json["detail"]
    taken = await stage.call("PATCH", f"{DOSSIERS}/{one['id']}", {"externalRef": "crm-7"})
    assert (taken.status, taken.json["field"]) == (409, "externalRef")


async def test_another_orgs_dossier_is_not_there(stage: Stage) -> None:
    theirs = (await opened(stage, stage.globex))["id"]
    ours = await opened(stage)
    assert ours["id"] != theirs
    refused = [
        await stage.call("GET", f"{DOSSIERS}/{theirs}"),
        await stage.call("PATCH", f"{DOSSIERS}/{theirs}", {"name": "stolen"}),
        await stage.call("PUT", CONSENTS, {"dossierId": theirs, "channel": "WHATSAPP", "status": "REVOKED"}),
        await stage.call("GET", f"{CONSENTS}?dossierId={theirs}"),
        await stage.call("GET", f"{ACTIVITIES}?dossierId={theirs}"),
    ]
    assert [answer.status for answer in refused] == [404] * 5
    assert [answer.code for answer in refused] == ["not_found"] * 2 + ["unknown_dossier"] * 3
    posted = await stage.call("POST", MESSAGES, HELLO | {"dossierId": theirs})
    assert (posted.status, posted.code, posted.json["field"]) == (422, "unknown_dossier", "dossierId")
    assert [found["id"] for found in (await stage.get(DOSSIERS))["content"]] == [ours["id"]]
    assert await of_dossier(stage, theirs) == []
    assert (await stage.get(f"{DOSSIERS}/{theirs}", stage.globex.key))["name"] is None


@ON_SQLITE
async def test_readers_read_and_senders_write(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    reader, sender = await key_with(stage, "readonly"), await key_with(stage, "sender")
    agent = (await stage.call("POST", "/api/v1/users", {"name": "Ada"})).json
    writes: list[tuple[str, str, Any]] = [
        ("POST", DOSSIERS, {"phone": PHONE}),
        ("PATCH", f"{DOSSIERS}/{dossier}", {"name": "Ada"}),
        ("PUT", CONSENTS, {"dossierId": dossier, "channel": "WHATSAPP", "status": "GRANTED"}),
    ]
    reads = [
        DOSSIERS, f"{DOSSIERS}/{dossier}", f"{CONSENTS}?dossierId={dossier}", AUDIT, f"{ACTIVITIES}?dossierId={dossier}"
    ]  # fmt: skip
    for path in reads:
        for key in (reader["key"], sender["key"], agent["token"]):
            assert (await stage.call("GET", path, key=key)).status == 200, path
        assert (await stage.call("GET", path, key="")).status == 401
    for method, path, body in writes:
        assert (await stage.call(method, path, body, key=reader["key"])).code == "wrong_role"
        assert (await stage.call(method, path, body, key=sender["key"])).status == 200
        assert (await stage.call(method, path, body, key=agent["token"])).status == 200
    actors = {entry["actor"] for entry in await of_dossier(stage, dossier)}
    assert {sender["key_id"], agent["user_id"]} <= actors


# Consent


async def test_consents_are_kept_by_channel(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    assert (await stage.get(f"{CONSENTS}?dossierId={dossier}"))["content"] == []
    put = await says(stage, dossier, "PENDING")
    assert (put["dossierId"], put["channel"], put["status"]) == (dossier, "WHATSAPP", "PENDING")
    await says(stage, dossier, "GRANTED")
    await says(stage, dossier, "REVOKED", "EMAIL")
    found = (await stage.get(f"{CONSENTS}?dossierId={dossier}"))["content"]
    assert [(each["channel"], each["status"]) for each in found] == [("EMAIL", "REVOKED"), ("WHATSAPP", "GRANTED")]
    changes = [e["details"] for e in await of_dossier(stage, dossier) if e["action"] == "CONSENT_CHANGED"]
    assert changes == [
        "EMAIL: REVOKED (before: not recorded)",
        "WHATSAPP: GRANTED (before: PENDING)",
        "WHATSAPP: PENDING (before: not recorded)",
    ]


async def post_for(stage: Stage, **changed: Any) -> Answer:
    return await stage.call("POST", MESSAGES, HELLO | TEMPLATE | changed)


async def test_with_a_dossier_its_latest_word_must_be_granted(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    for status in (None, "PENDING", "REVOKED"):
        if status:
            await says(stage, dossier, status)
        answer = await post_for(stage, dossierId=dossier)
        assert (answer.status, answer.code) == (422, "consent_required"), status
    assert await stage.get(MESSAGES) == []
    blocked = [e for e in await of_dossier(stage, dossier) if e["action"] == "BLOCKED_BY_POLICY"]
    assert len(blocked) == 3
    await says(stage, dossier, "GRANTED")
    sent = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(sent["id"], "DELIVERED")


async def test_without_a_dossier_only_a_revoked_address_blocks(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    for status in (None, "PENDING", "GRANTED"):
        if status:
            await says(stage, dossier, status)
        assert (await post_for(stage)).status == 201, status
    await says(stage, dossier, "REVOKED", "EMAIL")
    assert (await post_for(stage)).status == 201
    await says(stage, dossier, "REVOKED")
    answer = await post_for(stage)
    assert (answer.status, answer.code, answer.json["field"]) == (422, "consent_required", "to")
    assert (await post_for(stage, to=OTHER)).status == 201
    (blocked,) = await trail(stage, f"&entityType=ADDRESS&entityId=%2B{PHONE[1:]}")
    assert blocked["action"] == "BLOCKED_BY_POLICY"
    elsewhere = await stage.call("POST", MESSAGES, HELLO | TEMPLATE, key=stage.globex.key)
    assert elsewhere.status == 201, "one org's customers say nothing to another"


async def test_a_call_that_is_repeated_after_a_revocation_gets_its_first_answer(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    await says(stage, dossier, "GRANTED")
    wish = {"dossierId": dossier, "idempotencyKey": "k", **TEMPLATE}
    first = await stage.send(**wish)
    await stage.becomes(first["id"], "DELIVERED")
    await says(stage, dossier, "REVOKED")
    assert (await stage.send(200, **wish))["id"] == first["id"]
    assert (await post_for(stage, **(wish | {"idempotencyKey": "other"}))).code == "consent_required"


async def test_a_revocation_stops_what_is_still_queued(stage: Stage) -> None:
    dossier = (await opened(stage))["id"]
    await says(stage, dossier, "GRANTED")
    with_dossier = await stage.send(dossierId=dossier, scheduledAt=stage.moment(seconds(60)), **TEMPLATE)
    without = await stage.send(scheduledAt=stage.moment(seconds(60)), **TEMPLATE)
    await says(stage, dossier, "REVOKED")
    await stage.pass_time(seconds(61))
    for posted in (with_dossier, without):
        await stage.becomes(posted["id"], "FAILED", errorCode="CONSENT_REQUIRED")
        actions = [e["action"] for e in await trail(stage, f"&entityType=OUTBOUND_MESSAGE&entityId={posted['id']}")]
        assert actions == ["FAILED", "BLOCKED_BY_POLICY", "CREATED"]
        stage.manual.advance(seconds(1))  # the number's pace: the next one has its turn a moment later
    assert stage.calls() == []
    (blocked,) = [e for e in await of_dossier(stage, dossier) if e["action"] == "BLOCKED_BY_POLICY"]
    assert f"message {with_dossier['id']}" in blocked["details"]


# Input

BAD: dict[str, list[Any]] = {
    "phone": [7, True, [], {}, "", "12345", "+1 555", "x" * 65, "+4915x00000000", "a@b.c", "+1\x00650555123456"],
    "email": [7, False, [], "", "ada", "a@b", "a b@c.de", "a@b.d\n", "a\x00@b.de", "x" * 250 + "@b.de", "A <a@b.de>"],
    "name": [7, True, {}, "", "a\x00b", "x" * 256],
    "externalRef": [7, [], "", "a\x00b", "x" * 256],
    "status": [None, 7, "", "won", "A B", "WON\n", "X" * 41, "É"],
}  # fmt: skip


@pytest.mark.parametrize("field", BAD)
async def test_what_cannot_be_in_a_dossier_is_refused_by_name(stage: Stage, field: str) -> None:
    dossier = await opened(stage, phone=OTHER)
    calls = [("PATCH", f"{DOSSIERS}/{dossier['id']}")] + ([("POST", DOSSIERS)] if field != "status" else [])
    for value in BAD[field]:
        for method, path in calls:
            answer = await stage.call(method, path, {field: value})
            assert (answer.status, answer.code) == (422, "invalid_payload"), (value, answer)
            assert answer.json["field"] == field, (value, answer)
            assert len(answer.body) < 1000
    assert (await stage.get(DOSSIERS))["content"] == [dossier]


BAD_CONSENT: dict[str, list[Any]] = {
    "dossierId": [None, "1", 0, -1, 2**63, 1.5, True, []],
    "channel": [None, 7, "", "whatsapp", "FAX", "WHATSAPP\n", {}],
    "status": [None, 7, "", "granted", "MAYBE", []],
}


@pytest.mark.parametrize("field", BAD_CONSENT)
@ON_SQLITE
async def test_what_is_no_consent_is_refused_by_name(stage: Stage, field: str) -> None:
    dossier = (await opened(stage))["id"]
    good = {"dossierId": dossier, "channel": "WHATSAPP", "status": "GRANTED"}
    for value in BAD_CONSENT[field]:
        answer = await stage.call("PUT", CONSENTS, good | {field: value})
        assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", field), (value, answer)
    left_out = {name: value for name, value in good.items() if name != field}
    answer = await stage.call("PUT", CONSENTS, left_out)
    assert (answer.status, answer.json["field"]) == (422, field)
    assert (await stage.get(f"{CONSENTS}?dossierId={dossier}"))["content"] == []


@ON_SQLITE
async def test_bodies_that_are_none_are_refused(stage: Stage) -> None:
    for method, path in (("POST", DOSSIERS), ("PUT", CONSENTS)):
        for body in (b"", b"{", b"[]", b'"x"', b"null", b'{"phone": "\xff"}', b"[" * 5000 + b"]" * 5000):
            answer = await stage.call(method, path, body=body)
            assert answer.status in (400, 422), (path, body[:20], answer)
            assert answer.code in ("invalid_json", "invalid_payload")
        unknown = await stage.call(method, path, {"surprise": 1})
        assert (unknown.status, unknown.json["field"]) == (422, "surprise")
    empty = await stage.call("POST", DOSSIERS, {})
    assert (empty.status, empty.code) == (422, "invalid_payload")
    nobody = await stage.call("POST", DOSSIERS, {"phone": None, "name": None})
    assert nobody.status == 422


QUERIES = [
    (f"{DOSSIERS}?phone=abc", "phone"),
    (f"{DOSSIERS}?phone=", "phone"),
    (f"{DOSSIERS}?externalRef=a%00b", "externalRef"),
    (f"{DOSSIERS}?limit=0", "limit"),
    (f"{CONSENTS}", "dossierId"),
    (f"{CONSENTS}?dossierId=x", "dossierId"),
    (f"{CONSENTS}?dossierId=0", "dossierId"),
    (f"{ACTIVITIES}", "dossierId"),
    (f"{ACTIVITIES}?dossierId=9223372036854775808", "dossierId"),
    (f"{ACTIVITIES}?dossierId=1&limit=1001", "limit"),
    (f"{AUDIT}?entityId=7", "entityType"),
    (f"{AUDIT}?entityType={'x' * 41}", "entityType"),
    (f"{AUDIT}?entityType=DOSSIER&entityId=a%00b", "entityId"),
    (f"{AUDIT}?limit=many", "limit"),
]


@pytest.mark.parametrize(("path", "field"), QUERIES)
@ON_SQLITE
async def test_parameters_that_cannot_be_read_are_named(stage: Stage, path: str, field: str) -> None:
    answer = await stage.call("GET", path)
    assert (answer.status, answer.code, answer.json["field"]) == (400, "invalid_parameter", field), answer


@pytest.mark.parametrize("dossier", ["0", "-1", "9223372036854775807", "9223372036854775808", "99999999999999999999"])
async def test_a_number_that_no_dossier_has_is_not_found(stage: Stage, dossier: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"name": "x"})):
        answer = await stage.call(method, f"{DOSSIERS}/{dossier}", body)
        assert (answer.status, answer.code) == (404, "not_found")


@ON_SQLITE
async def test_national_numbers_are_understood_where_a_region_is_set(set_up: OpenStage) -> None:
    stage = await set_up(default_region="DE")
    dossier = await opened(stage, phone="030 901820")
    assert dossier["phone"] == "+4930901820"
    assert (await stage.get(f"{DOSSIERS}?phone=030901820"))["content"] == [dossier]
