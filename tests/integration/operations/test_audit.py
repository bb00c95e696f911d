"""The audit trail and a dossier's activities, as the specification names them, read from the rows that record them."""

from __future__ import annotations

from typing import Any

from tests.integration.accounts.test_dossiers import (
    ACTIVITIES,
    AUDIT,
    TEMPLATE,
    key_with,
    of_dossier,
    opened,
    says,
    trail,
)
from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, status_post
from tests.integration.stage.webhooks import status as a_status
from waypost.model.time import minutes, seconds

Entries = list[dict[str, Any]]


async def agreed(stage: Stage) -> int:
    dossier: int = (await opened(stage))["id"]
    await says(stage, dossier, "GRANTED")
    return dossier


async def of_message(stage: Stage, message_id: int) -> Entries:
    return await trail(stage, f"&entityType=OUTBOUND_MESSAGE&entityId={message_id}")


def actions(entries: Entries) -> list[str]:
    return [entry["action"] for entry in entries]


async def activities(stage: Stage, dossier: int) -> Entries:
    found: Entries = (await stage.get(f"{ACTIVITIES}?dossierId={dossier}"))["content"]
    moments = [each["at"] for each in found]
    assert moments == sorted(moments, reverse=True)
    return found


async def test_a_message_that_arrived_and_was_read(stage: Stage) -> None:
    dossier = await agreed(stage)
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    sent = await stage.becomes(posted["id"], "DELIVERED")
    stage.manual.advance(seconds(1))
    await stage.reads()
    await stage.becomes(posted["id"], "DELIVERED", readAt=...)
    entries = await of_message(stage, posted["id"])
    assert actions(entries) == ["UPDATED", "UPDATED", "SENT", "CREATED"]
    assert [entry["details"] for entry in entries[:2]] == ["delivery status: read", "delivery status: delivered"]
    assert entries[-1]["details"] == f"channel=WHATSAPP, to={PHONE}, template=hello_world"
    assert {entry["entityId"] for entry in entries} == {str(posted["id"])}
    read, delivered, first = await activities(stage, dossier)
    assert (first["type"], first["dossierId"]) == ("MESSAGE_SENT", dossier)
    message = {"outboundMessageId": posted["id"], "channel": "WHATSAPP"}
    assert first["payload"] == message | {"to": PHONE, "status": "SENT"}
    assert delivered["type"] == read["type"] == "MESSAGE_STATUS_UPDATE"
    assert delivered["payload"] == message | {"providerMessageId": sent["providerMessageId"], "status": "delivered"}
    assert read["payload"]["status"] == "read"


async def test_a_message_that_the_provider_refused(stage: Stage) -> None:
    dossier = await agreed(stage)
    await stage.fault(error_code=131026, times=1)
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(posted["id"], "FAILED")
    failed, created = await of_message(stage, posted["id"])
    assert (failed["action"], created["action"]) == ("FAILED", "CREATED")
    assert failed["details"].startswith("131026: ")
    (activity,) = await activities(stage, dossier)
    assert activity["type"] == "MESSAGE_FAILED"
    assert activity["payload"] == {"outboundMessageId": posted["id"], "channel": "WHATSAPP", "errorCode": "131026"}


async def test_a_failure_that_only_a_status_reports(stage: Stage) -> None:
    dossier = await agreed(stage)
    await stage.fault(status_error=131049, times=1)
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(posted["id"], "FAILED", errorCode="131049")
    assert actions(await of_message(stage, posted["id"])) == ["FAILED", "UPDATED", "SENT", "CREATED"]
    types = [each["type"] for each in await activities(stage, dossier)]
    assert types == ["MESSAGE_FAILED", "MESSAGE_STATUS_UPDATE", "MESSAGE_SENT"]


async def test_a_try_that_is_followed_by_another_is_no_failure(stage: Stage) -> None:
    dossier = await agreed(stage)
    await stage.fault(error_code=131000, times=1)
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(posted["id"], "QUEUED", errorCode="131000")
    await stage.pass_time(minutes(2))
    await stage.becomes(posted["id"], "DELIVERED")
    assert actions(await of_message(stage, posted["id"])) == ["UPDATED", "SENT", "CREATED"]


async def test_statuses_that_come_late_or_twice_are_told_once(stage: Stage) -> None:
    dossier = await agreed(stage)
    message_id, wamid = await stage.sent_silently(dossierId=dossier, **TEMPLATE)
    for kind in ("read", "delivered", "sent", "read", "failed"):
        assert (await stage.post(status_post(stage.acme, a_status(wamid, kind)))).status == 200
        stage.manual.advance(seconds(1))
    assert actions(await of_message(stage, message_id)) == ["UPDATED", "SENT", "CREATED"]


