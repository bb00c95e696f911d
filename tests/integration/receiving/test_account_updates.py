"""Account updates through the real webhook endpoint from the sandbox: what each changes, once, in order."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage
from tests.integration.stage.network import SANDBOX
from tests.integration.stage.webhooks import PHONE, Account, a_number, change, envelope, status
from waypost.flow.sending import templates as template_lists
from waypost.model.time import as_seconds, hours, seconds

JOURNAL = "/api/v1/webhook-journal"
GATES = "/api/v1/outbound/gates"
NUMBERS = "/api/v1/numbers"
LIMIT = "max_daily_conversations_per_business"
BAN = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}}
REINSTATE = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "REINSTATE"}}
PROMO: dict[str, Any] = {"templateCode": "promo", "payloadJson": {"language": "en"}}


def unix(stage: Stage) -> int:
    return int(as_seconds(stage.clock.now()))


async def update(stage: Stage, field: str, value: object, **more: Any) -> None:
    """As Meta would: the sandbox posts it, signed."""
    body = msgspec.json.encode({"field": field, "value": value, **more})
    reply = await stage.network.request("POST", f"{SANDBOX}/_sandbox/updates", headers={}, body=body, timeout=5)
    assert (reply.status, msgspec.json.decode(reply.body)) == (200, {"answered": True})


def posted(account: Account, *changes: tuple[str, object], time: int | None = None) -> dict[str, Any]:
    entry = {"id": account.number.waba_id, "time": time}
    return {"entry": [entry | {"changes": [{"field": field, "value": value} for field, value in changes]}]}


async def states(stage: Stage, account: Account | None = None) -> list[tuple[str, str]]:
    return [(item["kind"], item["state"]) for item in await stage.journal(account)]


async def closed(stage: Stage) -> list[tuple[str, str]]:
    return [(gate["code"], gate["kind"]) for gate in (await stage.get(GATES))["content"]]


async def number(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = (await stage.get(NUMBERS))[0]
    return found


async def promo(stage: Stage) -> None:
    """A marketing template that the org knows of."""
    account = stage.acme.number
    body = {"type": "BODY", "text": "Buy now"}
    definition = {"name": "promo", "language": "en", "category": "MARKETING", "components": [body]}
    reply = await stage.network.request(
        "POST",
        f"{SANDBOX}/v25.0/{account.waba_id}/message_templates",
        headers={"authorization": f"Bearer {account.token}"},
        body=msgspec.json.encode(definition),
        timeout=5,
    )
    assert reply.status == 200, reply
    assert (await stage.call("POST", "/api/v1/outbound/templates/sync")).status == 200


def wish(value: str, stage: Stage, phone: str = PHONE, ago: int = 0) -> dict[str, Any]:
    said = {"wa_id": phone.lstrip("+"), "user_id": "US.1", "detail": "User requested to stop", "value": value}
    return {"user_preferences": [said | {"category": "marketing_messages", "timestamp": unix(stage) - ago}]}


async def send(stage: Stage, **changed: Any) -> Answer:
    return await stage.call("POST", MESSAGES, HELLO | changed)


async def replay(stage: Stage, item: object, key: str | None = None) -> Answer:
    return await stage.call("POST", f"{JOURNAL}/{item}/replay", key=key)


# Held accounts


async def test_a_disabled_account_waits_and_its_reinstatement_frees_the_message(stage: Stage) -> None:
    await update(stage, "account_update", BAN)
    assert await closed(stage) == [("ACCOUNT_DISABLED", "hold")]
    posted_ = await stage.send()
    assert (await stage.message(posted_["id"]))["deferredBy"] == "hold"
    theirs = await stage.call("POST", MESSAGES, HELLO, key=stage.globex.key)
    assert (await stage.call("GET", f"{MESSAGES}/{theirs.json['id']}", key=stage.globex.key)).json["deferredBy"] is None
    await update(stage, "account_update", REINSTATE)
    await stage.becomes(posted_["id"], "DELIVERED")
    assert await closed(stage) == []
    assert await states(stage) == [("account:account_update", "done")] * 2
    assert await stage.metric('webhook_alert_total{field="account_update"}') == 2


@ON_SQLITE
async def test_a_restriction_holds_until_it_expires(stage: Stage) -> None:
    until = unix(stage) + 3600
    info = [{"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": until}]
    await update(stage, "account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": info})
    message = await stage.send()
    found = await stage.message(message["id"])
    assert (found["status"], found["deferredBy"]) == ("QUEUED", "hold")
    assert found["nextRetryAt"] == stage.moment(seconds(until - as_seconds(stage.clock.now())))
    stage.manual.jump(hours(1.01))
    stage.hints.give(["outbox"])
    await stage.becomes(message["id"], "DELIVERED")


async def test_an_older_word_heard_late_and_the_same_post_again_change_nothing(stage: Stage) -> None:
    now = unix(stage)
    ban, free = (
        posted(stage.acme, ("account_update", BAN), time=now - 5),
        posted(stage.acme, ("account_update", REINSTATE), time=now - 4),
    )
    for body in (free, ban, free, ban, ban):
        assert (await stage.post(body)).status == 200
    assert await closed(stage) == []
    assert await states(stage) == [("account:account_update", "done")] * 2
    assert await stage.metric('webhook_alert_total{field="account_update"}') == 2


@ON_SQLITE
async def test_nobody_holds_another_orgs_account(stage: Stage) -> None:
    body = posted(stage.acme, ("account_update", BAN))
    assert (await stage.post(body, stage.globex)).status == 401
    mixed = change(stage.globex) | {"field": "account_update"}
    mixed["value"] |= BAN
    assert (
        await stage.post({"entry": [{"id": stage.acme.number.waba_id, "changes": [mixed]}]}, stage.globex)
    ).status == 200
    assert await closed(stage) == []
    assert [gate["code"] for gate in (await stage.get(GATES, stage.globex.key))["content"]] == ["ACCOUNT_DISABLED"]


# Limits


async def test_the_tier_and_the_pace_follow_the_account(stage: Stage) -> None:
    now = unix(stage)
    await update(stage, "business_capability_update", {LIMIT: "TIER_2K", "max_phone_numbers_per_waba": 25})
    assert (await number(stage))["tier"] == 2000
    await update(stage, "phone_number_quality_update", {"event": "ONBOARDING", LIMIT: "TIER_250"}, time=now - 60)
    assert (await number(stage))["tier"] == 2000
    await stage.call("PATCH", f"{NUMBERS}/1001", {"pace": 80})
    await update(stage, "phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE", LIMIT: -1})
    found = await number(stage)
    assert (found["tier"], found["pace"]) == (None, 1000)


@ON_SQLITE
async def test_an_upgrade_of_one_of_several_numbers_fails_visibly(stage: Stage) -> None:
    second = Account("acme", stage.acme.key, a_number("1002", waba_id=stage.acme.number.waba_id))
    assert (await stage.call("POST", NUMBERS, second.as_connected)).status == 201
    await update(stage, "phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE"}, phone_number_id="1001")
    (item,) = await stage.get(f"{JOURNAL}?state=failed")
    assert "several numbers" in item["error"]


# Templates


@ON_SQLITE
@pytest.mark.parametrize(
    "field", ["message_template_quality_update", "template_category_update", "message_template_components_update"]
)
async def test_a_changed_template_is_fetched_again(stage: Stage, field: str) -> None:
    await promo(stage)
    assert await template_lists.refresh(stage.world) == 0
    stage.manual.advance(seconds(5))
    await update(stage, field, {"message_template_name": "promo", "new_quality_score": "RED"})
    assert await template_lists.refresh(stage.world) == 1
    assert await template_lists.refresh(stage.world) == 0


# An account of two orgs


async def shared(stage: Stage, **changed: Any) -> Account:
    """Globex has connected a number of acme's business account, with the same app."""
    same = {name: getattr(stage.acme.number, name) for name in ("waba_id", "app_secret", "token")} | changed
    account = Account("globex", stage.globex.key, a_number("2002", **same))
    answer = await stage.call("POST", NUMBERS, account.as_connected, key=account.key)
    assert answer.status == 201, answer
    return account


