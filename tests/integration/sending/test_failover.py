"""A number whose account has trouble, and the number that takes over, against the sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, a_number
from waypost.model.time import seconds

NUMBERS = "/api/v1/numbers"
SECOND = "1002"


async def with_second(stage: Stage) -> None:
    """Acme connects another number, of another business account, that takes over for its first."""
    number = a_number(SECOND)
    stage.sandbox.numbers.add(number)
    names = ("phone_number_id", "waba_id", "token", "app_secret", "verify_token")
    answer = await stage.call("POST", NUMBERS, {name: getattr(number, name) for name in names})
    assert answer.status == 201, answer
    answer = await stage.call("PATCH", f"{NUMBERS}/1001", {"failover": SECOND})
    assert (answer.status, answer.json["failover"]) == (200, SECOND)


async def rounds(stage: Stage) -> None:
    """The search for outages has run again."""
    await stage.pass_time(seconds(2))


@pytest.fixture
async def two(set_up: OpenStage) -> Stage:
    stage = await set_up(outbound_window="ignore")
    await with_second(stage)
    return stage


async def test_an_expired_token_sends_from_the_other_number_and_only_once(two: Stage) -> None:
    await two.fault(error_code=190, times=1)
    posted = await two.send(from_="1001")
    await two.becomes(posted["id"], "QUEUED", errorCode="190")
    await rounds(two)
    sent = await two.becomes(posted["id"], "DELIVERED")
    assert (sent["from"], sent["attemptCount"]) == (SECOND, 1)
    assert "failed_over" in await two.kinds(posted["id"])
    assert len(two.accepted()) == 1


@ON_SQLITE
async def test_an_unsure_message_waits_for_its_own_number(two: Stage) -> None:
    await two.fault(drop_response=True, statuses="never", echo=False, times=1)
    unsure = await two.unsure(from_="1001")
    await two.fault(error_code=190, times=1)
    other = await two.send(from_="1001", to="+16505550000")
    await rounds(two)
    await two.becomes(other["id"], "QUEUED", errorCode="190")
    await rounds(two)
    await two.becomes(other["id"], "DELIVERED", **{"from": SECOND})
    await two.grow_stale()
    for _ in range(3):
        await rounds(two)
    waiting = await two.becomes(unsure, "QUEUED")
    assert waiting["from"] == "1001"
    assert len(two.calls(PHONE)) == 1


@ON_SQLITE
async def test_a_failover_is_named_and_taken_back(two: Stage) -> None:
    listed = {number["phone_number_id"]: number["failover"] for number in await two.get(NUMBERS)}
    assert listed == {"1001": SECOND, SECOND: None}
    answer = await two.call("PATCH", f"{NUMBERS}/1001", {"failover": None})
    assert answer.json["failover"] is None


@ON_SQLITE
@pytest.mark.parametrize(
    ("number", "body"),
    [
        ("1001", {"failover": "1001"}),
        ("1001", {"failover": "2001"}),
        ("1001", {"failover": "nobody"}),
        ("1001", {"failover": "not a number!"}),
        (SECOND, {"failover": "1003"}),
        ("1003", {"failover": "1001"}),
    ],
    ids=["itself", "another org's", "unknown", "no id", "a hop after a hop", "a hop before a hop"],
)
async def test_a_failover_that_cannot_be_is_refused(number: str, body: dict[str, Any], two: Stage) -> None:
    third = a_number("1003")
    names = ("phone_number_id", "waba_id", "token", "app_secret", "verify_token")
    await two.call("POST", NUMBERS, {name: getattr(third, name) for name in names})
    answer = await two.call("PATCH", f"{NUMBERS}/{number}", body)
    assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", "failover"), answer


@ON_SQLITE
async def test_two_numbers_may_stand_in_for_each_other(two: Stage) -> None:
    answer = await two.call("PATCH", f"{NUMBERS}/{SECOND}", {"failover": "1001"})
    assert answer.status == 200
