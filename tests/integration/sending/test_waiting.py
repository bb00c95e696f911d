"""Callers who wait for a status: how long, for what, and what the metrics show."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage, live_clock
from tests.integration.stage.webhooks import PHONE, status, status_post
from waypost.adapters.local.hints import ProcessHints
from waypost.model.time import seconds
from waypost.rules.sending.sync_wait import adaptive_limit
from waypost.runtime.process.server import ProcessRole
from waypost.runtime.telemetry.telemetry import Telemetry

API_ONLY = frozenset({ProcessRole.API})


# Waiting


@pytest.mark.parametrize(("goal", "reached"), [("sent", {"SENT", "DELIVERED"}), ("delivered", {"DELIVERED"})])
async def test_waiting_answers_when_the_status_came(stage: Stage, goal: str, reached: set[str]) -> None:
    posted = await stage.send(path=f"{MESSAGES}?wait={goal}", idempotencyKey="k")
    assert posted["status"] in reached
    again = await stage.send(200, path=f"{MESSAGES}?wait={goal}", idempotencyKey="k")
    assert again["id"] == posted["id"]


async def test_waiting_for_something_else_is_refused(stage: Stage) -> None:
    answer = await stage.call("POST", f"{MESSAGES}?wait=read", HELLO)
    assert (answer.status, answer.code, answer.json["field"]) == (400, "invalid_parameter", "wait")
    assert await stage.get(MESSAGES) == []


async def test_waiting_ends_with_202_at_the_timeout_and_not_before(stage: Stage) -> None:
    await stage.fault(statuses="never")
    waiting = asyncio.ensure_future(stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO))
    await stage.becomes_first("SENT")
    assert not await stage.answers_after(waiting, seconds(19.9))
    assert await stage.answers_after(waiting, seconds(0.1))
    answer = await waiting
    assert (answer.status, answer.json["status"]) == (202, "SENT")
    assert await stage.metric("status_sync_timeout_total") == 1
    assert await stage.metric("status_sync_wait_seconds_sum") == pytest.approx(20)


@ON_SQLITE
async def test_waiting_never_happens_in_local_mode(set_up: OpenStage) -> None:
    stage = await set_up(env="local")
    stage.network.unreachable.add("sandbox.test")
    posted = await stage.send(path=f"{MESSAGES}?wait=delivered")
    assert posted["status"] == "QUEUED"
    assert await stage.metric("status_sync_wait_seconds_count") == 0


async def test_waiting_works_when_the_status_comes_to_another_process(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    elsewhere = await stage.add_server(API_ONLY, hints=ProcessHints())
    stage.network.hosts["elsewhere.test"] = elsewhere.app
    await stage.fault(statuses="never")
    waiting = asyncio.ensure_future(stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO, host="elsewhere.test"))
    sent = await stage.becomes_first("SENT")
    assert (await stage.post(status_post(stage.acme, status(sent["providerMessageId"], "delivered")))).status == 200
    answer = await waiting
    assert (answer.status, answer.json["status"]) == (201, "DELIVERED")


@ON_SQLITE
async def test_waiting_adapts_to_how_long_statuses_take(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock(), message_status_sync_timeout_sec="auto")
    await stage.fault(statuses="never")
    for _ in range(1000):
        stage.world.meters.waited(0.06)
    started = time.monotonic()
    await stage.send(202, path=f"{MESSAGES}?wait=delivered")
    assert 0.06 <= time.monotonic() - started < 10


@ON_SQLITE
async def test_waiting_adapts_but_never_above_the_limit(set_up: OpenStage) -> None:
    stage = await set_up(message_status_sync_timeout_sec="auto")
    await stage.fault(statuses="never")
    for _ in range(1000):
        stage.world.meters.waited(300)
    waiting = asyncio.ensure_future(stage.call("POST", f"{MESSAGES}?wait=delivered", HELLO))
    await stage.becomes_first("SENT")
    assert not await stage.answers_after(waiting, seconds(19))
    assert await stage.answers_after(waiting, seconds(1))
    assert (await waiting).status == 202


async def test_waiting_for_a_message_that_is_not_due_ends_at_the_timeout(stage: Stage) -> None:
    body = HELLO | {"scheduledAt": "2030-01-01T00:00:00Z"}
    waiting = asyncio.ensure_future(stage.call("POST", f"{MESSAGES}?wait=sent", body))
    await stage.becomes_first("QUEUED")
    assert await stage.answers_after(waiting, seconds(20))
    assert (await waiting).json["status"] == "QUEUED"


# The four figures


async def test_the_metrics_show_seed_000s_four_figures(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    posts = [  # to as many customers: one alone may not be written to so often
        stage.send(path=f"{MESSAGES}?wait=delivered", to=f"+165055501{n:02}") for n in range(50)
    ]
    assert {message["status"] for message in await asyncio.gather(*posts)} == {"DELIVERED"}
    await stage.sandbox.settled()
    waits = await stage.metric("status_sync_wait_seconds_count")
    timeouts = await stage.metric("status_sync_timeout_total")
    before, after = [await stage.metric(f'status_arrival_total{{order="{order}"}}') for order in ("before", "after")]
    assert (waits, timeouts) == (50, 0)
    assert 1 - timeouts / waits > 0.99
    assert await stage.metric("status_sync_wait_seconds_sum") / waits < 1
    assert timeouts / waits < 0.001
    assert before + after == 100


async def test_the_door_stays_200_while_nobody_waits_and_nothing_is_known(stage: Stage) -> None:
    """Meta must never resend what we have: whatever the message's fate, the status is answered 200."""
    message_id, wamid = await stage.sent_silently()
    for kind in ("sent", "delivered", "read", "failed", "deleted", "warning"):
        for recipient in (PHONE.lstrip("+"), "", "US.13491208655302741918"):
            body = status_post(stage.acme, status(wamid, kind, recipient_id=recipient))
            assert (await stage.post(body)).status == 200
    assert (await stage.message(message_id))["status"] == "DELIVERED"


def test_waits_in_vain_lengthen_what_auto_waits() -> None:
    """Otherwise a provider that becomes slower would be given up on for ever."""
    telemetry = Telemetry()
    for _ in range(200):
        telemetry.waited(0.1)
    assert adaptive_limit(telemetry.recent_waits(), 20) == 0.1
    for _ in range(3):
        telemetry.wait_timed_out(0.1, longest=20)
    assert adaptive_limit(telemetry.recent_waits(), 20) == 20