async def template_status(stage: Stage, account: Account, name: str = "hello_world") -> str:
    """Of acme's business account, as this org knows it."""
    listed = (await stage.get("/api/v1/outbound/templates", account.key))["content"]
    waba_id = stage.acme.number.waba_id
    (found,) = (each["status"] for each in listed if (each["name"], each["wabaId"]) == (name, waba_id))
    return str(found)


async def test_an_account_that_two_orgs_have_connected_is_told_of_to_both(stage: Stage) -> None:
    theirs = await shared(stage)
    for account in (stage.acme, theirs):
        assert (await stage.call("POST", "/api/v1/outbound/templates/sync", key=account.key)).status == 200
        assert await template_status(stage, account) == "APPROVED"
    value = {"event": "DISABLED", "message_template_name": "hello_world", "message_template_language": "en_US"}
    body = posted(stage.acme, ("message_template_status_update", value), ("account_update", BAN), time=unix(stage))
    for _ in range(2):
        assert (await stage.post(body)).status == 200
    for account in (stage.acme, theirs):
        assert await template_status(stage, account) == "DISABLED", account.org
        gates = (await stage.get(GATES, account.key))["content"]
        assert [gate["code"] for gate in gates] == ["ACCOUNT_DISABLED"], account.org
        assert {state for _, state in await states(stage, account)} == {"done"}
        assert len(await states(stage, account)) == 2, "once per org, however often it comes and whatever it has there"