async def test_who_cancelled_and_who_retried_is_told(stage: Stage) -> None:
    sender = await key_with(stage, "sender")
    agent = (await stage.call("POST", "/api/v1/users", {"name": "Ada"})).json
    wish = HELLO | TEMPLATE | {"scheduledAt": stage.moment(minutes(5))}
    posted = (await stage.call("POST", MESSAGES, wish, key=agent["token"])).json
    path = f"{MESSAGES}/{posted['id']}"
    assert (await stage.call("POST", f"{path}/cancel", key=sender["key"])).status == 200
    assert (await stage.call("POST", f"{path}/cancel", key=sender["key"])).status == 409
    stage.manual.advance(seconds(1))
    assert (await stage.call("POST", f"{path}/retry", key=agent["token"])).status == 200
    await stage.becomes(posted["id"], "DELIVERED")
    entries = await of_message(stage, posted["id"])
    assert sorted(actions(entries)) == ["CANCELLED", "CREATED", "RETRIED", "SENT", "UPDATED"]
    actors = {entry["action"]: entry["actor"] for entry in entries}
    assert (actors["CANCELLED"], actors["RETRIED"]) == (sender["key_id"], agent["user_id"])
    assert actors["CREATED"] == agent["user_id"]
    assert (actors["SENT"], actors["UPDATED"]) == ("system", "provider")


async def test_an_expired_message_is_a_cancelled_one(stage: Stage) -> None:
    wish: dict[str, Any] = {"scheduledAt": stage.moment(seconds(10)), "expiresAt": stage.moment(seconds(20))}
    posted = await stage.send(**wish, **TEMPLATE)
    await stage.pass_time(seconds(30))
    await stage.becomes(posted["id"], "CANCELLED", errorCode="EXPIRED")
    assert actions(await of_message(stage, posted["id"])) == ["CANCELLED", "CREATED"]


async def test_a_freeform_message_outside_the_window_was_blocked(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    posted = await stage.send(to="+16505550007")
    await stage.becomes(posted["id"], "FAILED", errorCode="SESSION_EXPIRED")
    assert actions(await of_message(stage, posted["id"])) == ["FAILED", "BLOCKED_BY_POLICY", "CREATED"]


async def test_what_a_rule_stopped_was_never_tried(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="enforce")
    posted = await stage.send(to="+16505550007")
    ended = await stage.becomes(posted["id"], "FAILED", errorCode="SESSION_EXPIRED")
    assert ended["attemptCount"] == 0
    assert await stage.get(f"{MESSAGES}/{posted['id']}/attempts") == []
    assert await stage.kinds(posted["id"]) == ["submitted", "refused"]
    assert stage.calls("+16505550007") == []


async def test_without_a_filter_everything_is_merged_newest_first(stage: Stage) -> None:
    dossier = await agreed(stage)
    stage.manual.advance(seconds(1))
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(posted["id"], "DELIVERED")
    found = await trail(stage)
    told = [(entry["entityType"], entry["action"]) for entry in found]
    message, person = "OUTBOUND_MESSAGE", "DOSSIER"
    assert set(told[:3]) == {(message, "UPDATED"), (message, "SENT"), (message, "CREATED")}
    assert told[3:5] == [(person, "CONSENT_CHANGED"), (person, "CREATED")]
    assert set(told[5:]) == {("NUMBER", "NUMBER_CONNECTED"), ("KEY", "KEY_CREATED")}
    assert (await stage.get(f"{AUDIT}?limit=2"))["content"] == found[:2]
    assert await trail(stage, "&entityType=DOSSIER") == found[3:5] == await of_dossier(stage, dossier)
    assert actions(await trail(stage, "&entityType=OUTBOUND_MESSAGE")) == actions(found[:3])


async def test_another_orgs_trail_tells_nothing_of_it(stage: Stage) -> None:
    dossier = await agreed(stage)
    posted = await stage.send(dossierId=dossier, **TEMPLATE)
    await stage.becomes(posted["id"], "DELIVERED")
    one = f"&entityType=OUTBOUND_MESSAGE&entityId={posted['id']}"
    assert {entry["entityType"] for entry in await trail(stage, "", stage.globex.key)} == {"NUMBER", "KEY"}
    for query in (one, f"&entityType=DOSSIER&entityId={dossier}", "&entityType=DOSSIER"):
        assert await trail(stage, query, stage.globex.key) == [], query


@ON_SQLITE
async def test_what_is_no_id_has_no_trail(stage: Stage) -> None:
    await stage.send(**TEMPLATE)
    for entity in ("x", "0", "-1", "1.0", "²", "%D9%A1", "99999999999999999999", "9" * 200):
        for kind in ("OUTBOUND_MESSAGE", "DOSSIER", "NOTHING"):
            assert await trail(stage, f"&entityType={kind}&entityId={entity}") == [], entity


async def test_what_an_admin_changes_by_the_api_names_their_key(stage: Stage) -> None:
    made = (await stage.call("POST", "/api/v1/keys", {"role": "readonly", "label": "dashboard"})).json
    await stage.call("PATCH", "/api/v1/numbers/1001", {"token": "EAAnew", "pace": 20})
    await stage.call("PATCH", "/api/v1/policy", {"unsure": "park"})
    keys = await trail(stage, f"&entityType=KEY&entityId={made['key_id']}")
    (changed, _) = await trail(stage, "&entityType=NUMBER&entityId=1001")
    (policy,) = await trail(stage, "&entityType=ORG")
    assert actions([*keys, changed, policy]) == ["KEY_CREATED", "NUMBER_CHANGED", "POLICY_CHANGED"]
    assert changed["details"] == "changed: token, pace"
    assert {entry["actor"][:4] for entry in [*keys, changed, policy]} == {"key_"}
