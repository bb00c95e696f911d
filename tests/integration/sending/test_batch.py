"""Many messages in one call: one answer for each, in order, whatever becomes of its neighbours."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage
from waypost.runtime.process.server import ProcessRole

BATCH = f"{MESSAGES}/batch"


@pytest.fixture
async def quiet(set_up: OpenStage) -> Stage:
    return await set_up(roles=frozenset({ProcessRole.API}))


async def post(stage: Stage, *messages: Any, **more: Any) -> Answer:
    return await stage.call("POST", BATCH, {"messages": list(messages)}, **more)


def statuses(answer: Answer) -> list[int]:
    assert answer.status == 207, answer
    return [result["status"] for result in answer.json["results"]]


async def count(stage: Stage) -> int:
    total: int = (await stage.get(f"{MESSAGES}/paginated"))["totalElements"]
    return total


async def test_each_message_has_its_own_result_in_order(quiet: Stage) -> None:
    wrong = [
        {**HELLO, "to": "12"},
        {**HELLO, "priority": "high"},
        7,
        {**HELLO, "from": "9"},
        {**HELLO, "channel": "SMS"},
    ]
    answer = await post(quiet, HELLO, *wrong, {**HELLO, "to": "+16505550002"})
    assert statuses(answer) == [201, 422, 422, 422, 404, 422, 201]
    results = answer.json["results"]
    codes = [result["error"]["code"] for result in results[1:-1]]
    assert codes == ["invalid_recipient", "invalid_payload", "invalid_payload", "unknown_number", "unsupported_channel"]
    assert [result["error"].get("field") for result in results[1:-1]] == ["to", "priority", None, "from", "channel"]
    assert [set(result) for result in results] == [
        {"status", "message"},
        *[{"status", "error"}] * 5,
        {"status", "message"},
    ]
    assert results[0]["message"]["id"] < results[-1]["message"]["id"]
    assert await quiet.message(results[-1]["message"]["id"]) == results[-1]["message"]
    assert await count(quiet) == 2


async def test_a_key_counts_for_its_message_also_within_the_batch(quiet: Stage) -> None:
    keyed = {**HELLO, "idempotencyKey": "one"}
    other = {**keyed, "payloadJson": {"text": "other"}}
    first = await post(quiet, keyed, keyed, other, {**HELLO, "idempotencyKey": "two"})
    assert statuses(first) == [201, 200, 409, 201]
    results = first.json["results"]
    assert results[0]["message"] == results[1]["message"]
    assert results[2]["error"]["code"] == "idempotency_conflict"
    again = await post(quiet, keyed, keyed, other, {**HELLO, "idempotencyKey": "two"})
    assert statuses(again) == [200, 200, 409, 200]
    assert again.json["results"][3]["message"]["id"] == results[3]["message"]["id"]
    assert await count(quiet) == 2


async def test_a_thousand_are_stored_in_order_and_again_change_nothing(quiet: Stage) -> None:
    messages = [{**HELLO, "idempotencyKey": f"key-{n}", "payloadJson": {"text": f"{n}"}} for n in range(1000)]
    answer = await post(quiet, *messages)
    assert statuses(answer) == [201] * 1000
    ids = [result["message"]["id"] for result in answer.json["results"]]
    assert ids == sorted(ids)
    again = await post(quiet, *messages)
    assert [result["message"]["id"] for result in again.json["results"]] == ids
    assert statuses(again) == [200] * 1000
    assert await count(quiet) == 1000


async def test_what_the_database_cannot_store_fails_alone(quiet: Stage) -> None:
    await quiet.database.refuse_writes("message")
    assert statuses(await post(quiet, HELLO, HELLO)) == [422, 422]
    await quiet.database.take_writes("message")
    assert statuses(await post(quiet, HELLO, HELLO)) == [201, 201]


async def test_an_ordered_batch_goes_in_its_order(quiet: Stage) -> None:
    answer = await post(quiet, *[{**HELLO, "ordered": True}] * 3)
    first, second, third = [result["message"]["id"] for result in answer.json["results"]]
    assert first < second < third
    for waiting in (second, third):
        assert f"behind message {first}" in (await quiet.get(f"{MESSAGES}/{waiting}/timeline"))["why"]


@ON_SQLITE
@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"messages": []}, 422, "invalid_payload", "messages"),
        ({"messages": [HELLO] * 1001}, 422, "invalid_payload", "messages"),
        ({"messages": {}}, 422, "invalid_payload", "messages"),
        ({}, 422, "invalid_payload", "messages"),
        ({"messages": [HELLO], "more": 1}, 422, "invalid_payload", "more"),
        ([HELLO], 422, "invalid_payload", None),
        (b'{"messages": [', 400, "invalid_json", "messages"),
        (b"\xff", 400, "invalid_json", None),
    ],
)
async def test_a_batch_that_is_none_is_refused_whole(
    quiet: Stage, body: Any, status: int, code: str, field: str | None
) -> None:
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    answer = await quiet.call("POST", BATCH, body=content)
    assert (answer.status, answer.code, answer.json.get("field")) == (status, code, field)
    assert await count(quiet) == 0


@ON_SQLITE
async def test_hostile_items_leave_their_neighbours_alone(quiet: Stage) -> None:
    nasty = [
        b'{"channel":"WHATSAPP","to":"+1650\\u00005551234","payloadJson":{"text":"hi"}}',
        b'{"channel":"WHATSAPP","to":"+16505551234","payloadJson":{"text":"' + b"x" * 1_000_000 + b'"}}',
        b'{"channel":"WHATSAPP","to":"+16505551234","idempotencyKey":"\\u0000","payloadJson":{"text":"hi"}}',
        b"null",
    ]
    fine = msgspec.json.encode(HELLO)
    for item in nasty:
        answer = await quiet.call("POST", BATCH, body=b'{"messages":[' + b",".join([fine, item, fine]) + b"]}")
        first, second, third = statuses(answer)
        assert (first, third) == (201, 201)
        assert second == 422, (item[:80], answer.json["results"][1])


@ON_SQLITE
@pytest.mark.parametrize("text", [b'"\xc3\x28"', b'"\\ud83d"', b"[" * 5000 + b"]" * 5000])
async def test_what_is_no_json_stores_nothing(quiet: Stage, text: bytes) -> None:
    item = b'{"channel":"WHATSAPP","to":"+16505551234","payloadJson":{"text":' + text + b"}}"
    answer = await quiet.call("POST", BATCH, body=b'{"messages":[' + item + b"]}")
    assert answer.status == 400 or 400 <= statuses(answer)[0] < 500, answer
    assert await count(quiet) == 0


@ON_SQLITE
async def test_who_may_only_read_sends_no_batch(quiet: Stage) -> None:
    key = (await quiet.call("POST", "/api/v1/keys", {"role": "readonly"})).json["key"]
    assert (await post(quiet, HELLO, key=key)).code == "wrong_role"
    assert (await post(quiet, HELLO, key="")).code == "not_authenticated"
