"""When a message is tried again, by itself or by a person, and when no more."""

from __future__ import annotations

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from waypost.model.ids import OrgId
from waypost.model.time import Span, minutes, seconds

MINUTE = minutes(1)


# Tries


async def test_tries_come_at_0_1_6_21_81_and_441_minutes(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send()
    for tried, wait in enumerate((1, 5, 15, 60, 360), start=1):
        waiting = await stage.becomes(posted["id"], "QUEUED", attemptCount=tried, errorCode="131000")
        assert waiting["nextRetryAt"] == stage.moment(minutes(wait))
        await stage.pass_time(Span(minutes(wait) - 1))
        stage.wake()
        assert (await stage.message(posted["id"]))["attemptCount"] == tried
        await stage.pass_time(Span(1))
    failed = await stage.becomes(posted["id"], "FAILED", attemptCount=6)
    assert (failed["errorCode"], failed["nextRetryAt"]) == ("131000", None)
    assert len(stage.calls()) == 6
    attempts = await stage.attempts(posted["id"])
    assert [(a["attemptNo"], a["status"]) for a in attempts] == [(n, "FAILED") for n in range(1, 7)]
    assert [a["nextRetryAt"] is None for a in attempts] == [False] * 5 + [True]
    assert await stage.metric('outbound_message_dead_letter_total{channel="whatsapp"}') == 1
    assert await stage.metric('outbound_message_retry_total{channel="whatsapp"}') == 5
    assert await stage.metric('outbound_message_send_failure_total{channel="whatsapp",error_code="131000"}') == 6


@ON_SQLITE
async def test_jitter_only_makes_a_wait_longer(set_up: OpenStage) -> None:
    stage = await set_up(outbound_jitter=0.1)
    stage.dice.shows = 0.5
    await stage.fault(error_code=131000)
    posted = await stage.send()
    waiting = await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert waiting["nextRetryAt"] == stage.moment(seconds(63))


async def test_a_try_that_succeeds_clears_the_error(stage: Stage) -> None:
    await stage.fault(error_code=131000, times=2)
    posted = await stage.send()
    for tried in (1, 2):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=tried)
        await stage.pass_time(minutes(5))
    delivered = await stage.becomes(posted["id"], "DELIVERED", attemptCount=3)
    assert (delivered["errorCode"], delivered["errorMessage"], delivered["nextRetryAt"]) == (None, None, None)
    assert [a["status"] for a in await stage.attempts(posted["id"])] == ["FAILED", "FAILED", "SUCCESS"]


async def test_a_provider_that_asks_for_more_time_gets_it(stage: Stage) -> None:
    await stage.fault(retry_after=300, times=1)
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", errorCode="130429", attemptCount=0)
    (closed,) = await stage.world.ledger.gates.of_org(OrgId("acme"), stage.clock.now())
    assert (closed.gate.name, closed.gate.kind) == ("number:1001", "throttle")
    assert closed.gate.until == stage.clock.now() + minutes(5)
    await stage.pass_time(minutes(4.9))
    assert len(stage.calls()) == 1
    await stage.pass_time(minutes(0.2))
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)


@pytest.mark.parametrize("most", [0, 10])
async def test_max_attempts_counts_the_tries_after_the_first(stage: Stage, most: int) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(maxAttempts=most)
    for tried in range(1, most + 1):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=tried)
        await stage.pass_time(minutes(360))
    await stage.becomes(posted["id"], "FAILED", attemptCount=most + 1)
    await stage.pass_time(minutes(720))
    assert len(stage.calls()) == most + 1


async def test_a_hopeless_error_ends_a_message_at_its_first_try(stage: Stage) -> None:
    await stage.fault(error_code=131026)
    posted = await stage.send()
    await stage.becomes(posted["id"], "FAILED", errorCode="131026", attemptCount=1)


# Retry and cancel by a person


async def test_a_retry_is_a_new_generation(stage: Stage) -> None:
    await stage.fault(error_code=131026, times=1)
    posted = await stage.send()
    await stage.becomes(posted["id"], "FAILED")
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")
    assert (answer.status, answer.json["status"], answer.json["attemptCount"]) == (200, "QUEUED", 0)
    assert answer.json["errorCode"] is None
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)
    attempts = await stage.attempts(posted["id"])
    assert [(a["generation"], a["attemptNo"], a["status"]) for a in attempts] == [(1, 1, "FAILED"), (2, 1, "SUCCESS")]
    assert len({a["id"] for a in attempts}) == 2
    assert "retried" in await stage.kinds(posted["id"])


