"""Sends with an unknown outcome: what settles them, and what must not."""

from __future__ import annotations

import asyncio

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, status, status_post
from waypost.model.time import Span, hours, minutes, seconds

# The value of a failed attempt


async def test_a_refused_connection_is_a_failed_try(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    posted = await stage.send()
    waiting = await stage.becomes(posted["id"], "QUEUED", attemptCount=1, errorCode="CONNECTION_REFUSED")
    due = stage.moment(minutes(1))
    assert waiting["nextRetryAt"] == due
    assert [a["status"] for a in await stage.attempts(posted["id"])] == ["FAILED"]
    stage.network.unreachable.clear()
    await stage.pass_time(minutes(1))
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=2)
    assert len(stage.calls()) == 1


async def test_a_timeout_before_the_request_left_is_unsure_and_sent_once_in_the_end(set_up: OpenStage) -> None:
    stage = await set_up(graph_timeout_sec=0.05)
    stage.network.lost_on_the_way.add("sandbox.test")
    message_id = await stage.unsure()
    assert [a["status"] for a in await stage.attempts(message_id)] == ["UNSURE"]
    stage.network.lost_on_the_way.clear()
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)
    assert len(stage.accepted()) == 1
    assert [a["status"] for a in await stage.attempts(message_id)] == ["UNSURE", "SUCCESS"]
    kinds = await stage.kinds(message_id)
    assert kinds[:3] == ["submitted", "claimed", "unsure"]
    assert "requeued" in kinds


async def test_a_timeout_after_the_request_left_is_settled_by_its_status(set_up: OpenStage) -> None:
    stage = await set_up(graph_timeout_sec=0.05)
    stage.network.late.clear()
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1, errorCode=None)
    await stage.eventually(lambda: _tried(stage, posted["id"]))
    stage.network.late.set()
    await stage.grow_stale()
    assert stage.accepted() == [(await stage.message(posted["id"]))["providerMessageId"]]


async def _tried(stage: Stage, message_id: int) -> bool:
    return [a["status"] for a in await stage.attempts(message_id)] == ["SUCCESS"]


async def test_a_cut_response_is_settled_by_its_status(stage: Stage) -> None:
    await stage.fault(drop_response=True)
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1, errorCode=None)
    await stage.grow_stale()
    assert len(stage.calls()) == 1


@pytest.mark.parametrize("http_status", [500, 502, 503, 504, 404])
@ON_SQLITE
async def test_an_answer_without_a_graph_body_is_unsure_whatever_its_status(stage: Stage, http_status: int) -> None:
    await stage.fault(raw_status=http_status, times=1)
    message_id = await stage.unsure()
    (attempt,) = await stage.attempts(message_id)
    assert attempt["status"] == "UNSURE"
    assert str(http_status) in attempt["providerResponseJson"]


async def test_a_gateways_502_is_not_sent_again_before_the_stale_limit(stage: Stage) -> None:
    await stage.fault(raw_status=502, times=1)
    message_id = await stage.unsure()
    await stage.pass_time_with_open_door(Span(stage.world.tuning.stale - stage.world.tuning.webhook_tick))
    assert await stage.still_unsure(message_id)
    assert len(stage.calls()) == 1
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)
    assert await stage.metric('outbound_message_unsure_total{action="requeued"}') == 1


async def test_a_502_after_acceptance_is_settled_by_its_status(stage: Stage) -> None:
    await stage.fault(accept_then_raw_status=502)
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)
    await stage.grow_stale()
    assert len(stage.calls()) == 1


async def test_an_error_body_of_the_graph_api_is_an_answer_even_with_a_500(stage: Stage) -> None:
    await stage.fault(http_status=500, times=1)
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", errorCode="131000", attemptCount=1)


async def test_only_silence_for_the_whole_limit_makes_a_second_send(stage: Stage) -> None:
    """The one named exception: a provider that neither answers nor echoes nor reports, with `requeue`."""
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)
    assert len(stage.accepted()) == 2


async def test_a_status_after_the_requeue_withdraws_the_retry(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    await stage.fault(drop_response=True, statuses="never", to=PHONE)
    message_id = await stage.unsure()
    (wamid,) = stage.accepted()
    stage.network.late.clear()  # the only slot is busy, so that the retry stays queued
    busy = await stage.send(to="+16505550000")
    await stage.eventually(lambda: _accepted(stage, "+16505550000"))
    await stage.grow_stale()
    await stage.becomes(message_id, "QUEUED")
    echo = f"wp1.{message_id}.1"
    assert (
        await stage.post(status_post(stage.acme, status(wamid, "sent", biz_opaque_callback_data=echo)))
    ).status == 200
    sent = await stage.becomes(message_id, "SENT")
    assert sent["providerMessageId"] == wamid
    stage.network.late.set()
    await stage.becomes(busy["id"], "DELIVERED")
    assert stage.accepted() == [wamid]
    assert "withdrawn" in await stage.kinds(message_id)


async def _accepted(stage: Stage, to: str) -> bool:
    return bool(stage.accepted(to))


# What does not count as silence


async def test_an_outage_of_ours_does_not_make_a_try_stale(stage: Stage) -> None:
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    for _ in range(3):
        await stage.pass_time(hours(1))
        assert await stage.still_unsure(message_id)
    assert len(stage.calls()) == 1
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)


