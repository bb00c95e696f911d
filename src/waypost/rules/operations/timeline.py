"""The timeline of a message, from its recorded rows."""

from __future__ import annotations

import msgspec

from waypost.model.message import Attempt, AttemptStatus, Delivery, Message, MessageEvent
from waypost.model.time import Instant, as_seconds, to_datetime

_ENDINGS = {AttemptStatus.SUCCESS: "accepted", AttemptStatus.FAILED: "refused"}
"""An unsure attempt has its own event, which stays when a later status settles it."""

_STEPS = {"turn": -1, "submitted": 0, "retried": 1, "claimed": 2, "accepted": 3, "refused": 3, "unsure": 3, "status": 4}
"""Order of events in the same microsecond; other kinds come last."""


class AnsweredTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The turn of a bot's reply."""

    id: str
    burst: int
    """Number of the customer's messages in it."""
    tries: int
    claimed_at: Instant
    ended_at: Instant


class TimelineMoment(msgspec.Struct, frozen=True):
    at: Instant
    kind: str
    detail: str


def timeline(
    message: Message,
    attempts: list[Attempt],
    statuses: list[tuple[Instant, str, str]],
    events: list[MessageEvent],
    answers: AnsweredTurn | None = None,
) -> list[TimelineMoment]:
    """Oldest first; `statuses` are (received at, kind, details)."""
    moments = [TimelineMoment(message.created_at, "submitted", _submitted(message))]
    if answers is not None:
        moments.append(TimelineMoment(answers.claimed_at, "turn", _claimed(answers)))
    for attempt in attempts:
        moments.append(TimelineMoment(attempt.created_at, "claimed", f"attempt {attempt.attempt_no}"))
        if attempt.finished_at is not None and attempt.status in _ENDINGS:
            moments.append(
                TimelineMoment(attempt.finished_at, _ENDINGS[attempt.status], _ended(attempt, message.delivery))
            )
    moments += [
        TimelineMoment(at, "status", f"{kind}{': ' + detail if detail else ''}") for at, kind, detail in statuses
    ]
    moments += [TimelineMoment(event.at, event.kind, event.detail) for event in events]
    return sorted(moments, key=lambda moment: (moment.at, _STEPS.get(moment.kind, len(_STEPS))))


def _claimed(turn: AnsweredTurn) -> str:
    burst = "1 message" if turn.burst == 1 else f"{turn.burst} messages"
    took = as_seconds(turn.ended_at - turn.claimed_at)
    return f"the bot took turn {turn.id}, a burst of {burst}, attempt {turn.tries}; answered after {took:.3g} s"


def _submitted(message: Message) -> str:
    draft = message.draft
    what = f"template {draft.template}" if draft.template else "freeform"
    when = f", not before {to_datetime(draft.scheduled_at):%Y-%m-%d %H:%M:%S}Z" if draft.scheduled_at else ""
    return f"{what} to {draft.recipient} from {draft.sender}, priority {draft.priority}{when}"


def _ended(attempt: Attempt, delivery: Delivery) -> str:
    if attempt.status is AttemptStatus.SUCCESS:
        known = f"as {delivery.provider_id}" if attempt.fence == delivery.fence else ""
        return known if attempt.response else f"{known}; confirmed by its status".lstrip("; ")
    words = f"{attempt.error_code or ''} {attempt.error_message or ''}".strip()
    if attempt.next_retry_at is None:
        return words
    return f"{words}; next attempt at {to_datetime(attempt.next_retry_at):%Y-%m-%d %H:%M:%S}Z".lstrip("; ")
