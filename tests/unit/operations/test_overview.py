"""The latest hour in steps: what falls into which, how wide they are, and what a truncated scan may show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from waypost.model.overview import MessageMoments, RecentTraffic
from waypost.model.time import Instant, Span, hours, minutes, seconds
from waypost.rules.operations.overview import MOST_STEPS, course

NOW = Instant(1_700_000_000_000_000 // minutes(1) * minutes(1) + seconds(30))
HOUR = hours(1)


def ago(span: Span) -> Instant:
    return Instant(NOW - span)


def message(
    created: Span, sent: Span | None = None, delivered: Span | None = None, failed: Span | None = None
) -> MessageMoments:
    moments = {"sent_at": sent, "delivered_at": delivered, "failed_at": failed}
    when = {name: None if span is None else ago(span) for name, span in moments.items()}
    return MessageMoments(
        created_at=ago(created), wanted_at=ago(created), done_at=when["sent_at"] or when["failed_at"], **when
    )


def lately(*messages: MessageMoments, received: Sequence[Instant] = (), cut: Instant | None = None) -> RecentTraffic:
    return RecentTraffic(messages=messages, received=received, sent_since=cut, received_since=None)


def test_everything_falls_into_the_minute_in_which_it_happened() -> None:
    found = course(
        lately(
            message(seconds(20), sent=seconds(18), delivered=seconds(10)),
            message(minutes(2), sent=seconds(25)),
            message(minutes(9), failed=minutes(2)),
            received=[ago(seconds(1)), ago(minutes(2))],
        ),
        HOUR,
        NOW,
    )
    assert (found.since, found.width) == (ago(HOUR), minutes(1))
    by_minute = {step.at: (step.received, step.sent, step.delivered, step.failed) for step in found.steps}
    assert len(by_minute) == MOST_STEPS
    told = {at: counts for at, counts in by_minute.items() if any(counts)}
    assert told == {ago(seconds(30)): (1, 2, 1, 0), ago(seconds(150)): (1, 0, 0, 1)}
    last = found.steps[-1]
    assert (last.queued_to_sent.count, last.queued_to_sent.p50, last.queued_to_sent.p95) == (2, 2.0, 95.0)
    assert (found.sent_to_delivered.count, found.sent_to_delivered.p50) == (1, 8.0)


def test_what_was_before_is_left_out() -> None:
    found = course(lately(message(hours(3), sent=hours(2)), received=[ago(hours(2))]), HOUR, NOW)
    assert sum(step.received + step.sent for step in found.steps) == 0
    assert found.queued_to_sent.p50 is None


def test_clocks_that_differ_make_no_time_negative() -> None:
    found = course(lately(message(seconds(5), sent=seconds(6), delivered=seconds(7))), HOUR, NOW)
    assert (found.queued_to_sent.p50, found.sent_to_delivered.p50) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("cut", "width"),
    [
        (seconds(5), seconds(1)),
        (minutes(1), seconds(1)),
        (minutes(10), seconds(10)),
        (minutes(59), minutes(1)),
        (hours(2), minutes(1)),
    ],
)
def test_a_look_that_was_cut_short_tells_less_in_shorter_steps(cut: Span, width: Span) -> None:
    found = course(lately(message(cut, sent=cut), cut=ago(cut)), HOUR, NOW)
    assert found.width == width
    assert found.since == max(ago(cut), ago(HOUR))
    assert len(found.steps) <= MOST_STEPS + 1
    assert found.steps[0].at >= found.since - width
    assert found.steps[-1].at <= NOW < found.steps[-1].at + width


def test_a_longer_look_back_has_wider_steps() -> None:
    assert course(lately(), hours(3), NOW).width == minutes(5)
    assert len(course(lately(), hours(3), NOW).steps) == 36


def test_a_message_of_this_very_moment_has_a_step() -> None:
    found = course(lately(message(Span(0), sent=Span(0)), cut=NOW), HOUR, NOW)
    assert [step.sent for step in found.steps] == [1]


def test_the_age_of_the_queue_is_that_of_whoever_waits_longest_at_the_end_of_a_step() -> None:
    waited = [
        message(minutes(10), sent=minutes(8)),
        message(seconds(20)),
        message(minutes(9), sent=minutes(9)),
        message(minutes(5), failed=minutes(3)),
    ]
    ages = [step.queue_age for step in course(lately(*waited), HOUR, NOW).steps]
    assert [age for age in ages if age] == [30.0, 90.0, 30.0, 90.0, 20.0]
    assert ages[-1] == 20.0, "at this moment, since the step is not over"
