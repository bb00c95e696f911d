"""What a clock that was wrong has written must not hold anything up; found by simulation (seeds 5 and 7)."""

from waypost.model.ids import NumberId
from waypost.model.pair import Pair
from waypost.model.time import Instant, hours, seconds
from waypost.rules import pacing, pair
from waypost.rules.pacing import Permit

NOW = Instant(1_760_000_000_000_000)


def a_pace(free_at: int) -> Permit:
    return Permit(name="pace:1", free_at=Instant(free_at), used=0, since=Instant(0), most=None)


def test_a_pace_drawn_by_a_clock_an_hour_ahead_begins_again_now() -> None:
    ahead = a_pace(NOW + hours(1))
    assert pacing.paced(ahead, 80, NOW) == pacing.paced(a_pace(0), 80, NOW)
    after, (start,) = pacing.draw_pace(ahead, 80, 1, NOW)
    assert start == NOW
    assert after.free_at == NOW + pacing.interval(80)


def test_a_pace_drawn_by_a_clock_some_seconds_ahead_is_kept() -> None:
    assert pacing.paced(a_pace(NOW + seconds(3)), 80, NOW) == 0


def test_a_customer_is_not_put_off_by_a_clock_an_hour_ahead() -> None:
    known = Pair(sender=NumberId("1"), recipient="+491", free_at=Instant(NOW + hours(1)))
    assert pair.put_off(known, NOW) is None
    assert pair.drawn(known, NOW).free_at == NOW + pair.STEP


def test_a_burst_is_waited_for() -> None:
    known = Pair(sender=NumberId("1"), recipient="+491")
    for _ in range(pair.BURST):
        assert pair.put_off(known, NOW) is None
        known = pair.drawn(known, NOW)
    assert pair.put_off(known, NOW) == NOW + pair.STEP
