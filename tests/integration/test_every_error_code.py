"""Every code of both catalogues goes through the whole server once, by the sandbox's magic numbers."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

from tests.integration.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.webhooks import a_number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, minutes
from waypost.rules.catalogue import Action, ErrorCode, Scope, parse, wait_for

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
    """Where a message stands after one try that met this code; a wait or a hold costs it nothing."""
    match row.action:
        case Action.RETRY:
            return {"status": "QUEUED", "attemptCount": 1, "nextRetryAt": stage.moment(minutes(1))}
        case Action.FAIL:
            return {"status": "FAILED", "attemptCount": 1, "nextRetryAt": None}
        case Action.WAIT | Action.HOLD:
            return {"status": "QUEUED", "attemptCount": 0}


@pytest.mark.parametrize(("name", "count"), [("meta", 132), ("seed", 48)])
async def test_every_code_does_what_its_catalogue_says(stage: Stage, name: str, count: int) -> None:
    number = await connected(stage, name)
    for row in [*CATALOGUES[name], UNKNOWN]:
        message_id = await send(stage, met(row), number)
        stands = (await settled(stage, {message_id}))[message_id]
        wanted = {**expected(row, stage), "errorCode": met(row)}
        assert {field: stands[field] for field in wanted} == wanted, row
        await shown_in_its_attempt(stage, message_id, int(met(row)))
        await closed_what_it_should(stage, row, number)
        await clear_away(stage, message_id)
    assert len(stage.sandbox.calls.listed()) == count


SCOPES = {
    Scope.NUMBER: "number:{}",
    Scope.ACCOUNT: "account:waba-{}",
    Scope.APP: "org:acme",
    Scope.TEMPLATE: "number:{}",
}
"""The gate that a freeform message's code closes: without a template, its number's."""


async def closed_what_it_should(stage: Stage, row: ErrorCode, number: str) -> None:
    now = stage.clock.now()
    closed = [found.gate for found in await stage.world.ledger.gates.of_org(OrgId("acme"), now)]
    if row.action not in (Action.WAIT, Action.HOLD):
        assert closed == [], row
        return
    until = Instant(now + wait_for(row.wait, 1, None)) if row.action is Action.WAIT else None
    if row.scope is Scope.PAIR:
        (pair,) = await stage.world.ledger.windows.of([NumberId(number)], f"+1555000{met(row):0>6}")
        assert (closed, pair.blocked_until) == ([], until), row
        return
    kind = "throttle" if row.action is Action.WAIT else "hold"
    name = SCOPES[row.scope or Scope.NUMBER].format(number)
    assert [(gate.name, gate.kind, gate.until, gate.code) for gate in closed] == [(name, kind, until, met(row))], row


async def clear_away(stage: Stage, message_id: int) -> None:
    """Nothing is left of it that the next code could meet."""
    await stage.call("POST", f"{MESSAGES}/{message_id}/cancel")
    for found in await stage.world.ledger.gates.of_org(OrgId("acme"), stage.clock.now()):
        await stage.world.ledger.gates.open(found.gate.id)
    stage.world.just_closed.clear()
    stage.world.breakers.clear()


async def connected(stage: Stage, name: str) -> str:
    """A number that goes by this catalogue, and has met nothing yet."""
    number = a_number(f"1003-{name}")
    stage.sandbox.numbers.add(number)
    given = {field: getattr(number, field) for field in stage.acme.as_connected} | {"error_catalogue": name}
    assert (await stage.call("POST", "/api/v1/numbers", given)).status == 201
    await stage.without_pace()
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
