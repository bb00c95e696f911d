"""Recent traffic as a time series; with heavy traffic, over a shorter time with shorter steps."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from waypost.model.overview import MessageMoments, RecentTraffic
from waypost.model.time import Instant, Span, as_seconds, minutes, seconds
from waypost.rules.operations.figures import Percentiles, spread

MOST_STEPS = 60
WIDTHS: tuple[Span, ...] = (*map(seconds, (1, 2, 5, 10, 15, 30)), *map(minutes, (1, 2, 5, 10, 15, 30)))


class OverviewInterval(msgspec.Struct, frozen=True, kw_only=True):
    at: Instant
    """Its start."""
    received: int
    sent: int
    delivered: int
    failed: int
    queued_to_sent: Percentiles
    """Of messages sent in this step."""
    sent_to_delivered: Percentiles
    """Of messages delivered in this step."""
    queue_age: float
    """Age of the oldest waiting message at the end of the step, in seconds."""


class OverviewSeries(msgspec.Struct, frozen=True, kw_only=True):
    since: Instant
    """The data is complete from here on."""
    width: Span
    steps: Sequence[OverviewInterval]
    """Oldest first; the last step is not over yet."""
    queued_to_sent: Percentiles
    sent_to_delivered: Percentiles
    """Of all steps."""


def course(lately: RecentTraffic, span: Span, now: Instant) -> OverviewSeries:
    known = [moment for moment in (lately.sent_since, lately.received_since) if moment is not None]
    since = min(now, max([Instant(now - span), *known]))
    width = next((width for width in WIDTHS if now - since <= width * MOST_STEPS), WIDTHS[-1])
    first = min(-(-since // width) * width, now // width * width)
    happened = _happened(lately, first, width)
    starts = [Instant(at) for at in range(first, now + 1, width)]
    ages = _ages(lately.messages, [Instant(min(at + width, now)) for at in starts])
    steps = [happened.step(at, age) for at, age in zip(starts, ages, strict=True)]
    return OverviewSeries(
        since=since,
        width=width,
        steps=steps,
        queued_to_sent=spread([took for step in steps for took in happened.sent[step.at]]),
        sent_to_delivered=spread([took for step in steps for took in happened.delivered[step.at]]),
    )


ByStep: TypeAlias = defaultdict[Instant, list[float]]
"""By the start of a step: the durations that ended in it."""


class _Happened(msgspec.Struct, frozen=True, kw_only=True):
    received: ByStep
    sent: ByStep
    delivered: ByStep
    failed: ByStep

    def step(self, at: Instant, queue_age: float) -> OverviewInterval:
        return OverviewInterval(
            at=at,
            received=len(self.received[at]),
            sent=len(self.sent[at]),
            delivered=len(self.delivered[at]),
            failed=len(self.failed[at]),
            queued_to_sent=spread(self.sent[at]),
            sent_to_delivered=spread(self.delivered[at]),
            queue_age=queue_age,
        )


def _happened(lately: RecentTraffic, first: int, width: Span) -> _Happened:
    def by_step(events: Iterable[tuple[Instant | None, float]]) -> ByStep:
        found: ByStep = defaultdict(list)
        for at, took in events:
            if at is not None and at >= first:
                found[Instant(at // width * width)].append(took)
        return found

    messages = lately.messages
    return _Happened(
        received=by_step((at, 0.0) for at in lately.received),
        sent=by_step((each.sent_at, _took(each.wanted_at, each.sent_at)) for each in messages),
        delivered=by_step((each.delivered_at, _took(each.sent_at, each.delivered_at)) for each in messages),
        failed=by_step((each.failed_at, 0.0) for each in messages),
    )


def _took(begin: Instant | None, end: Instant | None) -> float:
    """Clocks differ, so a negative duration counts as 0."""
    return 0.0 if begin is None or end is None else max(0.0, as_seconds(end - begin))


def _ages(messages: Sequence[MessageMoments], ends: Sequence[Instant]) -> list[float]:
    """At each of these moments, the age of the oldest message that should have been sent by then."""
    oldest: dict[Instant, Instant] = {}
    for each in sorted(messages, key=lambda moments: moments.wanted_at):
        upto = len(ends) if each.done_at is None else bisect_left(ends, each.done_at)
        for end in ends[bisect_left(ends, each.wanted_at) : upto]:
            oldest.setdefault(end, each.wanted_at)
    return [as_seconds(end - oldest.get(end, end)) for end in ends]
