"""The state machine of a message: all transitions of a delivery.

docs/explanation/states.md draws it; a test compares the two. Every function returns the new delivery, or the same
object if nothing changes, so that `is` shows whether anything changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.gate import GateClosing
from waypost.model.ids import Fence, Wamid, WorkerId
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.time import Instant, seconds
from waypost.model.webhook import StatusKind, StatusUpdate


class DeliveryTransition(StrEnum):
    CLAIM = "claim"
    ACCEPT = "accept"
    DELIVER = "deliver"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    REOPEN = "reopen"


MOVES: dict[tuple[Status, DeliveryTransition], Status] = {
    (Status.QUEUED, DeliveryTransition.CLAIM): Status.SENDING,
    (Status.QUEUED, DeliveryTransition.ACCEPT): Status.SENT,
    (Status.QUEUED, DeliveryTransition.DELIVER): Status.DELIVERED,
    (Status.QUEUED, DeliveryTransition.FAIL): Status.FAILED,
    (Status.QUEUED, DeliveryTransition.CANCEL): Status.CANCELLED,
    (Status.SENDING, DeliveryTransition.ACCEPT): Status.SENT,
    (Status.SENDING, DeliveryTransition.DELIVER): Status.DELIVERED,
    (Status.SENDING, DeliveryTransition.FAIL): Status.FAILED,
    (Status.SENDING, DeliveryTransition.REQUEUE): Status.QUEUED,
    (Status.SENDING, DeliveryTransition.CANCEL): Status.CANCELLED,
    (Status.SENDING, DeliveryTransition.REOPEN): Status.QUEUED,
    (Status.SENT, DeliveryTransition.DELIVER): Status.DELIVERED,
    (Status.SENT, DeliveryTransition.FAIL): Status.FAILED,
    (Status.FAILED, DeliveryTransition.REOPEN): Status.QUEUED,
    (Status.CANCELLED, DeliveryTransition.REOPEN): Status.QUEUED,
}

SECOND = seconds(1)

UNSURE = "UNSURE"
"""The error code of an attempt that may or may not have reached the provider."""

TAKEN_OVER = "TAKEN_OVER"
"""The error code of a bot's reply in a conversation that a person took over."""
TAKEN_BACK = "TAKEN_BACK"
"""The error code of a message whose author deleted it."""
WITHDRAWN = frozenset({TAKEN_OVER, TAKEN_BACK})
"""While it is SENDING: if this attempt does not get it to the provider, there is no other."""

TERMINAL = frozenset({Status.DELIVERED, Status.FAILED, Status.CANCELLED})


class Accept(msgspec.Struct, frozen=True, gc=False):
    """The provider accepted it."""

    wamid: Wamid
    response: str


class TryAgain(msgspec.Struct, frozen=True, gc=False):
    """The provider certainly does not have it, and a later attempt may succeed."""

    at: Instant
    code: str
    message: str
    response: str | None
    counts: bool = True
    """False if the failure was not caused by the message: the attempt is not counted."""


class GiveUp(msgspec.Struct, frozen=True, gc=False):
    """The provider certainly does not have it, and no retry can succeed."""

    code: str
    message: str
    response: str | None
    counts: bool = True
    """False if one of our rules refused it, so that there was no attempt."""


class StayUnsure(msgspec.Struct, frozen=True, gc=False):
    """The provider may have it."""

    reason: str
    response: str | None


class Expire(msgspec.Struct, frozen=True):
    """It expired before it was sent."""

    code: str = "EXPIRED"
    message: str = "expiresAt passed before it was sent"


class Defer(msgspec.Struct, frozen=True):
    """A rule defers it: there was no attempt, and none is counted."""

    at: Instant
    rule: str
    reason: str


class StandBack(msgspec.Struct, frozen=True):
    """The provider refuses the whole scope for now: the gate closes, and the message waits without using an attempt."""

    closing: GateClosing
    message: str
    response: str | None

    @property
    def code(self) -> str:
        return self.closing.code


DeliveryVerdict: TypeAlias = Accept | TryAgain | GiveUp | StayUnsure | Expire | Defer | StandBack


def _moved(delivery: Delivery, move: DeliveryTransition, now: Instant) -> Delivery:
    target = MOVES.get((delivery.status, move))
    if target is None:
        return delivery
    due_at = delivery.due_at if target is Status.QUEUED else None
    owner = delivery.owner if target is Status.SENDING else None
    return replace(delivery, status=target, due_at=due_at, owner=owner, parked=False, deferred_by=None, updated_at=now)


