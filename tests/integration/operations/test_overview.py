"""What an operator sees at a glance, and the settings in force, on both Ledgers."""

from __future__ import annotations

from typing import Any

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_text, change, envelope
from waypost.flow.operations import check_invariants, maintenance
from waypost.model.gate import GateClosing, GateKind, GateName
from waypost.model.ids import OrgId
from waypost.model.time import minutes
from waypost.runtime.process.server import ProcessRole

OVERVIEW = "/api/v1/overview"


def part(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = (each for each in found["parts"] if each["name"] == name)
    return one  # type: ignore[no-any-return]  # as JSON has it


def total(found: dict[str, Any]) -> dict[str, int]:
    return {name: sum(step[name] for step in found["steps"]) for name in ("received", "sent", "delivered", "failed")}


async def test_what_came_and_went_is_counted_by_the_minute(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="ignore")
    assert total(await stage.get(OVERVIEW)) == {"received": 0, "sent": 0, "delivered": 0, "failed": 0}
    await stage.post(envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in")])])))
    first = await stage.send()
    await stage.becomes(first["id"], "DELIVERED")
    stage.manual.advance(minutes(5))
    await stage.fault(error_code=131026, times=1)
    second = await stage.send()
    await stage.becomes(second["id"], "FAILED")
    found = await stage.get(OVERVIEW)
    assert total(found) == {"received": 1, "sent": 1, "delivered": 1, "failed": 1}
    assert (found["step_seconds"], found["looked_at"]) == (60, 2)
    assert found["queued_to_sent_seconds"]["count"] == 1
    assert found["counts"]["FAILED"] == 1
    failing = [step["at"] for step in found["steps"] if step["failed"]]
    assert failing == [found["steps"][-1]["at"]]
    assert total(await stage.get(f"{OVERVIEW}?minutes=3")) == {"received": 0, "sent": 0, "delivered": 0, "failed": 1}
    assert total(await stage.get(OVERVIEW, stage.globex.key)) == {"received": 0, "sent": 0, "delivered": 0, "failed": 0}


async def test_what_waits_is_told_with_its_reason_and_age(quiet: Stage) -> None:
    for _ in range(3):
        await quiet.send()
    (waiting,) = (await quiet.get(OVERVIEW))["waiting"]
    assert (waiting["reason"], waiting["messages"]) == ("none", 3)
    closing = GateClosing(
        org_id=OrgId("acme"), name=GateName("number:1001"), kind=GateKind.BREAKER, code="5XX", reason="it fails"
    )
    await quiet.world.ledger.gates.close(closing, quiet.clock.now())
    found = await quiet.get(OVERVIEW)
    assert [each["reason"] for each in found["waiting"]] == ["breaker"]
    assert part(found, "providers") == {
        "name": "providers",
        "state": "trouble",
        "detail": "sending is interrupted: number:1001 (it fails)",
    }
    assert (await quiet.get(OVERVIEW, quiet.globex.key))["waiting"] == []


async def test_every_part_says_how_it_is(quiet: Stage) -> None:
    found = await quiet.get(OVERVIEW)
    assert {each["name"]: each["state"] for each in found["parts"]} == {
        "database": "ok",
        "history": "ok",
        "workers": "trouble",
        "providers": "ok",
        "bot": "off",
        "redis": "off",
        "this process: api": "ok",
    }
    assert part(found, "workers")["detail"] == "none has ever run on this database"
    await maintenance.record_worker_seen(quiet.world)
    assert part(await quiet.get(OVERVIEW), "workers")["state"] == "ok"
    quiet.manual.advance(minutes(1))
    assert part(await quiet.get(OVERVIEW), "workers") == {
        "name": "workers",
        "state": "trouble",
        "detail": "one was seen 60 s ago",
    }


async def test_the_verdict_of_the_invariants_is_told_with_when_somebody_looked(quiet: Stage) -> None:
    invariants = (await quiet.get(OVERVIEW))["invariants"]
    assert invariants["looked_at"] is None
    assert {each["violations"] for each in invariants["checked"]} == {0}
    names = [each["name"] for each in invariants["checked"]]
    assert "queued_nowhere" in names
    assert "body_lost" not in names, "nothing is in a history store of its own here"
    message = await quiet.send()
    await quiet.database.run(f"DELETE FROM ready WHERE message_id = {message['id']}")
    memory = check_invariants.DetectorState()
    for _ in range(3):
        await check_invariants.detect(quiet.world, memory)
    invariants = (await quiet.get(OVERVIEW))["invariants"]
    assert invariants["looked_at"] is not None
    assert {each["name"]: each["violations"] for each in invariants["checked"] if each["violations"]} == {
        "queued_nowhere": 1
    }


@ON_SQLITE
async def test_only_an_admin_reads_the_settings_and_nobody_a_secret(set_up: OpenStage) -> None:
    stage = await set_up(roles=frozenset({ProcessRole.API}), openai_api_key="sk-very-secret")
    answer = await stage.call("GET", "/api/v1/settings")
    assert answer.status == 200
    found = {each["name"]: each for each in answer.json["content"]}
    assert found["WAYPOST_OPENAI_API_KEY"] == found["WAYPOST_OPENAI_API_KEY"] | {"value": None, "given": True}
    assert found["WAYPOST_TURN_SLOTS"]["source"] == "default"
    assert "sk-very-secret" not in answer.body.decode()
    assert stage.settings.secret_key not in answer.body.decode()
    made = await stage.call("POST", "/api/v1/keys", {"role": "sender"})
    refused = await stage.call("GET", "/api/v1/settings", key=made.json["key"])
    assert (refused.status, refused.code) == (403, "wrong_role")
    assert (await stage.call("GET", OVERVIEW, key=made.json["key"])).status == 200


@ON_SQLITE
async def test_more_minutes_than_there_are_or_none_are_refused(quiet: Stage) -> None:
    for wrong in ("0", "181", "x"):
        answer = await quiet.call("GET", f"{OVERVIEW}?minutes={wrong}")
        assert (answer.status, answer.code) == (400, "invalid_parameter")
