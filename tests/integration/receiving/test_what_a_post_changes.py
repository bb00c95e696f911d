"""What a webhook changes beside statuses: a customer's message opens the window, a reported failure closes a gate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, a_text, change, envelope, status, status_post
from waypost.model.gate import Gate
from waypost.model.ids import NumberId, OrgId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Span, as_seconds, days, hours, minutes, seconds
from waypost_testing.clock import START


def unix(span: int = 0) -> str:
    return str(int(as_seconds(Span(START + span))))


async def written(stage: Stage, **message: Any) -> None:
    answer = await stage.post(envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in", **message)])])))
    assert answer.status == 200


async def pairs(stage: Stage, customer: str = PHONE) -> list[RecipientState]:
    return list(await stage.world.ledger.windows.of([NumberId("1001")], customer))


# The window


async def test_free_text_is_refused_until_the_customer_writes(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    refused = await stage.send()
    await stage.becomes(refused["id"], "FAILED", errorCode="SESSION_EXPIRED")
    template = await stage.send(templateCode="hello_world", payloadJson={"language": "en_US"})
    await stage.becomes(template["id"], "DELIVERED")
    await written(stage, timestamp=unix())
    answer = await stage.send()
    await stage.becomes(answer["id"], "DELIVERED")
    assert len(stage.calls()) == 2


@pytest.mark.parametrize(("waited", "outcome"), [(days(1) - 1, "DELIVERED"), (days(1), "FAILED")])
@ON_SQLITE
async def test_the_window_closes_after_exactly_24_hours(set_up: OpenStage, waited: int, outcome: str) -> None:
    stage = await set_up(outbound_window="enforce")
    await written(stage, timestamp=unix())
    stage.manual.advance(Span(waited))
    posted = await stage.send()
    await stage.becomes(posted["id"], outcome)


@ON_SQLITE
async def test_its_own_time_counts_and_a_late_one_does_not_shorten_it(stage: Stage) -> None:
    await written(stage, timestamp=unix(-hours(2)))
    (pair,) = await pairs(stage)
    assert pair.expires_at == START - hours(2) + days(1)
    await written(stage, id="wamid.later", timestamp=unix())
    await written(stage, id="wamid.earlier", timestamp=unix(-hours(9)))
    (pair,) = await pairs(stage)
    assert pair.expires_at == START + days(1)


@ON_SQLITE
async def test_a_message_from_the_future_counts_from_now(stage: Stage) -> None:
    await written(stage, timestamp=unix(days(300)))
    (pair,) = await pairs(stage)
    assert pair.expires_at == START + days(1)


@pytest.mark.parametrize(
    "message",
    [
        {"from": None},
        {"from": ""},
        {"from": "a name"},
        {"from": ["16505551234"]},
        {"timestamp": "soon"},
        {"timestamp": None},
        {"timestamp": "99999999999999"},
        {"type": "system"},
    ],
    ids=str,
)
@ON_SQLITE
async def test_what_names_no_phone_or_time_opens_nothing_and_is_kept(stage: Stage, message: dict[str, Any]) -> None:
    await written(stage, **message)
    assert await pairs(stage) == []
    assert len(await stage.journal()) + len(await stage.customer_messages()) == 1


@ON_SQLITE
async def test_a_phone_is_the_same_however_it_is_written(stage: Stage) -> None:
    await written(stage, **{"from": int(PHONE.lstrip("+"))})
    assert len(await pairs(stage)) == 1


# Gates


async def closed(stage: Stage) -> list[Gate]:
    return [found.gate for found in await stage.world.ledger.gates.of_org(OrgId("acme"), stage.clock.now())]


def failed(code: int, **more: Any) -> dict[str, Any]:
    return status("wamid.x", "failed", errors=[{"code": code, "title": "Too fast"}], **more)


@pytest.mark.parametrize(
    ("code", "name", "kind", "wait"),
    [
        (130429, "number:1001", "throttle", seconds(1)),
        (80007, "account:waba-1001", "throttle", minutes(1)),
        (4, "org:acme", "throttle", minutes(1)),
        (190, "number:1001", "hold", None),
    ],
)
@ON_SQLITE
async def test_a_reported_failure_of_a_whole_scope_closes_its_gate(
    stage: Stage, code: int, name: str, kind: str, wait: Span | None
) -> None:
    assert (await stage.post(status_post(stage.acme, failed(code, timestamp=unix())))).status == 200
    (gate,) = await closed(stage)
    assert (gate.name, gate.kind, gate.code) == (name, kind, str(code))
    assert gate.until == (None if wait is None else START + wait)


async def test_the_same_body_again_does_not_hold_what_was_released(stage: Stage) -> None:
    body = status_post(stage.acme, failed(190, timestamp=unix()))
    await stage.post(body)
    (gate,) = await closed(stage)
    released = await stage.call("POST", f"/api/v1/outbound/gates/{gate.id}/release")
    assert released.status == 200, released
    assert (await stage.post(body)).status == 200
    assert await closed(stage) == []


async def test_one_customer_too_often_stops_only_that_customer(stage: Stage) -> None:
    await stage.post(status_post(stage.acme, failed(131056, timestamp=unix())))
    assert await closed(stage) == []
    (pair,) = await pairs(stage)
    assert pair.blocked_until == START + seconds(1)
    other = await stage.send(to="+15550007777")
    await stage.becomes(other["id"], "DELIVERED")


@pytest.mark.parametrize(
    "report",
    [
        failed(131026, timestamp=unix()),
        failed(131000, timestamp=unix()),
        failed(132015, timestamp=unix()),
        failed(190, timestamp=unix(-minutes(11))),
        status("wamid.x", "delivered", timestamp=unix(), errors=[{"code": 130429}]),
    ],
    ids=["of one message", "worth a try", "of a template it does not name", "old news", "no failure"],
)
@ON_SQLITE
async def test_what_says_nothing_of_the_scope_now_closes_nothing(stage: Stage, report: dict[str, Any]) -> None:
    assert (await stage.post(status_post(stage.acme, report))).status == 200
    assert await closed(stage) == []


async def test_what_waits_behind_a_reported_rate_limit_goes_when_it_is_over(stage: Stage) -> None:
    await stage.post(status_post(stage.acme, failed(80007, timestamp=unix())))
    posted = await stage.send()
    await stage.pass_time(seconds(59))
    await stage.becomes(posted["id"], "QUEUED", attemptCount=0)
    assert stage.calls() == []
    await stage.pass_time(seconds(2))
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=1)
