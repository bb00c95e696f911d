"""Whether and when a try is followed by another."""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.message import Claimed
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.rules import breaker
from waypost.rules.catalogue import LONGEST_WISH, Action, Catalogue, ErrorCode
from waypost.rules.delivery import Accept, GiveUp, StandBack, StayUnsure, TryAgain, Verdict
from waypost.rules.gates import Place, closing

UNREACHED = "CONNECTION_REFUSED"


class Backoff(msgspec.Struct, frozen=True):
    """The waits after the first, second, … failed try; the last one repeats."""

    steps: tuple[Span, ...] = tuple(minutes(m) for m in (1, 5, 15, 60, 360))
    jitter: float = 0.1
    """Upwards only, as a fraction of the wait, so that no retry comes early."""

    def after(self, tries: int, dice: float) -> Span:
        step = self.steps[min(tries, len(self.steps)) - 1]
        return Span(round(step * (1 + self.jitter * dice)))


SHORT = Backoff(tuple(map(seconds, (5, 15, 35, 60))))
"""In a conversation: two minutes in all, so that nobody's answer waits for hours behind a broken one."""


def judge(
    outcome: Outcome,
    message: Claimed,
    waba_id: str,
    catalogue: Catalogue,
    backoff: Backoff,
    now: Instant,
    dice: float,
) -> Verdict:
    """What becomes of a message whose try ended like this.

    What waits behind an open breaker waits at no cost, also the one that was sent ahead and found nobody there: else
    a long outage would use up the tries of those that came first, one probe after the other.
    """
    if message.probe is None or not breaker.is_failure(outcome):
        return _judged(outcome, message, waba_id, catalogue, backoff, now, dice)
    untried = replace(message, tries=1, max_attempts=1)
    verdict = _judged(outcome, untried, waba_id, catalogue, backoff, now, dice)
    return replace(verdict, counts=False) if isinstance(verdict, TryAgain) else verdict


def _judged(
    outcome: Outcome,
    message: Claimed,
    waba_id: str,
    catalogue: Catalogue,
    backoff: Backoff,
    now: Instant,
    dice: float,
) -> Verdict:
    match outcome:
        case Accepted():
            return Accept(outcome.wamid, outcome.response)
        case Unsure():
            return StayUnsure(outcome.reason, outcome.response)
        case Unreached():
            at = Instant(now + backoff.after(message.tries, dice))
            return _again_or_never(message, at, UNREACHED, outcome.reason, None)
        case Rejected():
            wait = _wait(outcome, message, backoff, dice)
            return _refused(outcome, message, waba_id, catalogue.find(outcome.code), Instant(now + wait))
        case _:
            assert_never(outcome)


def _refused(outcome: Rejected, message: Claimed, waba_id: str, known: ErrorCode | None, again_at: Instant) -> Verdict:
    """An unknown code is worth another try: only a known hopeless one ends a message at once."""
    if known is None or known.action is Action.RETRY:
        return _again_or_never(message, again_at, outcome.code, outcome.message, outcome.response)
    if known.action is Action.FAIL:
        return GiveUp(outcome.code, outcome.message, outcome.response)
    place = Place(
        org_id=message.org_id,
        number=message.sender,
        waba_id=waba_id,
        recipient=message.recipient,
        template=message.template,
    )
    closes = closing(known, place, outcome.message, outcome.retry_after)
    return StandBack(replace(closes, code=outcome.code), outcome.message, outcome.response)


def _wait(outcome: Rejected, message: Claimed, backoff: Backoff, dice: float) -> Span:
    wished = Span(min(LONGEST_WISH, seconds(min(outcome.retry_after or 0, 1e9))))
    return Span(max(wished, backoff.after(message.tries, dice)))


def _again_or_never(message: Claimed, at: Instant, code: str, reason: str, response: str | None) -> TryAgain | GiveUp:
    if message.tries > message.max_attempts:
        return GiveUp(code, reason, response)
    return TryAgain(at, code, reason, response)
