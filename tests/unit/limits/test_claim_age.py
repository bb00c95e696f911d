"""How old a claim may be when its message is to leave."""

import pytest

from waypost.model.time import Instant, Span, minutes, seconds
from waypost.rules.limits.claim_age import is_old

CLAIMED = Instant(1_760_000_000_000_000)
STALE = minutes(10)


@pytest.mark.parametrize(
    ("age", "taken_over_after", "usual", "old"),
    [
        pytest.param(seconds(0), STALE, seconds(0), False, id="at once"),
        pytest.param(seconds(0.1), STALE, seconds(0), False, id="it waited for its pace"),
        pytest.param(seconds(3), STALE, seconds(0), False, id="just in time"),
        pytest.param(seconds(3.1), STALE, seconds(0), True, id="its process stood still"),
        pytest.param(seconds(6), STALE, seconds(4), False, id="every claim takes four seconds"),
        pytest.param(seconds(7.1), STALE, seconds(4), True, id="and its process stood still"),
        pytest.param(seconds(1.1), seconds(2), seconds(0), True, id="taken over after two seconds"),
        pytest.param(seconds(1.1), seconds(2), seconds(9), True, id="taken over, however slow the Ledger"),
        pytest.param(seconds(-2), STALE, seconds(0), False, id="another process measured a little more"),
        pytest.param(seconds(-4), STALE, seconds(0), True, id="the clock was set back since"),
    ],
)
def test_an_old_claim(age: Span, taken_over_after: Span, usual: Span, old: bool) -> None:
    assert is_old(CLAIMED, Instant(CLAIMED + age), taken_over_after, usual) is old
