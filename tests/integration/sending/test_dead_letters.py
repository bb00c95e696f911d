"""Dead letters over HTTP: listed, replayed, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.stage.harness import MESSAGES, Stage

OUTBOUND = "/api/v1/outbound"
DEAD = f"{OUTBOUND}/dead-letters"


@pytest.fixture
async def dead(lively: Stage) -> list[int]:
    """Three messages that ended FAILED: two with 131026, one with 131051."""
    ids = []
    for code in (131026, 131051, 131026):
        await lively.fault(error_code=code, times=1)
        message = await lively.send()
        await lively.becomes(message["id"], "FAILED", errorCode=str(code))
        ids.append(int(message["id"]))
    return ids


async def dead_ids(stage: Stage, query: str = "") -> list[int]:
    return [message["id"] for message in (await stage.get(DEAD + query))["content"]]


async def test_dead_letters_are_listed_newest_first_and_by_error(lively: Stage, dead: list[int]) -> None:
    first, second, third = dead
    assert await dead_ids(lively) == [third, second, first]
    assert await dead_ids(lively, "?errorCode=131026") == [third, first]
    assert await dead_ids(lively, f"?errorCode=131026&before={third}") == [first]
    assert await dead_ids(lively, "?limit=1") == [third]
    assert await dead_ids(lively, "?errorCode=no") == await dead_ids(lively, "?errorCode=%00") == []
    assert (await lively.get(DEAD, lively.globex.key))["content"] == []


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({}, [0, 1, 2]),
        ({"errorCode": "131026"}, [0, 2]),
        ({"ids": [1, 1, 999]}, [0]),
        ({"ids": [1, 2], "errorCode": "131051"}, [1]),
        ({"errorCode": "none"}, []),
    ],
)
async def test_what_is_replayed_goes_again_in_a_new_generation(
    lively: Stage, dead: list[int], wish: dict[str, Any], expected: list[int]
) -> None:
    answer = await lively.call("POST", f"{DEAD}/replay", wish)
    assert (answer.status, answer.json) == (200, {"replayed": len(expected), "more": False})
    for position in expected:
        await lively.becomes(dead[position], "DELIVERED", attemptCount=1)
        assert "replayed" in await lively.kinds(dead[position])
        trail = await lively.get(f"{OUTBOUND}/audit?entityType=OUTBOUND_MESSAGE&entityId={dead[position]}")
        (entry,) = [entry for entry in trail["content"] if entry["action"] == "REPLAYED"]
        assert entry["actor"].startswith("key_")
    assert sorted(await dead_ids(lively)) == [each for n, each in enumerate(dead) if n not in expected]


async def test_nobody_replays_what_is_not_dead_or_not_theirs(lively: Stage, dead: list[int]) -> None:
    cancelled = await lively.send(scheduledAt="2090-01-01T00:00:00Z")
    await lively.call("POST", f"{MESSAGES}/{cancelled['id']}/cancel")
    assert (await lively.call("POST", f"{DEAD}/replay", {"ids": [cancelled["id"]]})).json["replayed"] == 0
    foreign = await lively.call("POST", f"{DEAD}/replay", {"ids": dead}, key=lively.globex.key)
    assert foreign.json["replayed"] == 0
    assert (await lively.call("POST", f"{DEAD}/replay", {}, key=lively.globex.key)).json["replayed"] == 0
    assert len(await dead_ids(lively)) == 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ids": []}, "ids"),
        ({"ids": [0]}, "ids[0]"),
        ({"ids": ["1"]}, "ids[0]"),
        ({"ids": list(range(1, 1002))}, "ids"),
        ({"errorCode": ""}, "errorCode"),
        ({"errorCode": "x" * 300}, "errorCode"),
        ({"errorcode": "131026"}, "errorcode"),
    ],
)
async def test_a_replay_that_cannot_be_meant_is_refused(quiet: Stage, body: Any, field: str) -> None:
    answer = await quiet.call("POST", f"{DEAD}/replay", body)
    assert (answer.status, answer.code, answer.json["field"]) == (422, "invalid_payload", field)