@ON_SQLITE
async def test_what_another_secret_has_signed_is_told_to_its_own_org_only(stage: Stage) -> None:
    theirs = await shared(stage, app_secret="another app's")
    body = posted(stage.acme, ("account_update", BAN), time=unix(stage))
    assert (await stage.post(body)).status == 200
    assert (len(await states(stage)), len(await states(stage, theirs))) == (1, 0)
    again = posted(stage.acme, ("account_update", REINSTATE), time=unix(stage))
    assert (await stage.post(again, theirs)).status == 200
    assert (len(await states(stage)), len(await states(stage, theirs))) == (1, 1)
    assert await closed(stage) == [("ACCOUNT_DISABLED", "hold")], "nobody signs for another"


@ON_SQLITE
async def test_an_org_that_is_named_is_the_only_one_that_is_told(stage: Stage) -> None:
    theirs = await shared(stage)
    body = posted(stage.acme, ("account_update", BAN), time=unix(stage))
    assert (await stage.post(body, headers={"x-org-id": theirs.org})).status == 200
    assert (len(await states(stage)), len(await states(stage, theirs))) == (0, 1)
    mixed = posted(stage.acme, ("account_update", BAN), time=unix(stage))
    mixed["entry"] += envelope((stage.acme, [change(stage.acme, statuses=[status("wamid.x", "sent")])]))["entry"]
    assert (await stage.post(mixed, headers={"x-org-id": theirs.org})).status == 403
    assert (await stage.post(mixed, headers={"x-org-id": "nobody"})).status == 403
    assert len(await states(stage)) == 0


@ON_SQLITE
async def test_a_pace_that_names_no_number_is_no_orgs_where_two_have_one_each(stage: Stage) -> None:
    theirs = await shared(stage)
    upgrade = ("phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE"})
    assert (await stage.post(posted(stage.acme, upgrade, time=unix(stage)))).status == 200
    for account in (stage.acme, theirs):
        assert [state for _, state in await states(stage, account)] == ["failed"]


# Preferences


