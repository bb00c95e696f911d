"""Whether and when a try is followed by another."""

from __future__ import annotations

from typing import assert_never

import msgspec

from waypost.model.message import Claimed
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.rules.catalogue import LONGEST_WISH, Action, Catalogue, wait_for
from waypost.rules.delivery import Accept, GiveUp, StayUnsure, TryAgain, Verdict

UNREACHED = "CONNECTION_REFUSED"


class Backoff(msgspec.Struct, frozen=True):
    """The waits after the first, second, … failed try; the last one repeats."""

    steps: tuple[Span, ...] = tuple(minutes(m) for m in (1, 5, 15, 60, 360))
    jitter: float = 0.1
    """Upwards only, as a fraction of the wait, so that no retry comes early."""

    def after(self, tries: int, dice: float) -> Span:
        step = self.steps[min(tries, len(self.steps)) - 1]
        return Span(round(step * (1 + self.jitter * dice)))


def judge(
    outcome: Outcome, message: Claimed, catalogue: Catalogue, backoff: Backoff, now: Instant, dice: float
) -> Verdict:
    """What becomes of a message whose try ended like this."""
    match outcome:
        case Accepted():
            return Accept(outcome.wamid, outcome.response)
        case Unsure():
            return StayUnsure(outcome.reason, outcome.response)
        case Unreached():
            at = Instant(now + backoff.after(message.tries, dice))
            return _again_or_never(message, at, UNREACHED, outcome.reason, None)
        case Rejected() if catalogue.action(outcome.code) in (Action.FAIL, Action.HOLD):
            return GiveUp(outcome.code, outcome.message, outcome.response)
        case Rejected():
            at = Instant(now + _wait(outcome, message, catalogue, backoff, dice))
            return _again_or_never(message, at, outcome.code, outcome.message, outcome.response)
        case _:
            assert_never(outcome)


def _wait(outcome: Rejected, message: Claimed, catalogue: Catalogue, backoff: Backoff, dice: float) -> Span:
    known = catalogue.find(outcome.code)
    if known is not None and known.action is Action.WAIT:
        return wait_for(known, message.tries, outcome.retry_after)
    wished = Span(min(LONGEST_WISH, seconds(min(outcome.retry_after or 0, 1e9))))
    return Span(max(wished, backoff.after(message.tries, dice)))


def _again_or_never(message: Claimed, at: Instant, code: str, reason: str, response: str | None) -> TryAgain | GiveUp:
    if message.tries > message.max_attempts:
        return GiveUp(code, reason, response)
    return TryAgain(at, code, reason, response)
