"""Times written by a wrong clock must not delay anything; found by simulation (seeds 5 and 7)."""

from waypost.model.ids import NumberId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, hours, seconds
from waypost.rules.limits import recipient_pace, send_pace
from waypost.rules.limits.send_pace import Permit

NOW = Instant(1_760_000_000_000_000)


def a_pace(free_at: int) -> Permit:
    return Permit(name="pace:1", free_at=Instant(free_at), used=0, since=Instant(0), most=None)


def test_a_pace_drawn_by_a_clock_an_hour_ahead_begins_again_now() -> None:
    ahead = a_pace(NOW + hours(1))
    assert send_pace.paced(ahead, 80, NOW) == send_pace.paced(a_pace(0), 80, NOW)
    after, (start,) = send_pace.draw_pace(ahead, 80, 1, NOW)
    assert start == NOW
    assert after.free_at == NOW + send_pace.interval(80)


def test_a_pace_drawn_by_a_clock_some_seconds_ahead_is_kept() -> None:
    assert send_pace.paced(a_pace(NOW + seconds(3)), 80, NOW) == 0


def test_a_customer_is_not_put_off_by_a_clock_an_hour_ahead() -> None:
    known = RecipientState(sender=NumberId("1"), recipient="+491", free_at=Instant(NOW + hours(1)))
    assert recipient_pace.blocked_until(known, NOW) is None
    assert recipient_pace.record_send(known, NOW).free_at == NOW + recipient_pace.STEP


def test_a_burst_is_waited_for() -> None:
    known = RecipientState(sender=NumberId("1"), recipient="+491")
    for _ in range(recipient_pace.BURST):
        assert recipient_pace.blocked_until(known, NOW) is None
        known = recipient_pace.record_send(known, NOW)
    assert recipient_pace.blocked_until(known, NOW) == NOW + recipient_pace.STEP
