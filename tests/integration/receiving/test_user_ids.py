"""Customers who keep their number back: sending to a business-scoped user id, from the call to the last status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage, live_clock
from tests.integration.stage.webhooks import PHONE, status, status_post
from waypost.model.ids import NumberId
from waypost.model.time import seconds
from waypost.model.webhook import WebhookBatch
from waypost.sandbox.content.recipients import user_id_of
from waypost_testing.contracts.examples import an_inbound

ANN = user_id_of(PHONE.lstrip("+"))
OUTBOUND = "/api/v1/outbound"
CODE: dict[str, Any] = {
    "name": "code",
    "language": "en",
    "category": "AUTHENTICATION",
    "components": [{"type": "BODY", "text": "Your code is on its way."}],
}


def to_ann(kind: str, wamid: str) -> dict[str, Any]:
    """A status about a message that went to her user id."""
    plain = status(wamid, kind, recipient_user_id=ANN)
    del plain["recipient_id"]
    return plain


async def test_a_message_to_a_user_id_is_delivered_and_read(stage: Stage) -> None:
    posted = await stage.send(to=ANN)
    assert posted["to"] == ANN
    await stage.becomes(posted["id"], "DELIVERED", sentAt=..., deliveredAt=...)
    await stage.reads()
    await stage.becomes(posted["id"], "DELIVERED", readAt=...)
    (call,) = stage.calls(ANN)
    assert (call["recipient"], call["status"]) == (ANN, 200)
    assert "to" not in call
    assert [message["text"] for message in stage.sandbox.phones.screen(PHONE.lstrip("+"))] == ["hello"]


async def test_a_message_is_found_by_the_user_id_that_it_went_to(stage: Stage) -> None:
    posted = await stage.send(to=ANN)
    await stage.send()
    assert [message["id"] for message in await stage.get(f"{MESSAGES}?to={ANN}")] == [posted["id"]]


async def test_a_status_without_a_phone_settles_a_try_without_an_answer(stage: Stage) -> None:
    await stage.fault(drop_response=True, times=1)
    posted = await stage.send(to=ANN)
    await stage.becomes(posted["id"], "DELIVERED", providerMessageId=...)
    assert len(stage.accepted(ANN)) == 1


async def test_a_status_without_a_phone_and_without_our_id_finds_its_message_by_wamid(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently(to=ANN)
    answer = await stage.post(status_post(stage.acme, to_ann("delivered", wamid), to_ann("read", wamid)))
    assert answer.status == 200
    await stage.becomes(message_id, "DELIVERED", readAt=...)


async def test_messages_to_a_user_id_keep_their_order(stage: Stage) -> None:
    posted = [await stage.send(to=ANN, ordered=True, payloadJson={"text": str(n)}) for n in range(3)]
    for message in posted:
        await stage.becomes(message["id"], "DELIVERED")
    assert [call["text"]["body"] for call in stage.calls(ANN)] == ["0", "1", "2"]


async def test_the_window_of_a_customer_without_a_phone_is_kept_under_the_user_id(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    early = await stage.send(to=ANN)
    await stage.becomes(early["id"], "FAILED", errorCode="SESSION_EXPIRED")
    wrote = an_inbound(ANN, stage.clock.now(), NumberId("1001"))
    await stage.world.ledger.journal.apply_webhook(WebhookBatch([], [], [wrote]), stage.clock.now())
    window = await stage.get(f"{OUTBOUND}/session-windows/{ANN}")
    assert (window["phoneNumber"], window["open"]) == (ANN, True)
    await stage.becomes((await stage.send(to=ANN))["id"], "DELIVERED")


@ON_SQLITE
async def test_quiet_hours_go_by_the_orgs_clock_where_there_is_no_phone(stage: Stage) -> None:
    night = {"quietHours": {"from": "08:00", "to": "10:00", "timezone": "UTC"}}  # it is 08:53 there
    assert (await stage.call("PATCH", "/api/v1/policy", night)).status == 200
    posted = await stage.send(to=ANN)
    found = await stage.becomes(posted["id"], "QUEUED", deferredBy="quiet")
    assert found["nextRetryAt"].startswith("2025-10-09T10:00:00")


@ON_SQLITE
async def test_a_code_cannot_be_sent_to_a_user_id(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    stage.sandbox.templates.create(stage.acme.number.waba_id, CODE)
    posted = await stage.send(to=ANN, templateCode="code", payloadJson={"language": "en"})
    await stage.becomes(posted["id"], "FAILED", errorCode="131062")


@ON_SQLITE
@pytest.mark.parametrize("to", ["us.1349", "US.", "US.12 34", " US.1349", "USA.1349", "US.1349\n", "US." + "1" * 129])
async def test_what_only_looks_like_a_user_id_is_refused(stage: Stage, to: str) -> None:
    answer = await stage.call("POST", MESSAGES, {"channel": "WHATSAPP", "to": to, "payloadJson": {"text": "hi"}})
    assert (answer.status, answer.code) == (422, "invalid_recipient")


@ON_SQLITE
async def test_a_dossiers_phone_is_a_phone(stage: Stage) -> None:
    answer = await stage.call("POST", "/api/v1/dossiers", {"phone": ANN})
    assert answer.status == 422


@ON_SQLITE
async def test_a_user_id_that_fails_is_tried_again_as_a_number_would_be(stage: Stage) -> None:
    await stage.fault(error_code=131000, times=1)
    posted = await stage.send(to=ANN)
    await stage.becomes(posted["id"], "QUEUED", attemptCount=1)
    await stage.pass_time(seconds(61))
    await stage.becomes(posted["id"], "DELIVERED", attemptCount=2)


async def test_an_unmatched_status_for_the_user_id_blocks_the_second_send(stage: Stage) -> None:
    await stage.fault(drop_response=True, statuses="never", times=1)
    message_id = await stage.unsure(to=ANN)
    answer = await stage.post(status_post(stage.acme, to_ann("sent", "wamid.nobody-knows")))
    assert answer.status == 200
    await stage.grow_stale()
    assert len(stage.accepted(ANN)) == 1
    assert (await stage.message(message_id))["status"] == "SENDING"
