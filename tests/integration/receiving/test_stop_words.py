"""A customer writes STOP: from that moment nothing goes out but the word that we heard it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.conversations.test_odd_turns import A, a_turn
from tests.integration.stage.harness import HELLO, MESSAGES, Stage
from tests.integration.stage.webhooks import PHONE, Account, a_text, change, envelope
from waypost.flow.conversations import answer_turn
from waypost.flow.receiving.consent_words import with_consent
from waypost.model.dossier import ConsentStatus
from waypost.model.time import minutes
from waypost_testing.contracts.examples import an_inbound

OUTBOUND = "/api/v1/outbound"


def text_post(account: Account, wamid: str, text: str) -> dict[str, Any]:
    return envelope((account, [change(account, messages=[a_text(wamid, text)])]))


def written(account: Account, wamid: str, text: str, at: int) -> dict[str, Any]:
    """The same, by a message of that moment."""
    return envelope((account, [change(account, messages=[a_text(wamid, text, timestamp=str(at // 1_000_000))])]))


def answers(stage: Stage) -> list[str]:
    return [m["text"] for m in stage.sandbox.phones.screen(PHONE.lstrip("+")) if m["from"] == "business"]


async def has_answers(stage: Stage, count: int) -> list[str]:
    async def there() -> bool:
        return len(answers(stage)) >= count

    await stage.eventually(there)
    return answers(stage)


async def consents(stage: Stage) -> dict[str, Any]:
    (dossier,) = (await stage.get(f"/api/v1/dossiers?phone=%2B{PHONE.lstrip('+')}"))["content"]
    found = await stage.get(f"{OUTBOUND}/consents?dossierId={dossier['id']}")
    return {each["channel"]: each["status"] for each in found["content"]}


async def test_stop_says_no_and_start_takes_it_back(stage: Stage) -> None:
    assert (await stage.post(text_post(stage.acme, "wamid.1", "Stop!"))).status == 200
    (answer,) = await has_answers(stage, 1)
    assert "unsubscribed" in answer
    refused = await stage.call("POST", MESSAGES, {"channel": "WHATSAPP", "to": PHONE, "payloadJson": {"text": "hey"}})
    assert (refused.status, refused.code) == (422, "consent_required")
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}
    await stage.post(text_post(stage.acme, "wamid.2", "START"))
    assert "subscribed again" in (await has_answers(stage, 2))[1]
    assert await consents(stage) == {"WHATSAPP": "GRANTED"}
    await stage.becomes((await stage.send())["id"], "DELIVERED")


async def test_a_start_that_is_delivered_late_does_not_undo_a_later_stop(stage: Stage) -> None:
    now = stage.clock.now()
    await stage.post(written(stage.acme, "wamid.2", "STOP", now - minutes(25)))
    await stage.post(written(stage.acme, "wamid.1", "START", now - minutes(30)))
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}
    assert await codes(stage, PHONE) == ["consent_required"]
    (answer,) = await has_answers(stage, 1)
    assert "unsubscribed" in answer
    await stage.post(written(stage.acme, "wamid.3", "START", now))
    assert "subscribed again" in (await has_answers(stage, 2))[1], "and the late one was not confirmed"


async def test_a_start_that_is_delivered_late_does_not_undo_what_a_person_recorded(stage: Stage) -> None:
    now = stage.clock.now()
    await stage.post(written(stage.acme, "wamid.1", "hello", now - minutes(30)))
    (dossier,) = (await stage.get(f"/api/v1/dossiers?phone=%2B{PHONE.lstrip('+')}"))["content"]
    no = {"dossierId": dossier["id"], "channel": "WHATSAPP", "status": "REVOKED"}
    assert (await stage.call("PUT", f"{OUTBOUND}/consents", no)).status == 200
    await stage.post(written(stage.acme, "wamid.2", "START", now - minutes(30)))
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}


async def codes(stage: Stage, *addresses: str) -> list[str | None]:
    """What a message to each of them is refused for."""
    sent = [await stage.call("POST", MESSAGES, HELLO | {"to": to}) for to in addresses]
    return [answer.code if answer.status == 422 else None for answer in sent]


async def test_a_stop_counts_for_every_way_to_reach_the_customer(stage: Stage) -> None:
    came, alias, user = "5215512345678", "+525512345678", "MX.77"
    written = a_text("wamid.1", "STOP", **{"from": came, "from_user_id": user})
    await stage.post(envelope((stage.acme, [change(stage.acme, messages=[written])])))
    assert await codes(stage, f"+{came}", alias, user) == ["consent_required"] * 3
    again = a_text("wamid.2", "START", **{"from": alias.lstrip("+")})
    await stage.post(envelope((stage.acme, [change(stage.acme, messages=[again])])))
    assert await codes(stage, f"+{came}", alias, user) == [None] * 3


async def test_the_window_is_found_by_either_form_of_the_number(stage: Stage) -> None:
    now = str(stage.clock.now() // 1_000_000)
    written = a_text("wamid.1", "hello", **{"from": "5215512345678", "timestamp": now})
    await stage.post(envelope((stage.acme, [change(stage.acme, messages=[written])])))
    found = [await stage.get(f"{OUTBOUND}/session-windows/{phone}") for phone in ("5215512345678", "525512345678")]
    assert [window["open"] for window in found] == [True, True]


CHOSEN = {
    "type": "interactive",
    "interactive": {"type": "button_reply", "button_reply": {"id": "1", "title": "Cancel"}},
}
PICTURE = {"type": "image", "image": {"id": "7", "mime_type": "image/png", "caption": "Cancel"}}
PLACE = {"type": "location", "location": {"latitude": 1.0, "longitude": 2.0, "name": "Alto"}}
TAPPED = {"type": "button", "button": {"payload": "Stop", "text": "Stop"}}


@pytest.mark.parametrize("message", [CHOSEN, PICTURE, PLACE], ids=["a button of ours", "a caption", "a place"])
async def test_an_answer_to_something_else_changes_no_consent_and_is_answered(
    stage: Stage, message: dict[str, Any]
) -> None:
    body = msgspec.json.encode(message).decode()
    assert with_consent(an_inbound(type=message["type"], body=body), None).consent is None
    claim = await a_turn(stage, body, type=message["type"])
    await answer_turn.converse(claim, A(lambda turn: f"{len(turn.messages)} heard"), stage.world)
    (said,) = await stage.database.run("SELECT body FROM entry WHERE sender = 'bot'")
    assert "1 heard" in said[0]


def test_a_templates_quick_reply_says_it() -> None:
    told = with_consent(an_inbound(type="button", body=msgspec.json.encode(TAPPED).decode()), None)
    assert told.consent is not None
    assert (told.consent.status, told.asks) == (ConsentStatus.REVOKED, False)


def text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


def an_edit(wamid: str, original: str, message: dict[str, Any]) -> dict[str, Any]:
    return a_text(wamid, type="edit", edit={"original_message_id": original, "message": message})


async def test_a_message_that_is_edited_to_stop_says_it(stage: Stage) -> None:
    edit = an_edit("wamid.2", "wamid.1", text("Stop"))
    burst = [a_text("wamid.1", "hello"), edit]
    assert (await stage.post(envelope((stage.acme, [change(stage.acme, messages=burst)])))).status == 200
    (answer,) = await has_answers(stage, 1)
    assert "unsubscribed" in answer
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}
    further = [an_edit("wamid.3", "wamid.1", PICTURE), an_edit("wamid.4", "wamid.1", text("go on"))]
    await stage.post(envelope((stage.acme, [change(stage.acme, messages=further)])))
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}, "only START takes it back"


async def test_an_edit_to_stop_of_what_came_before_is_not_asked_of_the_bot(stage: Stage) -> None:
    edit = an_edit("wamid.2", "wamid.1", text("STOP"))
    claim = await a_turn(stage, msgspec.json.encode(edit).decode(), type="edit", wamid="wamid.2")
    await answer_turn.converse(claim, A(lambda turn: f"{len(turn.messages)} heard"), stage.world)
    assert await stage.database.run("SELECT body FROM entry WHERE sender = 'bot'") == []


async def test_what_is_still_queued_is_stopped(stage: Stage) -> None:
    await stage.post(text_post(stage.acme, "wamid.1", "hello"))
    await stage.fault(error_code=131000, times=1)
    queued = await stage.send()
    await stage.becomes(queued["id"], "QUEUED", attemptCount=1)
    await stage.post(text_post(stage.acme, "wamid.2", "STOP"))
    await stage.call("POST", f"{MESSAGES}/{queued['id']}/retry")
    await stage.database.run("UPDATE later SET due_at = 0")
    found = await stage.becomes(queued["id"], "FAILED")
    assert found["errorCode"] == "CONSENT_REQUIRED"


async def test_the_same_stop_twice_is_confirmed_once(stage: Stage) -> None:
    for _ in range(3):
        assert (await stage.post(text_post(stage.acme, "wamid.1", "stop"))).status == 200
    await has_answers(stage, 1)
    await stage.sandbox.settled()
    assert len(answers(stage)) == 1
    trail = await stage.get(f"{OUTBOUND}/audit?entityType=DOSSIER")
    assert [each["action"] for each in trail["content"]] == ["CONSENT_CHANGED", "CREATED"]


async def test_an_org_chooses_its_words(stage: Stage) -> None:
    changed = await stage.call(
        "PATCH", "/api/v1/policy", {"consentWords": {"stop": ["basta"], "stopReply": "Va bene."}}
    )
    assert changed.status == 200, changed
    await stage.post(text_post(stage.acme, "wamid.1", "stop"))
    await stage.post(text_post(stage.acme, "wamid.2", "Basta!"))
    assert await has_answers(stage, 1) == ["Va bene."]