@pytest.mark.parametrize("jump", [hours(24), Span(-hours(24))])
async def test_a_jump_of_the_clock_does_not_make_a_try_stale(stage: Stage, jump: Span) -> None:
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    await stage.pass_time_with_open_door(seconds(30))
    stage.manual.jump(jump)
    await stage.pass_time_with_open_door(seconds(30))
    assert await stage.still_unsure(message_id)
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)


async def test_a_status_without_a_message_for_the_same_recipient_blocks_the_requeue(stage: Stage) -> None:
    await stage.fault(drop_response=True, echo=False)
    posted = await stage.send()
    await stage.sandbox.settled()
    found = await stage.becomes(posted["id"], "SENDING", errorCode="UNSURE")
    assert found["providerMessageId"] is None
    for _ in range(2):
        await stage.grow_stale()
        assert (await stage.message(posted["id"]))["status"] == "SENDING"
    assert len(stage.calls()) == 1
    assert (await stage.kinds(posted["id"]))[-1] == "parked"


async def test_a_status_of_somebody_else_does_not_block_the_requeue(stage: Stage) -> None:
    assert (await stage.post(status_post(stage.acme, status("wamid.before", "sent")))).status == 200
    await stage.pass_time_with_open_door(minutes(1))
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    others = status_post(stage.acme, status("wamid.other", "sent", recipient_id="16505550000"))
    foreign = status_post(stage.globex, status("wamid.foreign", "sent"))
    assert (await stage.post(others)).status == 200
    assert (await stage.post(foreign, stage.globex)).status == 200
    await stage.grow_stale()
    await stage.becomes(message_id, "DELIVERED", attemptCount=2)


# Providers that echo nothing


async def test_without_an_echo_statuses_find_their_message_by_its_wamid(stage: Stage) -> None:
    await stage.fault(echo=False)
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    await stage.reads()
    await stage.becomes(posted["id"], "DELIVERED", readAt=...)


async def test_without_an_echo_a_status_before_the_response_waits_for_it(stage: Stage) -> None:
    await stage.fault(echo=False, status_first=True)
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    assert (await stage.kinds(posted["id"])).count("status") == 2
    before, after = [await stage.metric(f'status_arrival_total{{order="{order}"}}') for order in ("before", "after")]
    assert before >= 1
    assert before + after == 2


async def test_without_an_echo_all_statuses_may_come_before_the_response(stage: Stage) -> None:
    await stage.fault(echo=False)
    stage.network.late.clear()
    posted = await stage.send()
    await stage.eventually(lambda: _accepted(stage, PHONE))
    await stage.sandbox.settled()
    assert (await stage.message(posted["id"]))["status"] == "SENDING"
    stage.network.late.set()
    delivered = await stage.becomes(posted["id"], "DELIVERED")
    assert delivered["deliveredAt"] is not None


# Park


async def test_parked_messages_are_never_sent_again_by_themselves(set_up: OpenStage) -> None:
    stage = await set_up(outbound_unsure="park")
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    for _ in range(2):
        await stage.grow_stale()
        assert (await stage.kinds(message_id)).count("parked") == 1
    assert len(stage.calls()) == 1
    assert (await stage.call("POST", f"{MESSAGES}/{message_id}/cancel")).code == "not_cancellable"
    assert await stage.metric('outbound_message_unsure_total{action="parked"}') == 1
    answer = await stage.call("POST", f"{MESSAGES}/{message_id}/retry")
    assert (answer.status, answer.json["attemptCount"]) == (200, 0)
    await stage.becomes(message_id, "DELIVERED", attemptCount=1)


async def test_a_status_settles_a_parked_message(set_up: OpenStage) -> None:
    stage = await set_up(outbound_unsure="park")
    await stage.fault(drop_response=True, statuses="never")
    message_id = await stage.unsure()
    await stage.grow_stale()
    (wamid,) = stage.accepted()
    echo = f"wp1.{message_id}.1"
    await stage.post(status_post(stage.acme, status(wamid, "delivered", biz_opaque_callback_data=echo)))
    await stage.becomes(message_id, "DELIVERED", errorCode=None)
    assert (await stage.call("POST", f"{MESSAGES}/{message_id}/retry")).code == "not_retryable"


