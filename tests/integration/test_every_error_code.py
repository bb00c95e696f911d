"""Every code of both catalogues goes through the whole server once, by the sandbox's magic numbers."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import Any

import pytest

from tests.integration.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.webhooks import a_number
from waypost.model.time import minutes
from waypost.rules.catalogue import Action, ErrorCode, parse, wait_for

pytestmark = ON_SQLITE
UNKNOWN = ErrorCode(code="987654", title="", action=Action.RETRY, meaning="")
RESTING = {"QUEUED", "FAILED"}


def rows(name: str) -> list[ErrorCode]:
    text = files("waypost.rules").joinpath("data", f"{name}_error_codes.csv").read_text()
    return parse(name, text).rows()


CATALOGUES = {"meta": rows("meta"), "seed": rows("seed")}


def met(row: ErrorCode) -> str:
    """The code by which a row is met: a range by its last, since its first has a row of its own."""
    return row.code.rpartition("-")[2]


def expected(row: ErrorCode, stage: Stage) -> dict[str, Any]:
    """Where a message stands after one try that met this code."""
    match row.action:
        case Action.RETRY:
            return {"status": "QUEUED", "attemptCount": 1, "nextRetryAt": stage.moment(minutes(1)), "deferredBy": None}
        case Action.FAIL:
            return {"status": "FAILED", "attemptCount": 1, "nextRetryAt": None, "deferredBy": None}
        case Action.WAIT:
            opens = stage.moment(wait_for(row.wait, 1, None))
            return {"status": "QUEUED", "attemptCount": 0, "nextRetryAt": opens, "deferredBy": "throttle"}
        case Action.HOLD:
            return {"status": "QUEUED", "attemptCount": 0, "nextRetryAt": None, "deferredBy": "hold"}


@pytest.mark.parametrize(("name", "count"), [("meta", 132), ("seed", 48)])
async def test_every_code_does_what_its_catalogue_says(stage: Stage, name: str, count: int) -> None:
    number = await connected(stage, name)
    tried = [*CATALOGUES[name], UNKNOWN]
    ids = await asyncio.gather(*(send(stage, met(row), number) for row in tried))
    stands = await settled(stage, set(ids))
    for row, message_id in zip(tried, ids, strict=True):
        wanted = {**expected(row, stage), "errorCode": met(row)}
        assert {field: stands[message_id][field] for field in wanted} == wanted, row
        await shown_in_its_attempt(stage, message_id, int(met(row)))
    assert len(stage.sandbox.calls.listed()) == count


async def connected(stage: Stage, name: str) -> str:
    """A number that goes by this catalogue, and has met nothing yet."""
    number = a_number(f"1003-{name}")
    stage.sandbox.numbers.add(number)
    given = {field: getattr(number, field) for field in stage.acme.as_connected} | {"error_catalogue": name}
    assert (await stage.call("POST", "/api/v1/numbers", given)).status == 201
    return number.phone_number_id


async def send(stage: Stage, code: str, number: str) -> int:
    answer = await stage.call("POST", MESSAGES, {**HELLO, "to": f"+1555000{code:0>6}", "from": number})
    assert answer.status == 201, answer
    return int(answer.json["id"])


async def settled(stage: Stage, ids: set[int]) -> dict[int, dict[str, Any]]:
    """The messages, once each of them has met its error."""

    async def look() -> dict[int, dict[str, Any]]:
        found = {message["id"]: message for message in await stage.get(f"{MESSAGES}?limit=1000")}
        rest = {i for i in ids if found[i]["errorCode"] and found[i]["status"] in RESTING}
        return found if rest == ids else {}

    return await stage.eventually(look)


async def shown_in_its_attempt(stage: Stage, message_id: int, code: int) -> None:
    (attempt,) = await stage.attempts(message_id)
    assert (attempt["status"], attempt["errorCode"]) == ("FAILED", str(code))
    assert attempt["providerResponseJson"]["error"]["code"] == code
    assert attempt["errorMessage"]
