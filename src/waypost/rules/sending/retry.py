"""Whether and when to retry after an attempt."""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.message import ClaimedMessage
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.rules.limits import breaker
from waypost.rules.limits.error_catalogue import LONGEST_WISH, ErrorAction, ErrorCatalogue, ErrorCode
from waypost.rules.limits.gates import GateScope, closing
from waypost.rules.sending.delivery import Accept, DeliveryVerdict, GiveUp, StandBack, StayUnsure, TryAgain

UNREACHED = "CONNECTION_REFUSED"


class Backoff(msgspec.Struct, frozen=True):
    """The delays after the first, second, … failed attempt; the last one repeats."""

    steps: tuple[Span, ...] = tuple(minutes(m) for m in (1, 5, 15, 60, 360))
    jitter: float = 0.1
    """Added as a fraction of the delay, so that no retry comes early."""

    def after(self, attempts: int, random: float) -> Span:
        step = self.steps[min(attempts, len(self.steps)) - 1]
        return Span(round(step * (1 + self.jitter * random)))


SHORT = Backoff(tuple(map(seconds, (5, 15, 35, 60))))
"""For conversations: two minutes in all, so that later replies do not wait for hours behind a failing one."""


def judge(
    outcome: Outcome,
    message: ClaimedMessage,
    waba_id: str,
    catalogue: ErrorCatalogue,
    backoff: Backoff,
    now: Instant,
    random: float,
) -> DeliveryVerdict:
    """The verdict on an attempt with this outcome.

    A failed probe of a breaker does not count as an attempt: otherwise a long outage would use up the attempts of the
    first messages, one probe after the other.
    """
    if message.probe is None or not breaker.is_failure(outcome):
        return _judged(outcome, message, waba_id, catalogue, backoff, now, random)
    untried = replace(message, tries=1, max_attempts=1)
    verdict = _judged(outcome, untried, waba_id, catalogue, backoff, now, random)
    return replace(verdict, counts=False) if isinstance(verdict, TryAgain) else verdict


def _judged(
    outcome: Outcome,
    message: ClaimedMessage,
    waba_id: str,
    catalogue: ErrorCatalogue,
    backoff: Backoff,
    now: Instant,
    random: float,
) -> DeliveryVerdict:
    match outcome:
        case Accepted():
            return Accept(outcome.wamid, outcome.response)
        case Unsure():
            return StayUnsure(outcome.reason, outcome.response)
        case Unreached():
            at = Instant(now + backoff.after(message.tries, random))
            return _again_or_never(message, at, UNREACHED, outcome.reason, None)
        case ProviderRejected():
            wait = _wait(outcome, message, backoff, random)
            return _refused(outcome, message, waba_id, catalogue.find(outcome.code), Instant(now + wait))
        case _:
            assert_never(outcome)


def _refused(
    outcome: ProviderRejected, message: ClaimedMessage, waba_id: str, known: ErrorCode | None, again_at: Instant
) -> DeliveryVerdict:
    """An unknown code is retried: only a code known to be permanent ends a message at once."""
    if known is None:
        return _again_or_never(message, again_at, outcome.code, outcome.message, outcome.response)
    match known.action:
        case ErrorAction.RETRY:
            return _again_or_never(message, again_at, outcome.code, outcome.message, outcome.response)
        case ErrorAction.FAIL:
            return GiveUp(outcome.code, outcome.message, outcome.response)
        case ErrorAction.WAIT | ErrorAction.HOLD:
            return _stand_back(outcome, message, waba_id, known)
        case _:
            assert_never(known.action)


def _stand_back(outcome: ProviderRejected, message: ClaimedMessage, waba_id: str, known: ErrorCode) -> StandBack:
    place = GateScope(
        org_id=message.org_id,
        number=message.sender,
        waba_id=waba_id,
        recipient=message.recipient,
        template=message.template,
    )
    closes = closing(known, place, outcome.message, outcome.retry_after)
    return StandBack(replace(closes, code=outcome.code), outcome.message, outcome.response)


def _wait(outcome: ProviderRejected, message: ClaimedMessage, backoff: Backoff, random: float) -> Span:
    wished = Span(min(LONGEST_WISH, seconds(min(outcome.retry_after or 0, 1e9))))
    return Span(max(wished, backoff.after(message.tries, random)))


def _again_or_never(
    message: ClaimedMessage, at: Instant, code: str, reason: str, response: str | None
) -> TryAgain | GiveUp:
    if message.tries > message.max_attempts:
        return GiveUp(code, reason, response)
    return TryAgain(at, code, reason, response)