async def test_a_status_of_an_earlier_generation_does_not_touch_the_new_one(set_up: OpenStage) -> None:
    stage = await set_up(outbound_unsure="park")
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure()
    await stage.grow_stale()
    await stage.fault(statuses="never")
    await stage.call("POST", f"{MESSAGES}/{message_id}/retry")
    await stage.becomes(message_id, "SENT")
    old, new = stage.accepted()
    echo = f"wp1.{message_id}.1"
    await stage.post(status_post(stage.acme, status(old, "read", biz_opaque_callback_data=echo)))
    found = await stage.message(message_id)
    assert (found["status"], found["providerMessageId"], found["readAt"]) == ("SENT", new, None)


async def test_without_tries_left_an_unsure_message_is_left_to_a_person(stage: Stage) -> None:
    await stage.fault(drop_response=True, statuses="never")
    message_id = await stage.unsure(maxAttempts=0)
    await stage.grow_stale()
    assert (await stage.kinds(message_id))[-1] == "parked"
    assert len(stage.calls()) == 1


async def test_an_unsure_message_that_expires_is_not_sent_a_second_time(stage: Stage) -> None:
    await stage.fault(drop_response=True, statuses="never")
    expires = stage.moment(minutes(1))
    message_id = await stage.unsure(expiresAt=expires)
    await stage.grow_stale()
    await stage.becomes(message_id, "CANCELLED", errorCode="EXPIRED")
    assert len(stage.calls()) == 1


async def test_an_unsure_head_holds_its_queue_until_it_is_settled_or_parked(set_up: OpenStage) -> None:
    stage = await set_up(outbound_unsure="park")
    await stage.fault(drop_response=True, statuses="never", times=1)
    head = await stage.unsure(ordered=True)
    behind = await stage.send(ordered=True)
    await stage.pass_time_with_open_door(minutes(1))
    assert (await stage.message(behind["id"]))["status"] == "QUEUED"
    await stage.grow_stale()
    assert (await stage.kinds(head))[-1] == "parked"
    await stage.becomes(behind["id"], "DELIVERED")


# Late workers


async def test_a_late_workers_success_withdraws_a_queued_retry(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    await stage.fault(statuses="never")
    stage.network.late.clear()
    posted = await stage.send()
    await stage.eventually(lambda: _accepted(stage, PHONE))
    await stage.grow_stale()
    await stage.becomes(posted["id"], "QUEUED")
    stage.network.late.set()
    sent = await stage.becomes(posted["id"], "SENT")
    assert stage.accepted() == [sent["providerMessageId"]]
    assert (await stage.kinds(posted["id"]))[-1] == "withdrawn"
    await stage.pass_time(hours(1))
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "SENT")
    assert len(stage.calls()) == 1


async def test_a_late_workers_failure_changes_nothing(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=2)
    await stage.fault(error_code=131026, times=1)
    stage.network.late.clear()
    posted = await stage.send()
    await stage.eventually(lambda: _answered(stage, 1))
    late = stage.network.late
    stage.network.late = asyncio.Event()
    stage.network.late.set()
    await stage.grow_stale()
    delivered = await stage.becomes(posted["id"], "DELIVERED", attemptCount=2)
    late.set()
    probe = await stage.send(to="+16505550000")
    await stage.becomes(probe["id"], "DELIVERED")
    after = await stage.message(posted["id"])
    assert (after["status"], after["errorCode"]) == ("DELIVERED", None)
    assert after["providerMessageId"] == delivered["providerMessageId"]


async def _answered(stage: Stage, wanted: int) -> bool:
    return len([call for call in stage.calls() if call["status"]]) == wanted


async def test_a_send_broken_off_by_a_stop_is_settled_by_its_status_at_the_next_start(stage: Stage) -> None:
    await stage.fault(statuses="never")
    stage.network.late.clear()
    posted = await stage.send()
    await stage.eventually(lambda: _accepted(stage, PHONE))
    first = stage.servers.pop()
    await first.stop(Span(0))
    stage.network.late.set()
    second = await stage.add_server()
    stage.network.hosts["waypost.test"] = second.app
    assert (await stage.message(posted["id"]))["status"] == "SENDING"
    (wamid,) = stage.accepted()
    echo = f"wp1.{posted['id']}.1"
    await stage.post(status_post(stage.acme, status(wamid, "delivered", biz_opaque_callback_data=echo)))
    await stage.becomes(posted["id"], "DELIVERED")
    assert len(stage.calls()) == 1
