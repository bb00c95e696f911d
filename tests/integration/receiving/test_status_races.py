"""The races between a message and its statuses: scenarios, error paths, ways to bring them about."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage, live_clock
from tests.integration.stage.webhooks import status, status_post
from waypost.flow.operations import maintenance
from waypost.flow.sending.deliver import LONGEST_PAUSE
from waypost.flow.world import PAUSE_AFTER_TROUBLE
from waypost.model.time import Span, days, seconds
from waypost.runtime.process.server import ProcessRole

ORPHANS = "SELECT wamid FROM report WHERE message_id IS NULL"
API_ONLY = frozenset({ProcessRole.API})


async def _accepted(stage: Stage) -> bool:
    return bool(stage.accepted())


# The four scenarios


@pytest.mark.parametrize("echo", [True, False])
async def test_scenario_1_status_arrives_before_message_is_saved(stage: Stage, echo: bool) -> None:
    await stage.fault(status_first=True, echo=echo)
    posted = await stage.send()
    delivered = await stage.becomes(posted["id"], "DELIVERED", sentAt=...)
    assert stage.accepted() == [delivered["providerMessageId"]]
    assert await stage.database.run(ORPHANS) == []
    assert await stage.metric('status_arrival_total{order="before"}') >= 1


async def test_scenario_2_message_saved_before_status_arrives(stage: Stage) -> None:
    await stage.fault(statuses="never")
    waiting = asyncio.ensure_future(stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO))
    sent = await stage.becomes_first("SENT")
    assert await stage.answers_after(waiting, seconds(20))
    assert (await waiting).status == 202
    late = status_post(stage.acme, status(sent["providerMessageId"], "delivered"))
    assert (await stage.post(late)).status == 200
    await stage.becomes(sent["id"], "DELIVERED")
    assert await stage.metric("status_sync_timeout_total") == 1
    assert await stage.metric('status_arrival_total{order="after"}') == 1


async def test_scenario_3_our_store_fails_before_anything_was_sent(stage: Stage) -> None:
    """Here the message is stored first: what cannot be stored is not sent, so that no status can be orphaned."""
    await stage.database.refuse_writes("message")
    answer = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "k"})
    assert (answer.status, answer.code) == (422, "cannot_be_stored")
    assert stage.calls() == []
    await stage.database.take_writes("message")
    assert (await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "k"})).status == 201


async def test_scenario_3_our_store_fails_after_the_provider_accepted(stage: Stage) -> None:
    stage.network.late.clear()
    await stage.fault(statuses="never")
    posted = await stage.send()
    await stage.eventually(lambda: _accepted(stage))
    await stage.database.refuse_writes("delivery", "UPDATE")
    stage.network.late.set()
    await stage.eventually(lambda: _sleeps(stage))
    assert (await stage.message(posted["id"]))["status"] == "SENDING"
    await stage.database.take_writes("delivery")
    stage.manual.advance(PAUSE_AFTER_TROUBLE)
    sent = await stage.becomes(posted["id"], "SENT")
    assert stage.accepted() == [sent["providerMessageId"]]


async def _sleeps(stage: Stage) -> bool:
    """Somebody waits out the pause after a failed write."""
    return any(at - stage.manual._passed <= PAUSE_AFTER_TROUBLE for at, _, _ in stage.manual._sleepers)


async def test_scenario_3_a_refusal_that_can_never_be_stored_frees_its_slot_and_stays_unsure(set_up: OpenStage) -> None:
    stage = await set_up(outbound_worker_slots=1)
    stage.network.late.clear()
    await stage.fault(error_code=131026, times=1)
    posted = await stage.send()
    await stage.eventually(lambda: _called(stage))
    await stage.database.refuse_writes("delivery", "UPDATE")
    stage.network.late.set()
    await stage.eventually(lambda: _given_up(stage))
    stage.bugs.clear()
    await stage.database.take_writes("delivery")
    other = await stage.send(to="+16505550000")
    await stage.becomes(other["id"], "DELIVERED")
    assert (await stage.message(posted["id"]))["status"] == "SENDING"
    await stage.grow_stale()
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=2)
    assert len(stage.accepted()) == 1


async def _called(stage: Stage) -> bool:
    return bool(stage.calls())


async def _given_up(stage: Stage) -> bool:
    stage.manual.advance(LONGEST_PAUSE)
    return bool(stage.bugs)


async def test_scenario_3_the_provider_refuses(stage: Stage) -> None:
    await stage.fault(error_code=131026)
    posted = await stage.send(path=f"{MESSAGES}?wait=delivered")
    assert (posted["status"], posted["errorCode"]) == ("FAILED", "131026")
    assert await stage.database.run("SELECT * FROM report") == []


@pytest.mark.parametrize("order", list(itertools.permutations(["sent", "delivered", "read"])))
@ON_SQLITE
async def test_scenario_4_statuses_in_any_order_climb_one_ladder(stage: Stage, order: tuple[str, ...]) -> None:
    message_id, wamid = await stage.sent_silently()
    for kind in order:
        await stage.post(status_post(stage.acme, status(wamid, kind)))
    found = await stage.message(message_id)
    assert (found["status"], found["readAt"] is not None) == ("DELIVERED", True)
    assert (await stage.kinds(message_id)).count("status") == 3


async def test_scenario_4_statuses_all_at_once_and_ten_times_each(stage: Stage) -> None:
    second = await stage.add_server()
    stage.network.hosts["second.test"] = second.app
    message_id, wamid = await stage.sent_silently()
    told_of = [status_post(stage.acme, status(wamid, kind)) for kind in ("sent", "delivered", "read", "played")]
    posts = [stage.post(body, host=host) for body in told_of * 5 for host in ("waypost.test", "second.test")]
    answers = await asyncio.gather(*posts)
    assert {answer.status for answer in answers} == {200}
    found = await stage.message(message_id)
    assert (found["status"], found["readAt"] is not None) == ("DELIVERED", True)
    assert await stage.database.run("SELECT count(*) FROM report") == [(4,)]


@pytest.mark.parametrize("first", ["delivered", "read", "failed"])
async def test_scenario_4_an_end_is_an_end(stage: Stage, first: str) -> None:
    message_id, wamid = await stage.sent_silently()
    error = {"errors": [{"code": 131026, "title": "Message undeliverable"}]}
    bodies = {
        kind: status(wamid, kind, **(error if kind == "failed" else {})) for kind in ("delivered", "read", "failed")
    }
    for kind in sorted(bodies, key=lambda kind: kind != first):
        assert (await stage.post(status_post(stage.acme, bodies[kind]))).status == 200
    found = await stage.message(message_id)
    expected = ("FAILED", "131026") if first == "failed" else ("DELIVERED", None)
    assert (found["status"], found["errorCode"]) == expected


async def test_scenario_4_duplicated_and_reordered_by_the_provider(stage: Stage) -> None:
    await stage.fault(duplicate_statuses=3, reorder_statuses=True)
    posted = await stage.send()
    await stage.sandbox.settled()
    await stage.becomes(posted["id"], "DELIVERED")
    await stage.sandbox.settled()
    found = await stage.message(posted["id"])
    assert (found["status"], found["sentAt"] <= found["deliveredAt"]) == ("DELIVERED", True)
    assert await stage.database.run("SELECT count(*) FROM report") == [(2,)]


async def test_a_cancelled_message_stays_cancelled_whatever_is_told_of_it(stage: Stage) -> None:
    posted = await stage.send(scheduledAt="2030-01-01T00:00:00Z")
    await stage.call("POST", f"{MESSAGES}/{posted['id']}/cancel")
    echo = f"wp1.{posted['id']}.1"
    for kind in ("sent", "delivered", "failed"):
        answer = await stage.post(status_post(stage.acme, status("wamid.x", kind, biz_opaque_callback_data=echo)))
        assert answer.status == 200
    assert (await stage.message(posted["id"]))["status"] == "CANCELLED"


# Error paths: sending


async def test_error_before_the_api_call_returns_at_once_and_leaves_nothing(stage: Stage) -> None:
    answer = await stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO | {"to": "nobody"})
    assert answer.status == 422
    assert await stage.get(MESSAGES) == []
    assert await stage.metric("status_sync_wait_seconds_count") == 0


async def test_error_of_the_api_is_told_to_whoever_waits(stage: Stage) -> None:
    await stage.fault(error_code=131000)
    posted = await stage.send(maxAttempts=0, path=f"{MESSAGES}?wait=sent")
    assert (posted["status"], posted["errorCode"], posted["attemptCount"]) == ("FAILED", "131000", 1)


# Error paths: statuses


async def test_a_status_of_a_message_we_never_heard_of_is_taken_kept_and_counted(stage: Stage) -> None:
    unknown = status_post(stage.acme, status("wamid.unknown", "delivered"))
    for _ in range(2):
        assert (await stage.post(unknown)).status == 200
    assert await stage.database.run(ORPHANS) == [("wamid.unknown",)]
    await maintenance.prune_unmatched_statuses(stage.world)
    assert await stage.metric("status_without_message") == 0
    stage.manual.advance(Span(stage.world.tuning.sync_timeout + 1))
    await maintenance.prune_unmatched_statuses(stage.world)
    assert await stage.metric("status_without_message") == 1
    stage.manual.advance(Span(days(8) - seconds(60)))
    await maintenance.prune_unmatched_statuses(stage.world)
    assert await stage.database.run(ORPHANS) == [("wamid.unknown",)]
    stage.manual.advance(seconds(60))
    await maintenance.prune_unmatched_statuses(stage.world)
    assert await stage.database.run(ORPHANS) == []
    assert await stage.metric("status_orphaned_total") == 1
    assert await stage.metric("status_without_message") == 0


async def test_a_status_of_an_unknown_message_is_linked_when_the_message_appears(stage: Stage) -> None:
    await stage.fault(echo=False)
    stage.network.late.clear()
    posted = await stage.send()
    await stage.eventually(lambda: _accepted(stage))
    await stage.sandbox.settled()
    (wamid,) = stage.accepted()
    assert await stage.database.run(ORPHANS) == [(wamid,), (wamid,)]
    assert await stage.metric("status_unmatched_total") == 2
    stage.network.late.set()
    await stage.becomes(posted["id"], "DELIVERED", providerMessageId=wamid)
    assert await stage.database.run(ORPHANS) == []
    assert (await stage.kinds(posted["id"])).count("status") == 2
    assert await stage.metric('status_arrival_total{order="before"}') == 2


async def test_a_status_that_echoes_a_message_that_does_not_exist_is_taken(stage: Stage) -> None:
    for echo in ("wp1.999999.1", "wp1.9999999999999999999.1", "wp1.0.0", "wp1.1.1", "not ours", ""):
        body = status_post(stage.acme, status(f"wamid.{echo}", "sent", biz_opaque_callback_data=echo))
        assert (await stage.post(body)).status == 200, echo


async def test_a_status_that_cannot_be_stored_is_not_answered_200_and_comes_again(stage: Stage) -> None:
    await stage.database.refuse_writes("report")
    posted = await stage.send()
    await stage.becomes(posted["id"], "SENT")
    (wamid,) = stage.accepted()
    refused = await stage.post(status_post(stage.acme, status(wamid, "delivered")))
    assert refused.status >= 400
    await stage.database.take_writes("report")
    await stage.becomes(posted["id"], "DELIVERED")


async def test_all_statuses_of_one_webhook_commit_together(stage: Stage) -> None:
    sent = [await stage.sent_silently(payloadJson={"text": f"{n}"}) for n in range(3)]
    body = status_post(stage.acme, *(status(wamid, "delivered") for _, wamid in sent))
    await stage.database.refuse_writes("report")
    assert (await stage.post(body)).status >= 400
    assert {(await stage.message(message_id))["status"] for message_id, _ in sent} == {"SENT"}
    await stage.database.take_writes("report")
    assert (await stage.post(body)).status == 200
    assert {(await stage.message(message_id))["status"] for message_id, _ in sent} == {"DELIVERED"}


async def test_the_wamid_lookup_is_one_index_probe(stage: Stage) -> None:
    probe = "SELECT message_id FROM wamid WHERE number = '1001' AND wamid = 'wamid.x'"
    if stage.database.kind == "sqlite":
        ((*_, plan),) = await stage.database.run(f"EXPLAIN QUERY PLAN {probe}")
        assert plan == "SEARCH wamid USING PRIMARY KEY (number=? AND wamid=?)"
    else:
        await stage.database.run("SET enable_seqscan = off")
        ((plan,), *_) = await stage.database.run(f"EXPLAIN (COSTS OFF) {probe}")
        assert plan == "Index Scan using wamid_pkey on wamid"


# Three ways to bring a race about


async def test_simulated_status_before_message_with_a_delay_before_our_commit(stage: Stage) -> None:
    stage.network.late.clear()
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    (before,) = await stage.attempts(posted["id"])
    assert (before["status"], before["providerResponseJson"]) == ("SUCCESS", None)
    stage.network.late.set()
    (after,) = await stage.eventually(lambda: _with_response(stage, posted["id"]))
    assert after["status"] == "SUCCESS"
    assert (await stage.message(posted["id"]))["status"] == "DELIVERED"
    assert await stage.metric('outbound_message_send_success_total{channel="whatsapp"}') == 1


async def _with_response(stage: Stage, message_id: int) -> list[dict[str, Any]]:
    attempts = await stage.attempts(message_id)
    return attempts if attempts[0]["providerResponseJson"] else []


async def test_simulated_status_timeout_with_a_blocked_webhook_endpoint(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock(), message_status_sync_timeout_sec="0.1")
    door = await stage.add_server(API_ONLY)
    stage.network.hosts["callers.test"] = door.app
    stage.network.unreachable.add("waypost.test")
    answer = await stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO, host="callers.test")
    assert answer.status == 202
    assert answer.json["status"] != "DELIVERED"
    stage.network.unreachable.clear()
    await stage.becomes(answer.json["id"], "DELIVERED")


async def test_simulated_message_rollback_by_a_broken_constraint(stage: Stage) -> None:
    await stage.database.refuse_writes("delivery")
    answer = await stage.call("POST", MESSAGES, HELLO)
    assert answer.status == 422
    echo = status_post(stage.acme, status("wamid.x", "sent", biz_opaque_callback_data="wp1.1.1"))
    assert (await stage.post(echo)).status == 200
    await stage.database.take_writes("delivery")
    assert await stage.get(MESSAGES) == []
    assert stage.calls() == []
    assert await stage.database.run("SELECT count(*) FROM message") == [(0,)]
