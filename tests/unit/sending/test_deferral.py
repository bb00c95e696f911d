"""Which rule a message waits for, in which order the rules are checked, and how each is shown in one line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.gate import DispatchGroup, Gate, GateId, GateKind, GateName
from waypost.model.ids import MessageId, NumberId
from waypost.model.message import Message, Status
from waypost.model.time import Instant, hours, minutes, seconds
from waypost.rules.limits.send_pace import WINDOW, Permit
from waypost.rules.operations.figures import figures, percentile, spread
from waypost.rules.operations.why import SILENT_AFTER, WhyFacts, next_at, why
from waypost.rules.sending.deferral import Deferral, deferral, next_retry_at
from waypost_testing.contracts.examples import ORG, T0, a_claim, a_draft

NOW = Instant(T0 + hours(30))
LATER = Instant(NOW + minutes(5))
WAITING = replace(a_claim().delivery, status=Status.QUEUED, due_at=NOW, owner=None, tries=0)


def a_gate(kind: GateKind, until: Instant | None) -> Gate:
    return Gate(
        id=GateId(3),
        org_id=ORG,
        name=GateName("number:1"),
        kind=kind,
        code="130429",
        reason="slow down",
        since=T0,
        until=until,
        times=1,
    )


def an_outlet(gate: Gate | None = None, template: str = "", pace: int | None = 80) -> DispatchGroup:
    return DispatchGroup(
        id=1, org_id=ORG, sender=NumberId("1"), template=template, waba_id="2", pace=pace, tier=None, gate=gate
    )


def a_permit(name: str, *, used: int = 0, most: int | None = None, since: int = T0, free_at: int = 0) -> Permit:
    return Permit(name=name, free_at=Instant(free_at), used=used, since=Instant(since), most=most)


FULL = a_permit("quota:acme", used=10, most=10, since=NOW - hours(1))
OVER = a_permit("quota:acme", used=10, most=10, since=NOW - WINDOW)
ROOM = a_permit("quota:acme", used=9, most=10, since=NOW - hours(1))
FULL_TIER = a_permit("tier:1", used=250, most=250, since=NOW - hours(2))
BUSY = a_permit("pace:1", free_at=NOW + seconds(2))
IDLE = a_permit("pace:1", free_at=NOW + seconds(0.05))
RESET = Instant(NOW + hours(23))


@pytest.mark.parametrize(
    ("outlet", "permits", "by", "until"),
    [
        (an_outlet(), [], None, None),
        (an_outlet(a_gate(GateKind.THROTTLE, LATER)), [], "throttle", LATER),
        (an_outlet(a_gate(GateKind.BREAKER, LATER)), [], "breaker", LATER),
        (an_outlet(a_gate(GateKind.HOLD, None)), [], "hold", None),
        (an_outlet(a_gate(GateKind.THROTTLE, NOW)), [], None, None),
        (an_outlet(a_gate(GateKind.BREAKER, NOW)), [], None, None),
        (an_outlet(a_gate(GateKind.HOLD, None)), [FULL, BUSY], "hold", None),
        (an_outlet(a_gate(GateKind.THROTTLE, NOW)), [FULL, BUSY], "quota", RESET),
        (an_outlet(), [FULL, BUSY], "quota", RESET),
        (an_outlet(), [OVER], None, None),
        (an_outlet(), [ROOM], None, None),
        (an_outlet(), [a_permit("quota:acme", used=10**6)], None, None),
        (an_outlet(), [a_permit("quota:other", used=10, most=10, since=NOW)], None, None),
        (an_outlet(template="hello"), [FULL_TIER], "pacing", Instant(NOW + hours(22))),
        (an_outlet(), [FULL_TIER], None, None),
        (an_outlet(), [ROOM, BUSY], "pacing", Instant(NOW + seconds(2))),
        (an_outlet(), [IDLE], None, None),
        (an_outlet(pace=None), [BUSY], None, None),
    ],
)
def test_gate_before_quota_before_pace(
    outlet: DispatchGroup, permits: list[Permit], by: str | None, until: Instant | None
) -> None:
    found = deferral(WAITING, outlet, {permit.name: permit for permit in permits}, NOW)
    assert (found.by if found else None, found.until if found else None) == (by, until)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.QUEUED])
def test_only_what_is_queued_waits(status: Status) -> None:
    delivery = replace(WAITING, status=status, deferred_by="quiet", due_at=LATER)
    assert deferral(delivery, an_outlet(a_gate(GateKind.HOLD, None)), {}, NOW) is None


def test_what_waits_for_its_time_says_itself_why_and_no_longer_than_that() -> None:
    put_off = replace(WAITING, due_at=LATER, deferred_by="quiet")
    behind = an_outlet(a_gate(GateKind.HOLD, None))
    assert deferral(put_off, behind, {}, NOW) == Deferral(by="quiet", until=LATER)
    assert deferral(replace(put_off, deferred_by=None), behind, {}, NOW) is None
    assert deferral(put_off, None, {}, LATER) is None
    held = deferral(put_off, behind, {}, LATER)
    assert held is not None
    assert held.by == "hold"


def test_the_next_try_is_when_the_rule_ends_else_when_it_is_due_again() -> None:
    failed = replace(WAITING, due_at=LATER, error_code="131016")
    assert next_retry_at(WAITING, None) is None
    assert next_retry_at(failed, None) == LATER
    assert next_retry_at(failed, Deferral(by="throttle", until=RESET)) == RESET
    assert next_retry_at(failed, Deferral(by="hold", until=None)) is None


# In one line

ALIVE = WhyFacts(worker_seen_at=NOW, ready_since=Instant(NOW - seconds(3)))


def queued(**changes: Any) -> Message:
    delivery = replace(WAITING, **changes)
    return Message(id=MessageId(7), draft=a_draft(), queue_id=None, created_at=T0, delivery=delivery)


def deferred(by: str, until: Instant | None = LATER, reason: str = "", code: str = "") -> WhyFacts:
    gate = GateName("number:1") if by in ("throttle", "hold", "breaker") else None
    return replace(ALIVE, deferred=Deferral(by=by, until=until, reason=reason, code=code, gate=gate))


FIVE_PAST = "at 2025-10-10 14:58:20Z, in 5 min"


@pytest.mark.parametrize(
    ("message", "known", "line"),
    [
        (
            queued(),
            deferred("quota", reason="10 of the 10 messages of the org's quota are used"),
            (
                "the org's quota is used up: 10 of the 10 messages of the org's quota are used; it continues "
                f"{FIVE_PAST}, or at once when the quota is raised: `waypost admin set-quota acme N`"
            ),
        ),
        (
            queued(),
            deferred("throttle", reason="slow down"),
            f"the provider asked us to wait (number:1): slow down; it continues {FIVE_PAST}",
        ),
        (
            queued(due_at=LATER, error_code="131056", error_message="too many to one"),
            replace(ALIVE, deferred=Deferral(by="throttle", until=LATER)),
            (
                "the provider asked us to wait (with this customer only, so no gate is listed): "
                f"131056 too many to one; it continues {FIVE_PAST}"
            ),
        ),
        (
            queued(),
            deferred("pacing", reason="number 1 sends 80 a second, and others go first"),
            f"it is not its turn yet: number 1 sends 80 a second, and others go first; it continues {FIVE_PAST}",
        ),
        (
            queued(),
            deferred("breaker", reason="half failed"),
            (
                "the provider fails too often, so sending is interrupted (number:1): half failed; it continues "
                f"{FIVE_PAST}, when one message tests whether it works again"
            ),
        ),
        (
            queued(),
            deferred("hold", None, "token expired"),
            (
                "it is held (number:1): token expired; it continues when a person opens it: remove the cause, then "
                "`waypost admin release acme GATE`, as `waypost admin gates acme` lists it"
            ),
        ),
        (
            queued(),
            deferred("hold", None, "token expired", "190"),
            (
                "it is held (number:1): token expired; it continues when a person opens it: connect the number with a "
                "new token: PATCH /api/v1/numbers/1, or `waypost admin change-number acme 1 --token TOKEN`"
            ),
        ),
        (
            queued(),
            deferred("hold", None, "the number is disabled", "NUMBER_DISABLED"),
            (
                "it is held (number:1): the number is disabled; it continues when a person opens it: "
                "enable it: `waypost admin enable acme 1`"
            ),
        ),
        (
            queued(),
            deferred("quiet"),
            f"the org's quiet hours apply at the recipient's local time; it continues {FIVE_PAST}",
        ),
        (queued(), deferred("moon"), f"the rule moon defers it; it continues {FIVE_PAST}"),
        (queued(due_at=LATER), ALIVE, f"scheduled: it will be sent {FIVE_PAST}"),
        (
            queued(due_at=LATER, tries=2, error_code="131016", error_message="unavailable"),
            ALIVE,
            f"attempt 2 failed with 131016 (unavailable); the next comes {FIVE_PAST}",
        ),
        (
            queued(),
            replace(ALIVE, head=MessageId(41)),
            "ordered, and behind message 41: it is sent after that one",
        ),
        (queued(), ALIVE, "due since 3 s: nothing blocks it, the next free worker sends it"),
        (
            queued(),
            replace(ALIVE, worker_seen_at=None),
            "due, but no worker has ever run on this database: start one with `waypost serve --roles worker`",
        ),
        (
            queued(),
            replace(ALIVE, worker_seen_at=Instant(NOW - hours(3))),
            "due, but no worker is running: none was seen for 3.0 h: start one with `waypost serve --roles worker`",
        ),
        (
            queued(due_at=LATER),
            replace(ALIVE, worker_seen_at=Instant(NOW - SILENT_AFTER - 1)),
            f"scheduled: it will be sent {FIVE_PAST}. Also, no worker is running: none was seen for 30 s",
        ),
    ],
)
def test_why_has_this_not_been_sent_yet(message: Message, known: WhyFacts, line: str) -> None:
    assert why(message, known, NOW) == line


def test_what_happens_by_itself_has_its_time() -> None:
    assert next_at(queued(due_at=LATER), ALIVE, NOW) == LATER
    assert next_at(queued(), deferred("throttle"), NOW) == LATER
    assert next_at(queued(), deferred("hold", None), NOW) is None
    assert next_at(queued(), ALIVE, NOW) is None
    assert next_at(queued(status=Status.SENDING), ALIVE, NOW) is None


# Figures


@pytest.mark.parametrize(("part", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1, 100), (0, 1), (0.001, 1)])
def test_a_percentile_is_one_of_the_values(part: float, value: float) -> None:
    assert percentile(range(1, 101), part) == value


def test_nothing_has_no_percentiles_and_one_value_is_all_of_them() -> None:
    assert percentile([], 0.5) is None
    assert spread([3.0]).p50 == spread([3.0]).p99 == 3.0


def test_times_are_taken_of_what_has_them_and_are_never_negative() -> None:
    sent, there = Instant(T0 + seconds(2)), Instant(T0 + seconds(1))
    found = figures({}, {}, [(T0, None, None), (T0, sent, None), (sent, T0, there)])
    assert (found.looked_at, found.queued_to_sent.count, found.sent_to_delivered.count) == (3, 2, 1)
    assert (found.queued_to_sent.p50, found.queued_to_sent.p99) == (0.0, 2.0)
    assert found.sent_to_delivered.p50 == 1.0
