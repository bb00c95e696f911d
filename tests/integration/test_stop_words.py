"""A customer writes STOP: from that moment nothing goes out but the word that we heard it."""

from __future__ import annotations

from typing import Any

from tests.integration.harness import MESSAGES, Stage
from tests.integration.webhooks import PHONE, Account, a_text, change, envelope

OUTBOUND = "/api/v1/outbound"


def said(account: Account, wamid: str, text: str) -> dict[str, Any]:
    return envelope((account, [change(account, messages=[a_text(wamid, text)])]))


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
    assert (await stage.post(said(stage.acme, "wamid.1", "Stop!"))).status == 200
    (answer,) = await has_answers(stage, 1)
    assert "unsubscribed" in answer
    refused = await stage.call("POST", MESSAGES, {"channel": "WHATSAPP", "to": PHONE, "payloadJson": {"text": "hey"}})
    assert (refused.status, refused.code) == (422, "consent_required")
    assert await consents(stage) == {"WHATSAPP": "REVOKED"}
    await stage.post(said(stage.acme, "wamid.2", "START"))
    assert "subscribed again" in (await has_answers(stage, 2))[1]
    assert await consents(stage) == {"WHATSAPP": "GRANTED"}
    await stage.becomes((await stage.send())["id"], "DELIVERED")


async def test_what_is_still_queued_is_stopped(stage: Stage) -> None:
    await stage.post(said(stage.acme, "wamid.1", "hello"))
    await stage.fault(error_code=131000, times=1)
    queued = await stage.send()
    await stage.becomes(queued["id"], "QUEUED", attemptCount=1)
    await stage.post(said(stage.acme, "wamid.2", "STOP"))
    await stage.call("POST", f"{MESSAGES}/{queued['id']}/retry")
    await stage.database.run("UPDATE later SET due_at = 0")
    found = await stage.becomes(queued["id"], "FAILED")
    assert found["errorCode"] == "CONSENT_REQUIRED"


async def test_the_same_stop_twice_is_confirmed_once(stage: Stage) -> None:
    for _ in range(3):
        assert (await stage.post(said(stage.acme, "wamid.1", "stop"))).status == 200
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
    await stage.post(said(stage.acme, "wamid.1", "stop"))
    await stage.post(said(stage.acme, "wamid.2", "Basta!"))
    assert await has_answers(stage, 1) == ["Va bene."]