async def test_whoever_stopped_marketing_gets_none_until_they_resume(stage: Stage) -> None:
    await promo(stage)
    await update(stage, "user_preferences", wish("stop", stage, ago=5))
    refused = await send(stage, **PROMO)
    assert (refused.status, refused.code, refused.json["field"]) == (422, "consent_required", "to")
    service = await send(stage, templateCode="hello_world", payloadJson={"language": "en_US"})
    assert service.status == 201
    assert (await send(stage)).status == 201
    assert (await stage.call("POST", MESSAGES, HELLO | PROMO | {"to": "+16505559999"})).status == 201
    await update(stage, "user_preferences", wish("resume", stage, ago=9))
    assert (await send(stage, **PROMO)).status == 422
    await update(stage, "user_preferences", wish("resume", stage))
    assert (await send(stage, **PROMO)).status == 201
    trail = (await stage.get(f"/api/v1/outbound/audit?entityType=ADDRESS&entityId={PHONE.replace('+', '%2B')}"))[
        "content"
    ]
    assert [(entry["action"], entry["actor"]) for entry in trail] == [
        ("CONSENT_CHANGED", "provider"),
        ("BLOCKED_BY_POLICY", trail[1]["actor"]),
        ("BLOCKED_BY_POLICY", trail[2]["actor"]),
        ("CONSENT_CHANGED", "provider"),
    ]


async def test_a_wish_that_comes_after_the_message_was_stored_stops_it_before_it_is_sent(stage: Stage) -> None:
    await promo(stage)
    await update(stage, "account_update", BAN)
    message = (await send(stage, **PROMO)).json
    await update(stage, "user_preferences", wish("stop", stage))
    await update(stage, "account_update", REINSTATE)
    found = await stage.becomes(message["id"], "FAILED")
    assert (found["errorCode"], found["errorMessage"]) == (
        "CONSENT_REQUIRED",
        "the customer has stopped marketing messages",
    )
    assert stage.calls() == []


@ON_SQLITE
async def test_a_wish_is_the_dossiers_and_can_be_read_and_changed_there(stage: Stage) -> None:
    await promo(stage)
    dossier = (await stage.call("POST", "/api/v1/dossiers", {"phone": PHONE})).json["id"]
    consents = "/api/v1/outbound/consents"
    for channel in ("WHATSAPP", "WHATSAPP_MARKETING"):
        given = {"dossierId": dossier, "channel": channel, "status": "GRANTED"}
        assert (await stage.call("PUT", consents, given)).status == 200
    stage.manual.advance(seconds(2))
    await update(stage, "user_preferences", wish("stop", stage))
    known = (await stage.get(f"{consents}?dossierId={dossier}"))["content"]
    assert {each["channel"]: each["status"] for each in known} == {
        "WHATSAPP": "GRANTED",
        "WHATSAPP_MARKETING": "REVOKED",
    }
    refused = await send(stage, dossierId=dossier, **PROMO)
    assert (refused.code, refused.json["field"]) == ("consent_required", "dossierId")


# Alerts and unknown updates


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("account_alerts", {"entity_type": "WABA", "alert_info": {"alert_severity": "CRITICAL"}}),
        ("account_review_update", {"decision": "REJECTED"}),
        ("security", {"event": "PIN_CHANGED"}),
        ("phone_number_name_update", {"decision": "REJECTED"}),
    ],
)
@ON_SQLITE
async def test_an_alert_is_counted_once_and_stands_in_the_journal(stage: Stage, field: str, value: object) -> None:
    body = posted(stage.acme, (field, value), time=unix(stage))
    for _ in range(2):
        assert (await stage.post(body)).status == 200
    assert await stage.metric(f'webhook_alert_total{{field="{field}"}}') == 1
    assert await states(stage) == [(f"account:{field}", "done")]


@ON_SQLITE
async def test_an_error_among_messages_is_an_alert_and_its_neighbours_are_taken(stage: Stage) -> None:
    _, wamid = await stage.sent_silently()
    wrong = {"code": 130429, "title": "Rate limit hit"}
    content = change(stage.acme, statuses=[status(wamid, "delivered")], errors=[wrong])
    assert (await stage.post(envelope((stage.acme, [content])))).status == 200
    await stage.becomes_first("DELIVERED")
    assert await stage.metric('webhook_alert_total{field="errors"}') == 1
    assert ("error", "done") in await states(stage)


