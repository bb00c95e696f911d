"""The state machine of a message: the only place that says how a delivery may change.

The drawing is docs/explanation/states.md; a test compares the two. Every function returns the new delivery,
or the very same object when nothing may change, so `is` tells whether anything happened.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.gate import Closing
from waypost.model.ids import Fence, Wamid, WorkerId
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.report import ReportKind, StatusReport
from waypost.model.time import Instant, seconds


class Move(StrEnum):
    CLAIM = "claim"
    ACCEPT = "accept"
    DELIVER = "deliver"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    REOPEN = "reopen"


MOVES: dict[tuple[Status, Move], Status] = {
    (Status.QUEUED, Move.CLAIM): Status.SENDING,
    (Status.QUEUED, Move.ACCEPT): Status.SENT,
    (Status.QUEUED, Move.DELIVER): Status.DELIVERED,
    (Status.QUEUED, Move.FAIL): Status.FAILED,
    (Status.QUEUED, Move.CANCEL): Status.CANCELLED,
    (Status.SENDING, Move.ACCEPT): Status.SENT,
    (Status.SENDING, Move.DELIVER): Status.DELIVERED,
    (Status.SENDING, Move.FAIL): Status.FAILED,
    (Status.SENDING, Move.REQUEUE): Status.QUEUED,
    (Status.SENDING, Move.CANCEL): Status.CANCELLED,
    (Status.SENDING, Move.REOPEN): Status.QUEUED,
    (Status.SENT, Move.DELIVER): Status.DELIVERED,
    (Status.SENT, Move.FAIL): Status.FAILED,
    (Status.FAILED, Move.REOPEN): Status.QUEUED,
    (Status.CANCELLED, Move.REOPEN): Status.QUEUED,
}

SECOND = seconds(1)

UNSURE = "UNSURE"
"""The error code of a try that may or may not have reached the provider."""

TERMINAL = frozenset({Status.DELIVERED, Status.FAILED, Status.CANCELLED})


class Accept(msgspec.Struct, frozen=True, gc=False):
    """The provider has it."""

    wamid: Wamid
    response: str


class TryAgain(msgspec.Struct, frozen=True, gc=False):
    """The provider provably does not have it, and a later try may succeed."""

    at: Instant
    code: str
    message: str
    response: str | None
    counts: bool = True
    """False when it says nothing about the message: the try is given back."""


class GiveUp(msgspec.Struct, frozen=True, gc=False):
    """The provider provably does not have it, and never will."""

    code: str
    message: str
    response: str | None
    counts: bool = True
    """False when a rule of ours said no, so that there was no try."""


class StayUnsure(msgspec.Struct, frozen=True, gc=False):
    """The provider may have it."""

    reason: str
    response: str | None


class Expire(msgspec.Struct, frozen=True):
    """Its time had passed before it was sent."""

    code: str = "EXPIRED"
    message: str = "expiresAt passed before it was sent"


class Defer(msgspec.Struct, frozen=True):
    """A rule says not now: nothing was tried and nothing counts."""

    at: Instant
    rule: str
    reason: str


class StandBack(msgspec.Struct, frozen=True):
    """The provider refuses the whole scope for now: the gate closes, and the message waits behind it at no cost."""

    closing: Closing
    message: str
    response: str | None

    @property
    def code(self) -> str:
        return self.closing.code


Verdict: TypeAlias = Accept | TryAgain | GiveUp | StayUnsure | Expire | Defer | StandBack


def _moved(delivery: Delivery, move: Move, now: Instant) -> Delivery:
    target = MOVES.get((delivery.status, move))
    if target is None:
        return delivery
    due_at = delivery.due_at if target is Status.QUEUED else None
    owner = delivery.owner if target is Status.SENDING else None
    return replace(delivery, status=target, due_at=due_at, owner=owner, parked=False, deferred_by=None, updated_at=now)


def same_generation(delivery: Delivery, fence: Fence) -> bool:
    return delivery.first_fence < fence <= delivery.fence


def claim(delivery: Delivery, owner: WorkerId, open_total: int, now: Instant) -> Delivery:
    moved = _moved(delivery, Move.CLAIM, now)
    if moved is delivery:
        return delivery
    fence = Fence(delivery.fence + 1)
    return replace(moved, fence=fence, tries=delivery.tries + 1, owner=owner, claimed_at=now, open_at_claim=open_total)


def settle(delivery: Delivery, fence: Fence, verdict: Verdict, now: Instant) -> Delivery:
    """What a worker's verdict on its try changes. A late worker's changes nothing, but acceptance is evidence."""
    if isinstance(verdict, Accept):
        return accept(delivery, fence, verdict.wamid, now)
    if delivery.fence != fence or delivery.status is not Status.SENDING:
        return delivery
    if isinstance(verdict, TryAgain | Defer | StandBack):
        return _waiting(delivery, verdict, now)
    match verdict:
        case GiveUp():
            ended = replace(_moved(delivery, Move.FAIL, now), tries=delivery.tries - (not verdict.counts))
            return _with_error(ended, verdict.code, verdict.message)
        case StayUnsure():
            nobodys = replace(delivery, owner=None, updated_at=now)  # its worker has done what it could
            return _with_error(nobodys, UNSURE, verdict.reason)
        case Expire():
            untried = replace(_moved(delivery, Move.CANCEL, now), tries=delivery.tries - 1)
            return _with_error(untried, verdict.code, verdict.message)
        case _:
            assert_never(verdict)


def _waiting(delivery: Delivery, verdict: TryAgain | Defer | StandBack, now: Instant) -> Delivery:
    """Back into the queue; only a try that the provider refused for the message's own sake counts."""
    waiting = _moved(delivery, Move.REQUEUE, now)
    match verdict:
        case TryAgain():
            tries = delivery.tries if verdict.counts else delivery.tries - 1
            again = replace(waiting, due_at=verdict.at, tries=tries)
            return _with_error(again, verdict.code, verdict.message)
        case Defer():
            return replace(waiting, due_at=verdict.at, tries=delivery.tries - 1, deferred_by=verdict.rule)
        case StandBack():
            behind = replace(waiting, due_at=now, tries=delivery.tries - 1)
            return _with_error(behind, verdict.code, verdict.message)
        case _:
            assert_never(verdict)


