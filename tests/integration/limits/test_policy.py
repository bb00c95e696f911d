"""What an org sets for itself over HTTP, and that the steps enforce it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Delivery
from waypost.model.time import hours, minutes, seconds, to_datetime
from waypost.rules.limits import breaker
from waypost.rules.limits.gates import PROBE_AFTER, of_org

POLICY = "/api/v1/policy"
NOWHERE = "+15550001111"
"""Of no place that the numbering plan knows."""


@pytest.fixture
async def stage(set_up: OpenStage) -> Stage:
    return await set_up(outbound_window="ignore")


async def put(stage: Stage, **policy: Any) -> None:
    answer = await stage.call("PUT", POLICY, policy)
    assert answer.status == 200, answer


def around_now(stage: Stage, **more: Any) -> dict[str, Any]:
    """Quiet hours that began an hour ago and end in an hour, by UTC."""
    now = to_datetime(stage.clock.now())
    return {"from": f"{now - timedelta(hours=1):%H:%M}", "to": f"{now + timedelta(hours=1):%H:%M}", **more}


async def delivery(stage: Stage, message_id: int) -> Delivery:
    found = await stage.world.ledger.lookup.delivery(MessageId(message_id))
    assert found is not None
    return found


async def put_off(stage: Stage, message_id: int) -> Delivery:
    async def look() -> Delivery | None:
        found = await delivery(stage, message_id)
        return found if found.deferred_by else None

    found = await stage.eventually(look)
    assert found
    return found


async def test_a_policy_is_read_replaced_and_merged(stage: Stage) -> None:
    told = await stage.get(POLICY)
    assert told["policy"] == {}
    assert told["defaults"]["backoffMinutes"] == [1, 5, 15, 60, 360]
    assert told["defaults"]["unsure"] == "requeue"
    assert told["defaults"]["turns"]["quietSec"] == 3
    await put(stage, unsure="park", defaultRegion="DE")
    answer = await stage.call("PATCH", POLICY, {"unsure": None, "backoffMinutes": [2, 4.5]})
    assert answer.json["policy"] == {"defaultRegion": "DE", "backoffMinutes": [2, 4.5]}
    await put(stage)
    assert (await stage.get(POLICY))["policy"] == {}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"unsure": "maybe"}, "unsure"),
        ({"quietHours": {"from": "late", "to": "08:00"}}, "quietHours.from"),
        ({"quietHours": {"from": "21:00", "to": "08:00", "timezone": "Mars"}}, "quietHours.timezone"),
        ({"turns": {"quietSec": 66}}, "turns.quietSec"),
        ({"colour": "blue"}, "colour"),
        ({"budget": {"amount": "5"}}, "budget"),
    ],
)
@ON_SQLITE
async def test_what_cannot_be_is_refused_by_its_field_and_changes_nothing(
    stage: Stage, method: str, given: dict[str, Any], field: str
) -> None:
    await put(stage, defaultRegion="DE")
    answer = await stage.call(method, POLICY, given)
    assert (answer.status, answer.json["field"]) == (422, field)
    assert (await stage.get(POLICY))["policy"] == {"defaultRegion": "DE"}


@ON_SQLITE
async def test_only_an_admin_sees_it_and_each_org_has_its_own(stage: Stage) -> None:
    await put(stage, unsure="park")
    assert (await stage.get(POLICY, stage.globex.key))["policy"] == {}
    key = (await stage.call("POST", "/api/v1/keys", {"role": "sender", "label": ""})).json["key"]
    for method in ("GET", "PUT", "PATCH"):
        assert (await stage.call(method, POLICY, {} if method != "GET" else None, key=key)).code == "wrong_role"


async def test_quiet_hours_put_a_message_off_without_a_try(stage: Stage) -> None:
    await put(stage, quietHours=around_now(stage))
    posted = await stage.send(to=NOWHERE)
    stands = await put_off(stage, posted["id"])
    assert (stands.deferred_by, stands.tries) == ("quiet", 0)
    assert stands.due_at is not None
    assert minutes(59) <= stands.due_at - stage.clock.now() <= minutes(60)
    assert stage.calls(NOWHERE) == []
    assert "deferred" in await stage.kinds(posted["id"])
    stage.manual.advance(hours(1))
    stage.wake()
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)


@ON_SQLITE
async def test_the_recipients_own_clock_counts_where_it_is_known(stage: Stage) -> None:
    """Tokyo is nine hours ahead: what is quiet by UTC is not quiet there."""
    await put(stage, quietHours=around_now(stage, timezone="UTC"))
    posted = await stage.send(to="+81312345678")
    await stage.becomes(posted["id"], "DELIVERED")


@ON_SQLITE
async def test_an_exempt_priority_goes_at_night_and_another_org_is_not_concerned(stage: Stage) -> None:
    await put(stage, quietHours=around_now(stage, exemptPriority=9))
    urgent = await stage.send(priority=9, to=NOWHERE)
    await stage.becomes(urgent["id"], "DELIVERED")
    theirs = await stage.call(
        "POST",
        MESSAGES,
        {"channel": "WHATSAPP", "to": "+15550002222", "payloadJson": {"text": "x"}},
        key=stage.globex.key,
    )
    assert theirs.status == 201

    async def sent() -> bool:
        return bool(stage.accepted("+15550002222"))

    assert await stage.eventually(sent)


@ON_SQLITE
async def test_a_message_that_would_expire_in_the_night_ends_at_its_time(stage: Stage) -> None:
    await put(stage, quietHours=around_now(stage))
    posted = await stage.send(to=NOWHERE, expiresAt=stage.moment(minutes(10)))
    stands = await put_off(stage, posted["id"])
    assert stands.due_at == stage.clock.now() + minutes(10)
    stage.manual.advance(minutes(10))
    stage.wake()
    await stage.becomes(posted["id"], "CANCELLED", errorCode="EXPIRED")
    assert stage.calls(NOWHERE) == []


@ON_SQLITE
async def test_taking_the_quiet_hours_away_is_seen_by_what_is_sent_next(stage: Stage) -> None:
    await put(stage, quietHours=around_now(stage))
    first = await stage.send(to=NOWHERE)
    await put_off(stage, first["id"])
    await put(stage)
    stage.manual.advance(seconds(1))  # the first one drew a permit of the number's pace
    second = await stage.send(to="+15550003333")
    await stage.becomes(second["id"], "DELIVERED")


async def test_a_retry_waits_as_long_as_the_org_says(stage: Stage) -> None:
    await put(stage, backoffMinutes=[7])
    await stage.fault(error_code=131000, times=1)
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", errorCode="131000")
    due_at = (await delivery(stage, posted["id"])).due_at
    assert due_at is not None
    assert minutes(7) - seconds(1) <= due_at - stage.clock.now() <= minutes(7.8)


async def test_the_org_chooses_what_becomes_of_an_unsure_try(stage: Stage) -> None:
    await put(stage, unsure="park")
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    await stage.grow_stale()
    assert (await delivery(stage, message_id)).parked
    assert len(stage.calls()) == 1


@ON_SQLITE
async def test_national_numbers_are_read_by_the_orgs_own_region(stage: Stage) -> None:
    assert (await stage.call("POST", MESSAGES, {"channel": "WHATSAPP", "to": "030 1234567"})).status == 422
    await put(stage, defaultRegion="DE")
    assert (await stage.send(to="030 1234567"))["to"] == "+49301234567"
    assert len(await stage.get(f"{MESSAGES}?to=030%201234567")) == 1


@ON_SQLITE
async def test_above_its_request_rate_an_org_is_told_when_to_come_back(stage: Stage) -> None:
    await put(stage, requestRate={"perSecond": 0.5, "burst": 3})
    stage.manual.advance(minutes(1))
    answers = [await stage.call("GET", MESSAGES) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].code == "rate_limited"
    assert answers[-1].headers["retry-after"] == "2"
    assert (await stage.call("POST", MESSAGES, {"channel": "WHATSAPP"})).status == 429
    assert (await stage.call("GET", MESSAGES, key=stage.globex.key)).status == 200
    assert (await stage.call("GET", "/healthz", key="")).status == 200
    stage.manual.advance(seconds(2))
    assert (await stage.call("GET", MESSAGES)).status == 200
    assert (await stage.call("GET", MESSAGES)).status == 429


@ON_SQLITE
async def test_a_server_may_limit_every_org_or_none(set_up: OpenStage) -> None:
    stage = await set_up(api_requests_per_second=1)
    stage.manual.advance(minutes(1))
    assert [(await stage.call("GET", MESSAGES)).status for _ in range(3)] == [200, 200, 429]


@ON_SQLITE
async def test_webhooks_are_never_limited(stage: Stage) -> None:
    await put(stage, requestRate={"perSecond": 0.01, "burst": 1})
    await stage.call("GET", MESSAGES)
    assert (await stage.call("GET", MESSAGES)).status == 429
    for _ in range(3):
        assert (await stage.post({"entry": []})).status != 429


async def test_a_probe_that_a_rule_stops_is_passed_on_to_the_next_message_at_once(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    await stage.world.ledger.gates.close(breaker.closing(OrgId("acme"), of_org(OrgId("acme"))), stage.clock.now())
    outside = [await stage.send(to=f"+1650555100{n}", priority=9) for n in range(3)]
    template: dict[str, Any] = {"templateCode": "hello_world", "payloadJson": {"language": "en_US"}}
    waiting = await stage.send(priority=0, **template)
    assert waiting["deferredBy"] == "breaker"
    await stage.pass_time(PROBE_AFTER)
    for message in outside:
        await stage.becomes(message["id"], "FAILED", errorCode="SESSION_EXPIRED")
    await stage.becomes(waiting["id"], "DELIVERED")
    assert (await stage.get("/api/v1/outbound/gates"))["content"] == []
