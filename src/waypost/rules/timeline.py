"""The life of a message in order, from what was recorded of it; and why it stands where it stands."""

from __future__ import annotations

import msgspec

from waypost.model.message import Attempt, AttemptStatus, Delivery, Event, Message, Status
from waypost.model.time import Instant, as_seconds, to_datetime

_ENDINGS = {AttemptStatus.SUCCESS: "accepted", AttemptStatus.FAILED: "refused"}
"""An unsure try is an event of its own: what settles it later does not undo that it was unsure."""

_STEPS = {"submitted": 0, "retried": 1, "claimed": 2, "accepted": 3, "refused": 3, "unsure": 3, "status": 4}
"""What comes first of two things in the same microsecond; whatever is not named comes after."""


class Moment(msgspec.Struct, frozen=True):
    at: Instant
    kind: str
    detail: str


def timeline(
    message: Message, attempts: list[Attempt], reports: list[tuple[Instant, str, str]], events: list[Event]
) -> list[Moment]:
    """Oldest first; `reports` are (received at, kind, what it says)."""
    moments = [Moment(message.created_at, "submitted", _submitted(message))]
    for attempt in attempts:
        moments.append(Moment(attempt.created_at, "claimed", f"try {attempt.attempt_no}"))
        if attempt.finished_at is not None and attempt.status in _ENDINGS:
            moments.append(Moment(attempt.finished_at, _ENDINGS[attempt.status], _ended(attempt, message.delivery)))
    moments += [Moment(at, "status", f"{kind}{': ' + said if said else ''}") for at, kind, said in reports]
    moments += [Moment(event.at, event.kind, event.detail) for event in events]
    return sorted(moments, key=lambda moment: (moment.at, _STEPS.get(moment.kind, len(_STEPS))))


def _submitted(message: Message) -> str:
    draft = message.draft
    what = f"template {draft.template}" if draft.template else "freeform"
    when = f", not before {to_datetime(draft.scheduled_at):%Y-%m-%d %H:%M:%S}Z" if draft.scheduled_at else ""
    return f"{what} to {draft.recipient} from {draft.sender}, priority {draft.priority}{when}"


def _ended(attempt: Attempt, delivery: Delivery) -> str:
    if attempt.status is AttemptStatus.SUCCESS:
        known = f"as {delivery.provider_id}" if attempt.fence == delivery.fence else ""
        return known if attempt.response else f"{known}; its status said so".lstrip("; ")
    words = f"{attempt.error_code or ''} {attempt.error_message or ''}".strip()
    if attempt.next_retry_at is None:
        return words
    return f"{words}; next try at {to_datetime(attempt.next_retry_at):%Y-%m-%d %H:%M:%S}Z".lstrip("; ")


def why(message: Message, now: Instant) -> str:
    """One line: where it stands and what happens next."""
    delivery = message.delivery
    match delivery.status:
        case Status.QUEUED:
            return _why_queued(message, now)
        case Status.SENDING:
            return _why_sending(delivery, now)
        case Status.SENT:
            return "the provider has it; no delivery was reported yet"
        case Status.DELIVERED:
            return "read by the recipient" if delivery.read_at else "delivered; no reading was reported yet"
        case _:
            return _why_ended(delivery)


def _why_queued(message: Message, now: Instant) -> str:
    delivery = message.delivery
    if delivery.due_at is not None and delivery.due_at > now:
        reason = f"after {delivery.error_code} ({delivery.error_message})" if delivery.error_code else "as scheduled"
        return f"waits {as_seconds(delivery.due_at - now):.0f} s for its next try, {reason}"
    if message.queue_id is not None:
        return "due; ordered, so it goes when everything before it to this recipient is out of the way"
    return "due: the next free worker takes it. If it stays, no worker is running"


def _why_sending(delivery: Delivery, now: Instant) -> str:
    if delivery.parked:
        return "parked: the provider never said whether it has it. Retry it or leave it: a person decides"
    if delivery.owner is None:
        return f"unsure: {delivery.error_message}. A status settles it, or the stale limit queues it again"
    ago = as_seconds(now - (delivery.claimed_at or now))
    return f"claimed {ago:.0f} s ago; if that worker is gone, a status settles it, or the stale limit queues it again"


def _why_ended(delivery: Delivery) -> str:
    if delivery.error_code is None:
        return "cancelled by a person"
    return f"ended by {delivery.error_code}: {delivery.error_message}"
