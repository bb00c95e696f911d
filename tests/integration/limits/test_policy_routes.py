"""What an operator and a caller see of the rules: which one a message waits for, and the routes that change them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, Stage
from tests.integration.stage.webhooks import PHONE
from waypost.model.gate import Gate, GateBackoff, GateClosing, GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, hours, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.platform.failure import Unavailable
from waypost_testing.contracts.examples import an_inbound

OUTBOUND = "/api/v1/outbound"
QUOTA = f"{OUTBOUND}/quota"
GATES = f"{OUTBOUND}/gates"


async def close(stage: Stage, kind: GateKind, name: str = "number:1001") -> Gate:
    closing = GateClosing(
        org_id=OrgId("acme"),
        name=GateName(name),
        kind=kind,
        code="130429",
        reason="Rate limit hit",
        wait=GateBackoff(first=minutes(7)),
    )
    return await stage.world.ledger.gates.close(closing, stage.clock.now())


async def use_up_quota(stage: Stage, since: Instant) -> None:
    await stage.database.run(f"UPDATE permit SET used = 1000, since = {since} WHERE name = 'quota:acme'")


async def why(stage: Stage, message_id: int) -> str:
    told: str = (await stage.get(f"{MESSAGES}/{message_id}/timeline"))["why"]
    return told


def at(stage: Stage, span: Span) -> str:
    return stage.moment(span)


def same_moment(one: str | None, other: str) -> bool:
    return one is not None and datetime.fromisoformat(one) == datetime.fromisoformat(other)


# Which rule a message waits for


@pytest.mark.parametrize(
    ("kind", "until", "said"),
    [
        (GateKind.THROTTLE, minutes(7), "the provider asked us to wait (number:1001): Rate limit hit; it continues at"),
        (GateKind.BREAKER, minutes(1), "the provider fails too often"),
        (GateKind.HOLD, None, "it is held (number:1001): Rate limit hit; it continues when a person opens it"),
    ],
)
async def test_a_message_behind_a_gate_names_it(quiet: Stage, kind: GateKind, until: Span | None, said: str) -> None:
    await close(quiet, kind)
    created = await quiet.send()
    assert created["deferredBy"] == kind.value
    message = await quiet.message(created["id"])
    assert (message["status"], message["deferredBy"]) == ("QUEUED", kind.value)
    if until is None:
        assert message["nextRetryAt"] is None
    else:
        assert same_moment(message["nextRetryAt"], at(quiet, until))
    listed = await quiet.get(f"{MESSAGES}?status=QUEUED")
    paged = (await quiet.get(f"{MESSAGES}/paginated"))["content"]
    assert [m["deferredBy"] for m in [*listed, *paged]] == [kind.value] * 2
    assert said in await why(quiet, created["id"])


@pytest.mark.parametrize("scope", ["org:acme", "account:waba-1001", "template:waba-1001/hello_world"])
async def test_a_gate_of_any_scope_stops_what_is_behind_it(quiet: Stage, scope: str) -> None:
    await close(quiet, GateKind.HOLD, scope)
    template: dict[str, Any] = {"templateCode": "hello_world", "payloadJson": {"language": "en_US"}}
    assert (await quiet.send(**template))["deferredBy"] == "hold"
    freeform = await quiet.send()
    assert freeform["deferredBy"] == (None if scope.startswith("template") else "hold")


async def test_a_used_up_quota_is_named_with_its_reset(quiet: Stage) -> None:
    await use_up_quota(quiet, Instant(quiet.clock.now() - hours(4)))
    message = await quiet.send()
    assert message["deferredBy"] == "quota"
    assert same_moment(message["nextRetryAt"], at(quiet, hours(20)))
    told = await why(quiet, message["id"])
    assert told.startswith("the org's quota is used up: 1000 of the 1000 messages of the org's quota are used; it cont")
    assert "waypost admin set-quota acme" in told


async def test_a_number_that_sends_as_fast_as_it_may_is_pacing(quiet: Stage) -> None:
    free_at = Instant(quiet.clock.now() + seconds(3))
    await quiet.database.run(f"UPDATE permit SET free_at = {free_at} WHERE name = 'pace:1001'")
    message = await quiet.send()
    assert message["deferredBy"] == "pacing"
    assert same_moment(message["nextRetryAt"], at(quiet, seconds(3)))
    assert "number 1001 sends 80 a second" in await why(quiet, message["id"])


async def test_a_days_new_customers_are_pacing_for_templates_only(quiet: Stage) -> None:
    assert (await quiet.call("PATCH", "/api/v1/numbers/1001", {"tier": 250})).json["tier"] == 250
    since = quiet.clock.now() - hours(1)
    await quiet.database.run(f"UPDATE permit SET used = 250, since = {since} WHERE name = 'tier:1001'")
    template = await quiet.send(templateCode="hello_world", payloadJson={"language": "en_US"})
    assert template["deferredBy"] == "pacing"
    assert same_moment(template["nextRetryAt"], at(quiet, hours(23)))
    assert (await quiet.send())["deferredBy"] is None


async def test_a_disabled_number_is_a_hold_and_enabling_it_ends_it(quiet: Stage) -> None:
    await quiet.call("PATCH", "/api/v1/numbers/1001", {"enabled": False})
    message = await quiet.send()
    assert message["deferredBy"] == "hold"
    assert "the number is disabled" in await why(quiet, message["id"])
    (gate,) = (await quiet.get(GATES))["content"]
    assert (gate["code"], gate["waiting"]) == ("NUMBER_DISABLED", 1)
    refused = await quiet.call("POST", f"{GATES}/{gate['id']}/release")
    assert (refused.status, refused.code) == (409, "number_disabled")
    await quiet.call("PATCH", "/api/v1/numbers/1001", {"enabled": True})
    assert (await quiet.message(message["id"]))["deferredBy"] is None


async def test_one_customer_who_is_left_alone_is_a_throttle_of_that_message(lively: Stage) -> None:
    await lively.fault(error_code=131056, times=1)
    message = await lively.send()
    found = await lively.becomes(message["id"], "QUEUED", deferredBy="throttle", nextRetryAt=...)
    assert found["attemptCount"] == 0
    told = await why(lively, message["id"])
    assert told.startswith("the provider asked us to wait (with this customer only, so no gate is listed): 131056")
    assert "deferred" in await lively.kinds(message["id"])


async def test_quiet_hours_are_named_like_any_other_rule(quiet: Stage) -> None:
    message = await quiet.send(scheduledAt=at(quiet, hours(3)))
    await quiet.database.run(f"UPDATE delivery SET deferred_by = 'quiet' WHERE message_id = {message['id']}")
    found = await quiet.message(message["id"])
    assert found["deferredBy"] == "quiet"
    assert same_moment(found["nextRetryAt"], at(quiet, hours(3)))
    assert (await why(quiet, message["id"])).startswith(
        "the org's quiet hours apply at the recipient's local time; it continues at"
    )


# Why it has not been sent yet, where no rule stops it


async def test_scheduled_between_two_tries_in_line_and_without_a_worker(quiet: Stage) -> None:
    scheduled = await quiet.send(scheduledAt=at(quiet, hours(3)))
    assert (scheduled["deferredBy"], scheduled["nextRetryAt"]) == (None, None)
    assert (await why(quiet, scheduled["id"])).startswith("scheduled: it will be sent at 20")
    first, second = [await quiet.send(ordered=True) for _ in range(2)]
    assert (await why(quiet, second["id"])).startswith(f"ordered, and behind message {first['id']}: it is sent after")
    assert (first["behind"], second["behind"]) == (None, first["id"])
    assert [message["behind"] for message in await quiet.get(f"{MESSAGES}?limit=2")] == [first["id"], None]
    told = await why(quiet, first["id"])
    assert told == "due, but no worker has ever run on this database: start one with `waypost serve --roles worker`"


async def test_between_two_tries_the_last_error_and_the_next_time_are_told(lively: Stage) -> None:
    await lively.fault(error_code=131016, times=1)
    message = await lively.send()
    found = await lively.becomes(message["id"], "QUEUED", errorCode="131016", nextRetryAt=...)
    assert found["deferredBy"] is None
    told = await lively.get(f"{MESSAGES}/{message['id']}/timeline")
    assert told["why"].startswith("attempt 1 failed with 131016 (")
    assert "the next comes at 20" in told["why"]
    assert told["nextAt"] == found["nextRetryAt"]


async def test_a_worker_that_went_silent_is_told_and_also_behind_a_gate(stage: Stage) -> None:
    operating = stage.world.ledger.operator_reads
    await stage.eventually(operating.worker_seen_at)
    await stage.server.wind_down(seconds(0.1))
    stage.manual.jump(minutes(5))
    message = await stage.send()
    told = await why(stage, message["id"])
    assert told.startswith("due, but no worker is running: none was seen for 5 min: start one with")
    await close(stage, GateKind.HOLD)
    assert (await why(stage, message["id"])).endswith("Also, no worker is running: none was seen for 5 min")


async def test_a_message_that_is_stored_is_answered_so_even_if_nobody_can_say_what_it_waits_for(quiet: Stage) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("gone for a moment")

    known = await quiet.send()
    quiet.world.ledger.gates.standing = away  # type: ignore[method-assign, assignment]  # no database fails just here
    assert (await quiet.send())["deferredBy"] is None
    batch = await quiet.call("POST", f"{MESSAGES}/batch", {"messages": [HELLO]})
    assert [result["status"] for result in batch.json["results"]] == [201]
    assert (await quiet.call("GET", f"{MESSAGES}/{known['id']}")).code == "unavailable"
    assert (await quiet.call("POST", f"{MESSAGES}/{known['id']}/cancel")).json["status"] == "CANCELLED"


# Quota


async def test_the_quota_is_shown_and_a_higher_one_frees_what_waits_at_once(lively: Stage) -> None:
    assert (await lively.call("PUT", QUOTA, {"quotaLimit": 2})).json["quotaLimit"] == 2
    posted = [await lively.send() for _ in range(4)]
    for message in posted[:2]:
        await lively.becomes(message["id"], "DELIVERED")
    for message in posted[2:]:
        await lively.becomes(message["id"], "QUEUED", deferredBy="quota", nextRetryAt=...)
    quota = await lively.get(QUOTA)
    assert (quota["messagesSent"], quota["quotaLimit"], quota["remainingQuota"]) == (2, 2, 0)
    assert (quota["throttled"], quota["throttledUntil"]) == (False, None)
    assert same_moment((await lively.message(posted[3]["id"]))["nextRetryAt"], quota["resetAt"])
    raised = await lively.call("PUT", QUOTA, {"quotaLimit": 100})
    assert (raised.status, raised.json["remainingQuota"]) == (200, 98)
    entries = (await lively.get(f"{OUTBOUND}/audit?entityType=ORG"))["content"]
    assert [entry["action"] for entry in entries] == ["QUOTA_CHANGED"] * 2
    for message in posted[2:]:
        await lively.becomes(message["id"], "DELIVERED")


async def test_no_limit_is_null_and_a_throttle_shows_in_the_quota(quiet: Stage) -> None:
    answer = await quiet.call("PUT", QUOTA, {"quotaLimit": None})
    assert (answer.json["quotaLimit"], answer.json["remainingQuota"]) == (None, None)
    await close(quiet, GateKind.THROTTLE)
    quota = await quiet.get(QUOTA)
    assert quota["throttled"]
    assert same_moment(quota["throttledUntil"], at(quiet, minutes(7)))


@pytest.mark.parametrize("limit", [0, -1, 2**31, "5000", 1.5, True, [], "x" * 1_000_000])
async def test_a_limit_that_is_none_changes_nothing(quiet: Stage, limit: Any) -> None:
    refused = await quiet.call("PUT", QUOTA, {"quotaLimit": limit})
    assert (refused.status, refused.code, refused.json["field"]) == (422, "invalid_payload", "quotaLimit")
    assert (await quiet.get(QUOTA))["quotaLimit"] == 1000


async def test_only_an_admin_changes_quota_and_gates(quiet: Stage) -> None:
    key = (await quiet.call("POST", "/api/v1/keys", {"role": "sender"})).json["key"]
    gate = await close(quiet, GateKind.HOLD)
    for method, path, body in (("PUT", QUOTA, {"quotaLimit": 1}), ("POST", f"{GATES}/{gate.id}/release", None)):
        assert (await quiet.call(method, path, body, key=key)).code == "wrong_role"
    assert (await quiet.call("GET", QUOTA, key=key)).status == 200


# Gates


async def test_a_released_gate_lets_its_messages_go_at_once(lively: Stage) -> None:
    gate = await close(lively, GateKind.HOLD)
    message = await lively.send()
    (shown,) = (await lively.get(GATES))["content"]
    assert (shown["id"], shown["name"], shown["kind"], shown["waiting"]) == (gate.id, "number:1001", "hold", 1)
    assert (shown["code"], shown["reason"], shown["until"]) == ("130429", "Rate limit hit", None)
    released = await lively.call("POST", f"{GATES}/{gate.id}/release")
    assert (released.status, released.json["id"]) == (200, gate.id)
    await lively.becomes(message["id"], "DELIVERED")
    assert (await lively.get(GATES))["content"] == []
    assert (await lively.call("POST", f"{GATES}/{gate.id}/release")).code == "not_found"


async def test_another_orgs_gate_and_one_that_is_none_are_not_found(quiet: Stage) -> None:
    gate = await close(quiet, GateKind.HOLD)
    assert (await quiet.get(GATES, quiet.globex.key))["content"] == []
    for name in (gate.id, 0, 2**63, 10**30):
        answer = await quiet.call("POST", f"{GATES}/{name}/release", key=quiet.globex.key)
        assert (answer.status, answer.code) == (404, "not_found"), name
    assert len((await quiet.get(GATES))["content"]) == 1


# Windows


async def test_a_window_is_open_for_24_hours_after_the_customers_message(quiet: Stage) -> None:
    path = f"{OUTBOUND}/session-windows/{PHONE.lstrip('+')}"
    nothing = await quiet.get(path)
    assert (nothing["phoneNumber"], nothing["open"], nothing["windowExpiresAt"]) == (PHONE, False, None)
    wrote = an_inbound(PHONE, quiet.clock.now(), NumberId("1001"))
    await quiet.world.ledger.journal.apply_webhook(WebhookBatch([], [], [wrote]), quiet.clock.now())
    window = await quiet.get(path)
    assert (window["open"], window["from"]) == (True, "1001")
    assert same_moment(window["lastInboundMessageAt"], "2025-10-09T08:53:20Z")
    assert same_moment(window["windowOpensAt"], "2025-10-09T08:53:20Z")
    assert same_moment(window["windowExpiresAt"], "2025-10-10T08:53:20Z")
    assert window["lastOutboundMessageAt"] is None
    assert not (await quiet.get(path, quiet.globex.key))["open"]
    quiet.manual.jump(Span(hours(24)))
    assert not (await quiet.get(path))["open"]


@pytest.mark.parametrize("phone", ["12", "hello", "%2B", "1" * 16, "1" * 5000, "%00", "+%F0%9F%98%80"])
async def test_what_is_no_phone_number_is_404(quiet: Stage, phone: str) -> None:
    answer = await quiet.call("GET", f"{OUTBOUND}/session-windows/{phone}")
    assert (answer.status, answer.code) == (404, "not_found")


# Figures


async def test_the_figures_count_statuses_retries_and_times(lively: Stage) -> None:
    empty = await lively.get(f"{OUTBOUND}/stats")
    assert empty["queuedToSentSeconds"] == {"count": 0, "p50": None, "p95": None, "p99": None}
    sent = [await lively.send() for _ in range(3)]
    for message in sent:
        await lively.becomes(message["id"], "DELIVERED")
    await lively.fault(error_code=131026, times=1)
    await lively.becomes((await lively.send())["id"], "FAILED")
    await lively.send(scheduledAt="2090-01-01T00:00:00Z")
    row = "(message_id, fence, generation, attempt_no, status, created_at)"
    await lively.database.run(f"INSERT INTO attempt {row} VALUES ({sent[0]['id']}, 9, 1, 2, 'SUCCESS', 1)")
    stats = await lively.get(f"{OUTBOUND}/stats")
    assert stats["counts"] == {"QUEUED": 1, "SENDING": 0, "SENT": 0, "DELIVERED": 3, "FAILED": 1, "CANCELLED": 0}
    assert (stats["lookedAt"], stats["retriesByAttempt"]) == (5, {"2": 1})
    assert stats["queuedToSentSeconds"]["count"] == stats["sentToDeliveredSeconds"]["count"] == 3
    assert 0 <= stats["queuedToSentSeconds"]["p50"] <= stats["queuedToSentSeconds"]["p99"] < 20
    assert (await lively.get(f"{OUTBOUND}/stats", lively.globex.key))["lookedAt"] == 0


# Numbers


async def test_pace_and_tier_are_set_with_a_number_and_later(quiet: Stage) -> None:
    account = quiet.acme.as_connected | {"phone_number_id": "1002"}
    made = await quiet.call("POST", "/api/v1/numbers", account | {"pace": 5, "tier": 250})
    assert (made.json["pace"], made.json["tier"]) == (5, 250)
    changed = await quiet.call("PATCH", "/api/v1/numbers/1002", {"pace": 1000})
    assert (changed.json["pace"], changed.json["tier"]) == (1000, 250)
    for wrong in ({"pace": 0}, {"pace": 1001}, {"pace": "80"}, {"tier": 0}, {"tier": 2**31}, {"pace": None}):
        refused = await quiet.call("PATCH", "/api/v1/numbers/1002", wrong)
        assert (refused.status, refused.json["field"]) == (422, next(iter(wrong))), wrong
    assert (await quiet.get("/api/v1/numbers"))[1]["pace"] == 1000


async def test_a_message_that_is_not_queued_waits_for_nothing(lively: Stage) -> None:
    message = await lively.send(**HELLO)
    delivered = await lively.becomes(message["id"], "DELIVERED")
    await close(lively, GateKind.HOLD)
    assert (await lively.message(message["id"]))["deferredBy"] is None
    assert delivered["nextRetryAt"] is None
