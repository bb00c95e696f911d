"""The life of a message in order, from what was recorded of it."""

from __future__ import annotations

import msgspec

from waypost.model.message import Attempt, AttemptStatus, Delivery, Event, Message
from waypost.model.time import Instant, as_seconds, to_datetime

_ENDINGS = {AttemptStatus.SUCCESS: "accepted", AttemptStatus.FAILED: "refused"}
"""An unsure try is an event of its own: what settles it later does not undo that it was unsure."""

_STEPS = {"turn": -1, "submitted": 0, "retried": 1, "claimed": 2, "accepted": 3, "refused": 3, "unsure": 3, "status": 4}
"""What comes first of two things in the same microsecond; whatever is not named comes after."""


class AnsweredTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that a reply of the bot answers."""

    id: str
    burst: int
    """Messages of the customer in it."""
    tries: int
    claimed_at: Instant
    ended_at: Instant


class Moment(msgspec.Struct, frozen=True):
    at: Instant
    kind: str
    detail: str


def timeline(
    message: Message,
    attempts: list[Attempt],
    reports: list[tuple[Instant, str, str]],
    events: list[Event],
    answers: AnsweredTurn | None = None,
) -> list[Moment]:
    """Oldest first; `reports` are (received at, kind, what it says)."""
    moments = [Moment(message.created_at, "submitted", _submitted(message))]
    if answers is not None:
        moments.append(Moment(answers.claimed_at, "turn", _claimed(answers)))
    for attempt in attempts:
        moments.append(Moment(attempt.created_at, "claimed", f"try {attempt.attempt_no}"))
        if attempt.finished_at is not None and attempt.status in _ENDINGS:
            moments.append(Moment(attempt.finished_at, _ENDINGS[attempt.status], _ended(attempt, message.delivery)))
    moments += [Moment(at, "status", f"{kind}{': ' + said if said else ''}") for at, kind, said in reports]
    moments += [Moment(event.at, event.kind, event.detail) for event in events]
    return sorted(moments, key=lambda moment: (moment.at, _STEPS.get(moment.kind, len(_STEPS))))


def _claimed(turn: AnsweredTurn) -> str:
    burst = "1 message" if turn.burst == 1 else f"{turn.burst} messages"
    took = as_seconds(turn.ended_at - turn.claimed_at)
    return f"the bot took turn {turn.id}, a burst of {burst}, try {turn.tries}; answered after {took:.3g} s"


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