def accept(delivery: Delivery, fence: Fence, wamid: Wamid, now: Instant) -> Delivery:
    """Evidence that the provider has the try `fence`; it withdraws a queued retry of the same generation."""
    if not same_generation(delivery, fence):
        return delivery
    known = delivery if delivery.provider_id else replace(delivery, provider_id=wamid)
    moved = _moved(known, Move.ACCEPT, now)
    if moved is known:
        return known
    return replace(moved, sent_at=delivery.sent_at or now, error_code=None, error_message=None)


def report(delivery: Delivery, fence: Fence, told: StatusReport, now: Instant) -> Delivery:
    """What a status webhook changes: the ladder only climbs, duplicates and late lower rungs change nothing."""
    if not same_generation(delivery, fence):
        return delivery
    match told.kind:
        case ReportKind.SENT:
            return _stamped(accept(delivery, fence, told.wamid, now), told, now)
        case ReportKind.DELIVERED | ReportKind.READ | ReportKind.PLAYED:
            return _stamped(_delivered(delivery, told.wamid, now), told, now)
        case ReportKind.FAILED:
            return _reported_failed(delivery, fence, told, now)
        case _:
            assert_never(told.kind)


def _delivered(delivery: Delivery, wamid: Wamid, now: Instant) -> Delivery:
    moved = _moved(delivery, Move.DELIVER, now)
    if moved is delivery:
        return delivery
    return replace(moved, provider_id=delivery.provider_id or wamid, error_code=None, error_message=None)


def _reported_failed(delivery: Delivery, fence: Fence, told: StatusReport, now: Instant) -> Delivery:
    """Only the latest try may end a message: an older one's failure says nothing of the one under way."""
    if fence != delivery.fence or (delivery.provider_id or told.wamid) != told.wamid:
        return delivery
    moved = _moved(delivery, Move.FAIL, now)
    if moved is delivery:
        return delivery
    failed = replace(moved, provider_id=told.wamid)
    return _with_error(failed, told.error_code or "UNKNOWN", told.error_message or "the provider reported a failure")