def same_generation(delivery: Delivery, fence: Fence) -> bool:
    return delivery.first_fence < fence <= delivery.fence


def claim(delivery: Delivery, owner: WorkerId, open_total: int, now: Instant) -> Delivery:
    moved = _moved(delivery, DeliveryTransition.CLAIM, now)
    if moved is delivery:
        return delivery
    fence = Fence(delivery.fence + 1)
    return replace(moved, fence=fence, tries=delivery.tries + 1, owner=owner, claimed_at=now, open_at_claim=open_total)


def settle(delivery: Delivery, fence: Fence, verdict: DeliveryVerdict, now: Instant) -> Delivery:
    """Apply a worker's verdict on its attempt. A late verdict changes nothing, except that acceptance is evidence."""
    if isinstance(verdict, Accept):
        return accept(delivery, fence, verdict.wamid, now)
    if delivery.fence != fence or delivery.status is not Status.SENDING:
        return delivery
    if isinstance(verdict, TryAgain | Defer | StandBack):
        return _waiting(delivery, verdict, now)
    match verdict:
        case GiveUp():
            ended = replace(_moved(delivery, DeliveryTransition.FAIL, now), tries=delivery.tries - (not verdict.counts))
            return _with_error(ended, verdict.code, verdict.message)
        case StayUnsure():
            unowned = replace(delivery, owner=None, updated_at=now)  # its worker is done with it
            return unowned if is_withdrawn(delivery) else _with_error(unowned, UNSURE, verdict.reason)
        case Expire():
            untried = replace(_moved(delivery, DeliveryTransition.CANCEL, now), tries=delivery.tries - 1)
            return _with_error(untried, verdict.code, verdict.message)
        case _:
            assert_never(verdict)


def _waiting(delivery: Delivery, verdict: TryAgain | Defer | StandBack, now: Instant) -> Delivery:
    """Return it to the queue; only an attempt that failed because of the message itself counts."""
    if is_withdrawn(delivery):
        tried = isinstance(verdict, TryAgain) and verdict.counts
        return replace(_moved(delivery, DeliveryTransition.CANCEL, now), tries=delivery.tries - (not tried))
    waiting = _moved(delivery, DeliveryTransition.REQUEUE, now)
    match verdict:
        case TryAgain():
            tries = delivery.tries if verdict.counts else delivery.tries - 1
            again = replace(waiting, due_at=verdict.at, tries=tries)
            return _with_error(again, verdict.code, verdict.message)
        case Defer():
            return replace(waiting, due_at=verdict.at, tries=delivery.tries - 1, deferred_by=verdict.rule)
        case StandBack():
            blocked = replace(waiting, due_at=now, tries=delivery.tries - 1)
            return _with_error(blocked, verdict.code, verdict.message)
        case _:
            assert_never(verdict)


def accept(delivery: Delivery, fence: Fence, wamid: Wamid, now: Instant) -> Delivery:
    """Evidence that the provider accepted the attempt `fence`; cancels a queued retry of the same generation."""
    if not same_generation(delivery, fence):
        return delivery
    known = delivery if delivery.provider_id else replace(delivery, provider_id=wamid)
    moved = _moved(known, DeliveryTransition.ACCEPT, now)
    if moved is known:
        return known
    return replace(moved, sent_at=delivery.sent_at or now, error_code=None, error_message=None)


def apply_status(delivery: Delivery, fence: Fence, update: StatusUpdate, now: Instant) -> Delivery:
    """Apply a status update: the status only advances; duplicates and late lower statuses change nothing."""
    if not same_generation(delivery, fence):
        return delivery
    match update.kind:
        case StatusKind.SENT:
            return _stamped(accept(delivery, fence, update.wamid, now), update, now)
        case StatusKind.DELIVERED | StatusKind.READ | StatusKind.PLAYED:
            return _stamped(_delivered(delivery, update.wamid, now), update, now)
        case StatusKind.FAILED:
            return _reported_failed(delivery, fence, update, now)
        case _:
            assert_never(update.kind)


def _delivered(delivery: Delivery, wamid: Wamid, now: Instant) -> Delivery:
    moved = _moved(delivery, DeliveryTransition.DELIVER, now)
    if moved is delivery:
        return delivery
    return replace(moved, provider_id=delivery.provider_id or wamid, error_code=None, error_message=None)


