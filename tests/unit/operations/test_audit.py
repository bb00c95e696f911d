"""The audit view of a message's rows: each step once, none invented."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.audit import ActivityType, AuditAction, Entity
from waypost.model.ids import Fence, MessageId
from waypost.model.message import Attempt, AttemptStatus, Delivery, Message, MessageEvent, Status
from waypost.model.time import Instant
from waypost.rules.operations.audit import AuditedStatus, activities, entries, steps
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, SESSION_EXPIRED
from waypost_testing.contracts.examples import a_claim, a_draft

T0 = Instant(1_000)


def a_message(dossier_id: int | None = 7) -> Message:
    stands: Delivery = a_claim().delivery
    return Message(id=MessageId(1), draft=a_draft(dossier_id=dossier_id), queue_id=None, created_at=T0, delivery=stands)


def a_try(status: AttemptStatus, fence: int = 1, **fields: Any) -> Attempt:
    standard: dict[str, Any] = {
        "error_code": None,
        "error_message": None,
        "response": None,
        "next_retry_at": None,
        "created_at": Instant(T0 + fence),
        "finished_at": None if status is AttemptStatus.TRYING else Instant(T0 + 10 * fence),
    }
    return Attempt(
        message_id=MessageId(1),
        fence=Fence(fence),
        generation=1,
        attempt_no=fence,
        status=status,
        **(standard | fields),
    )


def a_status(kind: str, at: int, fence: int = 1, code: str | None = None) -> AuditedStatus:
    return AuditedStatus(at=Instant(T0 + at), kind=kind, wamid="w", fence=Fence(fence), error_code=code)


def actions_of(
    attempts: list[Attempt], heard: list[AuditedStatus] | None = None, events: list[MessageEvent] | None = None
) -> list[str]:
    found = steps(a_message(), attempts, heard or [], events or [])
    assert found[0].action is AuditAction.CREATED
    return [step.action.value for step in found[1:]]


SUCCESS, FAILED = a_try(AttemptStatus.SUCCESS), a_try(AttemptStatus.FAILED, error_code="131026")
FAR = Instant(10**9)


@pytest.mark.parametrize(
    ("attempts", "heard", "expected"),
    [
        ([], [], []),
        ([a_try(AttemptStatus.TRYING)], [], []),
        ([a_try(AttemptStatus.UNSURE)], [], []),
        ([SUCCESS], [], ["SENT"]),
        ([FAILED], [], ["FAILED"]),
        ([a_try(AttemptStatus.FAILED, next_retry_at=FAR)], [], []),
        ([a_try(AttemptStatus.FAILED, error_code="HANDED_BACK")], [], []),
        ([a_try(AttemptStatus.FAILED, error_code="EXPIRED")], [], ["CANCELLED"]),
        ([a_try(AttemptStatus.FAILED, error_code=CONSENT_REQUIRED)], [], ["BLOCKED_BY_POLICY", "FAILED"]),
        ([a_try(AttemptStatus.FAILED, error_code=SESSION_EXPIRED)], [], ["BLOCKED_BY_POLICY", "FAILED"]),
        ([SUCCESS], [a_status("sent", 11)], ["SENT"]),
        ([SUCCESS], [a_status("delivered", 11), a_status("read", 12)], ["SENT", "UPDATED", "UPDATED"]),
        ([SUCCESS], [a_status("read", 11), a_status("delivered", 12)], ["SENT", "UPDATED"]),
        ([SUCCESS], [a_status("failed", 11, code="131049")], ["SENT", "UPDATED", "FAILED"]),
        ([SUCCESS], [a_status("delivered", 11), a_status("failed", 12)], ["SENT", "UPDATED"]),
        ([FAILED], [a_status("failed", 9)], ["UPDATED", "FAILED"]),
        ([FAILED, a_try(AttemptStatus.SUCCESS, 2)], [a_status("read", 21, 2)], ["FAILED", "SENT", "UPDATED"]),
    ],
)
def test_what_is_told(attempts: list[Attempt], heard: list[AuditedStatus], expected: list[str]) -> None:
    assert actions_of(attempts, heard) == expected


def test_what_we_did_by_ourselves_is_an_update() -> None:
    events = [
        MessageEvent(at=Instant(T0 + 1), kind=kind, detail="x")
        for kind in ("deferred", "requeued", "parked", "retried")
    ]
    assert actions_of([], [], events) == ["UPDATED", "UPDATED"]


def test_a_dossier_hears_only_of_what_was_blocked() -> None:
    message = a_message()
    found = steps(message, [a_try(AttemptStatus.FAILED, error_code=CONSENT_REQUIRED)], [], [])
    (blocked,) = entries(message, found, Entity.DOSSIER)
    assert (blocked.entry.entity_type, blocked.entry.entity_id) == ("DOSSIER", "7")
    assert blocked.entry.action == "BLOCKED_BY_POLICY"
    assert len(entries(message, found)) == 3
    nobodys = a_message(dossier_id=None)
    assert entries(nobodys, found, Entity.DOSSIER) == []
    assert activities(nobodys, found) == []


KINDS = ["sent", "delivered", "read", "played", "failed"]


@given(
    endings=st.lists(st.sampled_from(list(AttemptStatus)), max_size=4),
    reports=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 60), st.integers(1, 4)), max_size=12),
)
def test_whatever_was_recorded_each_step_has_its_own_name_and_its_place_in_time(
    endings: list[AttemptStatus], reports: list[tuple[str, int, int]]
) -> None:
    message = a_message()
    attempts = [a_try(status, n + 1) for n, status in enumerate(endings)]
    heard = [a_status(*report) for report in sorted(reports, key=lambda report: report[1])]
    found = steps(message, attempts, heard, [])
    recorded = entries(message, found)
    assert len({each.id for each in recorded}) == len(recorded)
    assert [each.entry.at for each in recorded] == sorted(each.entry.at for each in recorded)
    sent = [step for step in found if step.action is AuditAction.SENT]
    assert len(sent) == endings.count(AttemptStatus.SUCCESS)
    shown = activities(message, found)
    assert sum(each.type is ActivityType.MESSAGE_SENT for each in shown) == len(sent)
    assert all(each.payload["outboundMessageId"] == message.id for each in shown)
    assert message.delivery.status is Status.SENDING
