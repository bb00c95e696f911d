"""The life of a message in order, from what was recorded of it."""

from __future__ import annotations

import msgspec

from waypost.model.message import Attempt, AttemptStatus, Delivery, Event, Message
from waypost.model.time import Instant, to_datetime

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
