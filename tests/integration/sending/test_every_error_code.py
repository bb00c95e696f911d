"""Every code of both catalogues goes through the whole server once, by the sandbox's magic numbers."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_number
from waypost.model.gate import GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, minutes
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCode, ErrorScope, parse, wait_for

pytestmark = ON_SQLITE
UNKNOWN = ErrorCode(code="987654", title="", action=ErrorAction.RETRY, meaning="")
RESTING = {"QUEUED", "FAILED"}


def rows(name: str) -> list[ErrorCode]:
    text = files("waypost.rules.limits").joinpath("data", f"{name}_error_codes.csv").read_text()
    return parse(name, text).rows()


CATALOGUES = {"meta": rows("meta"), "seed": rows("seed")}


def met(row: ErrorCode) -> str:
    """The code that triggers a row: of a range its last, since its first has its own row."""
    return row.code.rpartition("-")[2]


def expected(row: ErrorCode, stage: Stage) -> dict[str, Any]:
    """The state of a message after one attempt with this code; a code that closes a gate costs no attempt."""
    match row.action:
        case ErrorAction.RETRY:
            return {"status": "QUEUED", "attemptCount": 1, "nextRetryAt": stage.moment(minutes(1))}
        case ErrorAction.FAIL:
            return {"status": "FAILED", "attemptCount": 1, "nextRetryAt": None}
        case ErrorAction.WAIT if row.scope is ErrorScope.PAIR:
            return {"status": "QUEUED", "attemptCount": 0, "nextRetryAt": stage.moment(wait_for(row.wait, 1, None))}
        case ErrorAction.WAIT | ErrorAction.HOLD:
            return {"status": "QUEUED", "attemptCount": 0}


def gate_of(row: ErrorCode, number: str) -> str | None:
    """The one gate that this code closes, if any; a freeform message has no template to hold."""
    match row.scope:
        case ErrorScope.NUMBER | ErrorScope.TEMPLATE:
            return f"number:{number}"
        case ErrorScope.ACCOUNT:
            return f"account:waba-{number}"
        case ErrorScope.APP:
            return "org:acme"
        case ErrorScope.PAIR | None:
            return None


@pytest.mark.parametrize(("name", "count"), [("meta", 132), ("seed", 48)])
async def test_every_code_does_what_its_catalogue_says(set_up: OpenStage, name: str, count: int) -> None:
    stage = await set_up(outbound_window="ignore")
    whole_org = [
        row for row in CATALOGUES[name] if row.scope is ErrorScope.APP
    ]  # last: what it closes stops the others too
    others = [row for row in [*CATALOGUES[name], UNKNOWN] if row not in whole_org]
    for some in (others, *([row] for row in whole_org)):
        numbers = [await connected(stage, name, met(row)) for row in some]
        ids = await asyncio.gather(*(send(stage, met(row), number) for row, number in zip(some, numbers, strict=True)))
        stands = await settled(stage, set(ids))
        for row, number, message_id in zip(some, numbers, ids, strict=True):
            wanted = {**expected(row, stage), "errorCode": met(row)}
            assert {field: stands[message_id][field] for field in wanted} == wanted, row
            await shown_in_its_attempt(stage, message_id, int(met(row)))
            await closes_its_gate_and_no_other(stage, row, number)
    assert len(stage.sandbox.calls.listed()) == count


async def closes_its_gate_and_no_other(stage: Stage, row: ErrorCode, number: str) -> None:
    """Each number has met only one code, so that code closed its gates."""
    now = stage.clock.now()
    shut = {closed.gate.name: closed for closed in await stage.world.ledger.gates.of_org(OrgId("acme"), now)}
    mine = {gate for gate in shut if gate.endswith(f"-{met(row)}")} | ({"org:acme"} & set(shut))
    name = gate_of(row, number)
    assert mine == ({name} if name else set()), row
    until = Instant(now + wait_for(row.wait, 1, None)) if row.action is ErrorAction.WAIT else None
    if name:
        gate = shut[GateName(name)].gate
        kind = GateKind.THROTTLE if row.action is ErrorAction.WAIT else GateKind.HOLD
        assert (gate.kind, gate.code, gate.until) == (kind, met(row), until), row
        assert shut[GateName(name)].waiting >= 1
    pairs = await stage.world.ledger.windows.of([NumberId(number)], phone(met(row)))
    blocked = {pair.blocked_until for pair in pairs if pair.blocked_until}
    assert blocked == ({until} if row.scope is ErrorScope.PAIR else set()), row


async def connected(stage: Stage, name: str, code: str) -> str:
    """A number in its own account, which uses this catalogue and will meet only this code."""
    number = a_number(f"1003-{name}-{code}")
    stage.sandbox.numbers.add(number)
    given = {field: getattr(number, field) for field in stage.acme.as_connected} | {"error_catalogue": name}
    assert (await stage.call("POST", "/api/v1/numbers", given)).status == 201
    return number.phone_number_id


def phone(code: str) -> str:
    """The sandbox's magic number of a code."""
    return f"+1555000{code:0>6}"


async def send(stage: Stage, code: str, number: str) -> int:
    answer = await stage.call("POST", MESSAGES, {**HELLO, "to": phone(code), "from": number})
    assert answer.status == 201, answer
    return int(answer.json["id"])


async def settled(stage: Stage, ids: set[int]) -> dict[int, dict[str, Any]]:
    """The messages, once each of them has met its error."""

    async def look() -> dict[int, dict[str, Any]]:
        found = {message["id"]: message for message in await stage.get(f"{MESSAGES}?limit=1000")}
        rest = {i for i in ids if found[i]["errorCode"] and found[i]["status"] in RESTING}
        return found if rest == ids else {}

    return await stage.eventually(look, deadline=20)


async def shown_in_its_attempt(stage: Stage, message_id: int, code: int) -> None:
    (attempt,) = await stage.attempts(message_id)
    assert (attempt["status"], attempt["errorCode"]) == ("FAILED", str(code))
    assert attempt["providerResponseJson"]["error"]["code"] == code
    assert attempt["errorMessage"]
