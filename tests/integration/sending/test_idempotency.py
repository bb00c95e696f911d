"""One key, one message: however often, however many at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage


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


@ON_SQLITE
@pytest.mark.parametrize("key", ["turn:1-0-1:1", "consent:1001:abc"])
async def test_a_key_that_a_reply_of_ours_may_have_is_refused(stage: Stage, key: str) -> None:
    in_body = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": key})
    in_header = await stage.call("POST", MESSAGES, HELLO, headers={"idempotency-key": key})
    for answer in (in_body, in_header):
        assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", "idempotencyKey")
        assert "must not begin with turn:, consent: or post:" in answer.json["detail"]
    assert await stage.get(MESSAGES) == []


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