def _reported_failed(delivery: Delivery, fence: Fence, update: StatusUpdate, now: Instant) -> Delivery:
    """Only the latest attempt may end a message: the failure of an older one does not affect it."""
    if fence != delivery.fence or (delivery.provider_id or update.wamid) != update.wamid:
        return delivery
    moved = _moved(delivery, DeliveryTransition.FAIL, now)
    if moved is delivery:
        return delivery
    failed = replace(moved, provider_id=update.wamid)
    return _with_error(
        failed, update.error_code or "UNKNOWN", update.error_message or "the provider reported a failure"
    )


def _moment(update: StatusUpdate, now: Instant) -> Instant:
    """The provider's times are whole seconds: within that second, our own clock is more precise."""
    return now if update.at <= now < update.at + SECOND else update.at


def _stamped(delivery: Delivery, update: StatusUpdate, now: Instant) -> Delivery:
    """Record the timestamps; none is earlier than that of the status before it."""
    if delivery.status not in (Status.SENT, Status.DELIVERED):
        return delivery
    reported_at = _moment(update, now)
    sent_at = delivery.sent_at or reported_at
    at = Instant(max(reported_at, sent_at))
    delivered_at, read_at = delivery.delivered_at, delivery.read_at
    if update.kind is not StatusKind.SENT:
        delivered_at = delivered_at or at
    if update.kind in (StatusKind.READ, StatusKind.PLAYED):
        read_at = read_at or at
    if (sent_at, delivered_at, read_at) == (delivery.sent_at, delivery.delivered_at, delivery.read_at):
        return delivery
    return replace(delivery, sent_at=sent_at, delivered_at=delivered_at, read_at=read_at)


def _with_error(delivery: Delivery, code: str, message: str) -> Delivery:
    return replace(delivery, error_code=code, error_message=message)


class Unsettled(StrEnum):
    """What to do with an attempt that stayed unsettled for the stale limit."""

    REQUEUE = "requeue"
    PARK = "park"


def give_up_waiting(delivery: Delivery, policy: Unsettled, max_attempts: int, now: Instant) -> Delivery:
    """No answer and no status update for the whole stale limit: requeue it, or park it for a person."""
    if delivery.status is not Status.SENDING or delivery.parked:
        return delivery
    if policy is Unsettled.PARK or delivery.tries > max_attempts or is_withdrawn(delivery):
        parked = replace(delivery, parked=True, owner=None, updated_at=now)
        return _with_error(parked, UNSURE, "it is unknown whether the provider has this message")
    return replace(_moved(delivery, DeliveryTransition.REQUEUE, now), due_at=now)


def may_cancel(delivery: Delivery) -> bool:
    return delivery.status is Status.QUEUED


def may_retry(delivery: Delivery) -> bool:
    return delivery.status in (Status.FAILED, Status.CANCELLED) or delivery.parked


def cancel(delivery: Delivery, now: Instant) -> Delivery:
    return _moved(delivery, DeliveryTransition.CANCEL, now) if may_cancel(delivery) else delivery


def withdraw(delivery: Delivery, code: str, reason: str, now: Instant) -> Delivery:
    """A person no longer wants it sent: it is cancelled, or, while an attempt is under way, not tried again."""
    if delivery.status is Status.QUEUED:
        return _with_error(cancel(delivery, now), code, reason)
    if delivery.status is Status.SENDING and not delivery.parked:
        return _with_error(replace(delivery, updated_at=now), code, reason)
    return delivery


def is_withdrawn(delivery: Delivery) -> bool:
    return delivery.error_code in WITHDRAWN


def expire(delivery: Delivery, now: Instant) -> Delivery:
    """Cancel a message that expired while it waited."""
    if delivery.status is not Status.QUEUED:
        return delivery
    ended = Expire()
    return _with_error(_moved(delivery, DeliveryTransition.CANCEL, now), ended.code, ended.message)


def reopen(delivery: Delivery, now: Instant) -> Delivery:
    """A person's retry: a new generation, attempts from 0, due now."""
    if not may_retry(delivery):
        return delivery
    fresh = _moved(delivery, DeliveryTransition.REOPEN, now)
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


def was_tried(verdict: DeliveryVerdict) -> bool:
    """Whether there was an attempt; a message stopped by one of our rules had none."""
    return not isinstance(verdict, Defer | Expire) and not (isinstance(verdict, GiveUp) and not verdict.counts)


def attempt_status(verdict: DeliveryVerdict) -> AttemptStatus:
    match verdict:
        case Accept():
            return AttemptStatus.SUCCESS
        case TryAgain() | GiveUp() | Expire() | Defer() | StandBack():
            return AttemptStatus.FAILED
        case StayUnsure():
            return AttemptStatus.UNSURE
        case _:
            assert_never(verdict)