def _moment(told: StatusReport, now: Instant) -> Instant:
    """The provider's times come in whole seconds: heard within that second, our own clock knows it better."""
    return now if told.at <= now < told.at + SECOND else told.at


def _stamped(delivery: Delivery, told: StatusReport, now: Instant) -> Delivery:
    """Keep the times beside the status; no step before the one below it."""
    if delivery.status not in (Status.SENT, Status.DELIVERED):
        return delivery
    heard_at = _moment(told, now)
    sent_at = delivery.sent_at or heard_at
    at = Instant(max(heard_at, sent_at))
    delivered_at, read_at = delivery.delivered_at, delivery.read_at
    if told.kind is not ReportKind.SENT:
        delivered_at = delivered_at or at
    if told.kind in (ReportKind.READ, ReportKind.PLAYED):
        read_at = read_at or at
    if (sent_at, delivered_at, read_at) == (delivery.sent_at, delivery.delivered_at, delivery.read_at):
        return delivery
    return replace(delivery, sent_at=sent_at, delivered_at=delivered_at, read_at=read_at)


def _with_error(delivery: Delivery, code: str, message: str) -> Delivery:
    return replace(delivery, error_code=code, error_message=message)


class Unsettled(StrEnum):
    """What becomes of a try that nobody settled within the stale limit."""

    REQUEUE = "requeue"
    PARK = "park"


def give_up_waiting(delivery: Delivery, policy: Unsettled, max_attempts: int, now: Instant) -> Delivery:
    """No answer, no echo, no report for the whole stale limit: queue it again, or leave it to a person."""
    if delivery.status is not Status.SENDING or delivery.parked:
        return delivery
    if policy is Unsettled.PARK or delivery.tries > max_attempts:
        parked = replace(delivery, parked=True, owner=None, updated_at=now)
        return _with_error(parked, UNSURE, "the provider never said whether it has this message")
    return replace(_moved(delivery, Move.REQUEUE, now), due_at=now)


def may_cancel(delivery: Delivery) -> bool:
    return delivery.status is Status.QUEUED


def may_retry(delivery: Delivery) -> bool:
    return delivery.status in (Status.FAILED, Status.CANCELLED) or delivery.parked


def cancel(delivery: Delivery, now: Instant) -> Delivery:
    return _moved(delivery, Move.CANCEL, now) if may_cancel(delivery) else delivery


def expire(delivery: Delivery, now: Instant) -> Delivery:
    """Its time passed while it waited."""
    if delivery.status is not Status.QUEUED:
        return delivery
    ended = Expire()
    return _with_error(_moved(delivery, Move.CANCEL, now), ended.code, ended.message)


def reopen(delivery: Delivery, now: Instant) -> Delivery:
    """A person's retry: a new generation, tries counted from 0, due now."""
    if not may_retry(delivery):
        return delivery
    fresh = _moved(delivery, Move.REOPEN, now)
    return replace(
        fresh,
        generation=delivery.generation + 1,
        first_fence=delivery.fence,
        tries=0,
        due_at=now,
        provider_id=None,
        error_code=None,
        error_message=None,
        sent_at=None,
        delivered_at=None,
        read_at=None,
    )


def was_tried(verdict: Verdict) -> bool:
    """Whether there is a try to tell of; what a rule of ours stopped was none."""
    return not isinstance(verdict, Defer | Expire) and not (isinstance(verdict, GiveUp) and not verdict.counts)


def attempt_status(verdict: Verdict) -> AttemptStatus:
    match verdict:
        case Accept():
            return AttemptStatus.SUCCESS
        case TryAgain() | GiveUp() | Expire() | Defer() | StandBack():
            return AttemptStatus.FAILED
        case StayUnsure():
            return AttemptStatus.UNSURE
        case _:
            assert_never(verdict)