async def test_what_nobody_knows_is_kept_whole_and_shown(stage: Stage) -> None:
    value = {"future": ["ä", {"deep": [1, None]}], "event": "NEW"}
    for field in ("a_field_of_tomorrow", "business_username_updates", "flows"):
        await update(stage, field, value)
    kept = await stage.get(f"{JOURNAL}?state=kept")
    assert [json.loads(item["body"]) for item in kept] == [value] * 3
    assert {item["told_at"] is not None for item in kept} == {True}


async def test_a_thousand_updates_for_several_numbers_with_one_poisoned_item(stage: Stage) -> None:
    second = Account("acme", stage.acme.key, a_number("1002", app_secret=stage.acme.number.app_secret))
    assert (await stage.call("POST", NUMBERS, second.as_connected)).status == 201
    now = unix(stage)
    wishes = [{"field": "user_preferences", "value": wish("stop", stage, phone=f"+4915{n:08d}")} for n in range(490)]
    poison = {"field": "account_update", "value": {"event": "DISABLED_UPDATE", "ban_info": 7}}
    tiers = [{"field": "business_capability_update", "value": {LIMIT: n + 1, "n": n}} for n in range(508)]
    entries = [
        {"id": stage.acme.number.waba_id, "time": now, "changes": [*wishes, poison]},
        {"id": second.number.waba_id, "time": now, "changes": tiers},
        {"id": second.number.waba_id, "time": now, "changes": [{"field": "account_update", "value": BAN}]},
    ]
    body = {"object": "whatsapp_business_account", "entry": entries}
    for _ in range(2):
        assert (await stage.post(body)).status == 200
    counted = await stage.database.run("SELECT state, count(*) FROM journal GROUP BY state ORDER BY state")
    assert [tuple(row) for row in counted] == [("done", 999), ("failed", 1)]
    (failed,) = await stage.get(f"{JOURNAL}?state=failed")
    assert failed["error"] == "a DISABLED_UPDATE without a waba_ban_state"
    stopped = await stage.database.run("SELECT count(*) FROM consent WHERE channel = 'WHATSAPP_MARKETING'")
    assert [tuple(row) for row in stopped] == [(491,)]
    assert [each["tier"] for each in await stage.get(NUMBERS)] == [None, 508]
    assert len(await closed(stage)) == 1


@ON_SQLITE
async def test_what_the_database_refuses_fails_alone_and_can_be_replayed(stage: Stage) -> None:
    await stage.database.run(
        "CREATE TRIGGER broken BEFORE INSERT ON consent WHEN new.subject = 'address:+4915000000007' "
        "BEGIN SELECT RAISE(ABORT, 'broken'); END"
    )
    changes = [("user_preferences", wish("stop", stage, phone=f"+49150{n:08d}")) for n in range(12)]
    assert (await stage.post(posted(stage.acme, *changes, time=unix(stage)))).status == 200
    (failed,) = await stage.get(f"{JOURNAL}?state=failed")
    assert "broken" in failed["error"]
    assert len(await stage.get(f"{JOURNAL}?state=done")) == 11
    await stage.database.run("DROP TRIGGER broken")
    assert (await replay(stage, failed["id"])).json["state"] == "done"


@ON_SQLITE
async def test_the_sandbox_posts_an_update_as_meta_would(stage: Stage) -> None:
    for body, expected in (
        ({"field": "security", "value": {}, "phone_number_id": "nobody"}, 404),
        ({"field": "security", "value": {}, "waba_id": "nobody"}, 404),
        ({"value": {}}, 400),
        ({"field": "security", "value": {}, "colour": 1}, 400),
        ({"field": "security", "value": {}, "waba_id": stage.globex.number.waba_id}, 200),
    ):
        content = msgspec.json.encode(body)
        reply = await stage.network.request("POST", f"{SANDBOX}/_sandbox/updates", headers={}, body=content, timeout=5)
        assert reply.status == expected, body
    assert await states(stage, stage.globex) == [("account:security", "done")]
    assert await stage.journal() == []