async def test_a_retry_gets_all_its_tries_again(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(maxAttempts=1)
    for _ in range(2):
        await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
        await stage.pass_time(MINUTE)
        await stage.becomes(posted["id"], "FAILED", attemptCount=2)
        assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")).status == 200
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert len(stage.calls()) == 5


async def test_what_is_on_its_way_or_arrived_cannot_be_retried(stage: Stage) -> None:
    waiting = await stage.send(scheduledAt=stage.moment(MINUTE))
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    for message in (waiting, posted):
        answer = await stage.call("POST", f"{MESSAGES}/{message['id']}/retry")
        assert (answer.status, answer.code) == (409, "not_retryable")


async def test_a_cancelled_message_is_never_sent_unless_it_is_retried(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=stage.moment(MINUTE))
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (answer.status, answer.json["status"]) == (200, "CANCELLED")
    again = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (again.status, again.code) == (409, "not_cancellable")
    await stage.pass_time(minutes(2))
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "DELIVERED")
    assert stage.calls() == []
    assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/retry")).status == 200
    await stage.becomes(posted["id"], "DELIVERED")
    assert await stage.kinds(posted["id"]) == [
        "submitted", "cancelled", "retried", "claimed", "accepted", "status", "status"
    ]  # fmt: skip


async def test_what_the_provider_has_cannot_be_cancelled(stage: Stage) -> None:
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    answer = await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    assert (answer.status, answer.code) == (409, "not_cancellable")


async def test_a_waiting_retry_can_be_cancelled(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    assert (await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")).status == 200
    await stage.pass_time(minutes(600))
    assert (await stage.message(posted["id"]))["status"] == "CANCELLED"
    assert len(stage.calls()) == 1


# Time


async def test_a_scheduled_message_waits_for_its_time(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=stage.moment(minutes(90)))
    assert posted["nextRetryAt"] is None
    await stage.pass_time(Span(minutes(90) - 1))
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "DELIVERED")
    assert (await stage.message(posted["id"]))["status"] == "QUEUED"
    await stage.pass_time(Span(1))
    await stage.becomes(posted["id"], "DELIVERED")


async def test_a_time_in_the_past_is_now(stage: Stage) -> None:
    posted = await stage.send(scheduledAt=stage.moment(Span(-minutes(60))))
    await stage.becomes(posted["id"], "DELIVERED")


async def test_after_its_time_a_message_is_cancelled_and_not_sent(stage: Stage) -> None:
    scheduled = await stage.send(scheduledAt=stage.moment(minutes(10)), expiresAt=stage.moment(minutes(11)))
    late = await stage.send(to="+16505550000", expiresAt=stage.moment(Span(-1)), idempotencyKey="sent again, too late")
    await stage.becomes(late["id"], "CANCELLED", errorCode="EXPIRED")
    await stage.pass_time(minutes(11))
    await stage.becomes(scheduled["id"], "CANCELLED", errorCode="EXPIRED")
    assert stage.sandbox.calls.listed() == []


async def test_a_message_may_expire_between_two_tries(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(expiresAt=stage.moment(minutes(5)))
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    await stage.pass_time(MINUTE)
    await stage.becomes(posted["id"], "QUEUED", attemptCount=2)
    await stage.pass_time(minutes(5))
    await stage.becomes(posted["id"], "CANCELLED", errorCode="EXPIRED")
    assert len(stage.calls()) == 2


async def test_a_message_that_would_expire_before_it_is_due_is_refused(stage: Stage) -> None:
    answer = await stage.call(
        "POST", MESSAGES, HELLO | {"scheduledAt": stage.moment(MINUTE), "expiresAt": stage.moment(MINUTE)}
    )
    assert (answer.status, answer.json["field"]) == (422, "expiresAt")


async def test_a_higher_priority_goes_first(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    due = stage.moment(MINUTE)
    for priority in (0, 5, 9):
        await stage.send(priority=priority, scheduledAt=due, payloadJson={"text": f"{priority}"})
    await stage.pass_time(MINUTE)
    await stage.eventually(lambda: _count(stage, 3))
    assert [call["text"]["body"] for call in stage.calls()] == ["9", "5", "0"]


async def _count(stage: Stage, wanted: int) -> bool:
    return len(stage.accepted()) == wanted
