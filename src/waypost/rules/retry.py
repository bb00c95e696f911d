"""Whether and when a try is followed by another."""

from __future__ import annotations

from typing import assert_never

import msgspec

from waypost.model.message import Claimed
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.model.time import Instant, Span, days, minutes, seconds
from waypost.rules.catalogue import Action, Catalogue
from waypost.rules.delivery import Accept, GiveUp, StayUnsure, TryAgain, Verdict

UNREACHED = "CONNECTION_REFUSED"
LONGEST_WISH = days(1)
"""However long a provider asks us to stay away, a message is tried again within this."""


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
        case Rejected() if catalogue.action(outcome.code) is Action.FAIL:
            return GiveUp(outcome.code, outcome.message, outcome.response)
        case Rejected():
            wished = Span(min(LONGEST_WISH, seconds(min(outcome.retry_after or 0, 1e9))))
            wait = Span(max(wished, backoff.after(message.tries, dice)))
            return _again_or_never(message, Instant(now + wait), outcome.code, outcome.message, outcome.response)
        case _:
            assert_never(outcome)


def _again_or_never(message: Claimed, at: Instant, code: str, reason: str, response: str | None) -> TryAgain | GiveUp:
    if message.tries > message.max_attempts:
        return GiveUp(code, reason, response)
    return TryAgain(at, code, reason, response)
