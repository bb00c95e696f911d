"""The invariant checks in the running server: planted violations are reported once, by metric and log line."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.integration.conftest import OpenStage
from tests.integration.receiving.test_stop_words import text_post
from tests.integration.stage.harness import Stage
from tests.integration.stage.thinking import PatientBot, wrote
from waypost.flow.operations import check_invariants
from waypost.model.time import Instant, minutes
from waypost.ports.operations.invariants import Invariant, InvariantFinding
from waypost.rules.limits.send_pace import Permit
from waypost.runtime.settings.roles import ProcessRole

MESSAGES = "/api/v1/outbound/messages"
HELLO = {"channel": "WHATSAPP", "to": "+4915100000001", "payloadJson": {"text": "hello"}}


async def counted(stage: Stage) -> list[str]:
    figures = (await asyncio.to_thread(stage.server.metrics)).decode().splitlines()
    return [line for line in figures if line.startswith("invariant_violation_total{")]


async def test_a_violation_is_told_once(stage: Stage) -> None:
    answer = await stage.call("POST", MESSAGES, {**HELLO, "scheduledAt": "2099-01-01T00:00:00Z"})
    memory = check_invariants.DetectorState()
    assert await check_invariants.detect(stage.world, memory) == []
    assert await counted(stage) == []
    await stage.database.run("DELETE FROM later")
    with capture_logs() as logs:
        told = [await check_invariants.detect(stage.world, memory) for _ in range(3)]
    lost = InvariantFinding(Invariant.QUEUED_NOWHERE, f"message {answer.json['id']}")
    assert told == [[lost], [], []]
    assert await counted(stage) == ['invariant_violation_total{invariant="queued_nowhere"} 1.0']
    assert [(line["event"], line["subject"]) for line in logs] == [("invariant_violation", lost.subject)]


async def test_a_quota_that_is_overdrawn_is_told(stage: Stage) -> None:
    memory = check_invariants.DetectorState()
    limit = "INSERT INTO permit (name, most) VALUES ('quota:acme', 10) ON CONFLICT (name) DO UPDATE SET most = 10"
    await stage.database.run(limit)
    await check_invariants.detect(stage.world, memory)
    await stage.database.run("UPDATE permit SET used = most + 1 WHERE name = 'quota:acme'")
    assert await check_invariants.detect(stage.world, memory) == [InvariantFinding(Invariant.ABOVE_QUOTA, "org acme")]


async def test_the_answer_to_a_stop_is_none_however_late_it_goes(stage: Stage) -> None:
    await stage.post(text_post(stage.acme, "wamid.1", "STOP"))
    await stage.becomes(1, "DELIVERED")
    await stage.database.run("UPDATE attempt SET created_at = created_at + 120000000")
    memory = check_invariants.DetectorState()
    assert await check_invariants.detect(stage.world, memory) == []
    await stage.database.run("UPDATE message SET exempt = FALSE")
    assert await check_invariants.detect(stage.world, memory) == [
        InvariantFinding(Invariant.WITHOUT_CONSENT, "message 1")
    ]


def a_quota(used: int, most: int, since: int = 0) -> Permit:
    return Permit(name="quota:acme", free_at=Instant(0), used=used, since=Instant(since), most=most)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (a_quota(9, 10), a_quota(10, 10), False),
        (a_quota(9, 10), a_quota(11, 10), True),
        (a_quota(9, 10), a_quota(9, 5), False),
        (a_quota(9, 5), a_quota(9, 5), False),
        (a_quota(9, 5), a_quota(8, 5), False),
        (a_quota(9, 5), a_quota(10, 5), True),
        (a_quota(9, 5, since=1), a_quota(6, 5, since=2), True),
    ],
)
def test_a_limit_that_was_lowered_is_no_violation_and_one_that_is_passed_is(
    before: Permit, after: Permit, found: bool
) -> None:
    known = {before.name: before}
    assert bool(check_invariants.overdrawn(known, [after])) is found


async def test_older_messages_are_walked_round_and_round(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_invariants, "RECENT", 1)
    monkeypatch.setattr(check_invariants, "PAGE", 2)
    far = {**HELLO, "scheduledAt": "2099-01-01T00:00:00Z"}
    ids = [(await stage.call("POST", MESSAGES, far)).json["id"] for _ in range(5)]
    await stage.database.run("DELETE FROM later")
    memory = check_invariants.DetectorState()
    told = [sorted(found.subject for found in await check_invariants.detect(stage.world, memory)) for _ in range(4)]
    names = [f"message {message_id}" for message_id in ids]
    assert told == [[names[0], names[1], names[4]], names[2:4], [], []]


async def test_a_turn_that_nobody_takes_is_told_at_the_second_look(set_up: OpenStage) -> None:
    """A server that has just started finds many late messages: they are not violations if they are sent then."""
    stage = await set_up(bot=PatientBot(), roles=frozenset({ProcessRole.API}))
    await wrote(stage, "hello")
    memory = check_invariants.DetectorState()
    stage.manual.advance(minutes(5))
    assert await check_invariants.detect(stage.world, memory) == []
    stage.manual.advance(minutes(5))
    assert await check_invariants.detect(stage.world, memory) == []
    late = InvariantFinding(Invariant.TURN_OVERDUE, "conversation 1")
    assert [await check_invariants.detect(stage.world, memory) for _ in range(2)] == [[late], []]
    assert await counted(stage) == ['invariant_violation_total{invariant="turn_overdue"} 1.0']


async def test_older_conversations_are_walked_too(set_up: OpenStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_invariants, "CONVERSATIONS", 1)
    stage = await set_up(bot=PatientBot(), roles=frozenset({ProcessRole.API}))
    for number in range(3):
        other: dict[str, Any] = {"from": f"1650555000{number}"}
        await wrote(stage, f"hello {number}", **other)
    await stage.database.run("UPDATE lane SET due_at = NULL")
    memory = check_invariants.DetectorState()
    told = [sorted(found.subject for found in await check_invariants.detect(stage.world, memory)) for _ in range(3)]
    assert told == [["conversation 1", "conversation 3"], ["conversation 2"], []]
