"""Quiet hours by the recipient's clock: across midnight, time zones and clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.policy import QuietHours
from waypost.model.time import Instant, days, from_datetime, hours, to_datetime
from waypost.rules.limits import quiet_hours
from waypost.rules.limits.calling_zones import zone, zones_of
from waypost.rules.limits.quiet_hours import Hours, is_quiet, quiet_until

BERLIN, NEW_YORK, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
LORD_HOWE, APIA = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia")
NIGHT = Hours(time(21), time(8))


def at(text: str, where: ZoneInfo = BERLIN) -> Instant:
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=where).astimezone(UTC))


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-11-16T20:59:59", None),
        ("2026-11-16T21:00:00", "2026-11-17T08:00:00"),
        ("2026-11-16T23:30:00", "2026-11-17T08:00:00"),
        ("2026-11-17T00:00:00", "2026-11-17T08:00:00"),
        ("2026-11-17T07:59:59", "2026-11-17T08:00:00"),
        ("2026-11-17T08:00:00", None),
        ("2026-11-17T12:00:00", None),
    ],
)
def test_a_night_crosses_midnight(now: str, until: str | None) -> None:
    assert quiet_until(NIGHT, [BERLIN], UTC, at(now)) == (at(until) if until else None)


def test_quiet_hours_within_a_day_do_not_cross_it() -> None:
    siesta = Hours(time(13), time(15))
    assert quiet_until(siesta, [BERLIN], UTC, at("2026-11-16T13:00:00")) == at("2026-11-16T15:00:00")
    assert quiet_until(siesta, [BERLIN], UTC, at("2026-11-16T15:00:00")) is None
    assert quiet_until(siesta, [BERLIN], UTC, at("2026-11-16T03:00:00")) is None


def test_the_night_is_an_hour_shorter_or_longer_when_clocks_change() -> None:
    spring, autumn = at("2026-03-28T21:00:00"), at("2026-10-24T21:00:00")
    assert quiet_until(NIGHT, [BERLIN], UTC, spring) == spring + hours(10)
    assert quiet_until(NIGHT, [BERLIN], UTC, autumn) == autumn + hours(12)


def test_an_end_that_clocks_skip_is_when_they_are_past_it() -> None:
    until = quiet_until(Hours(time(0), time(2, 30)), [BERLIN], UTC, at("2026-03-29T01:00:00"))
    assert until == at("2026-03-29T03:30:00")


def test_an_end_that_comes_twice_ends_the_quiet_the_first_time_and_the_second() -> None:
    late = Hours(time(0), time(2, 30))
    first = quiet_until(late, [BERLIN], UTC, at("2026-10-25T01:00:00"))
    assert first == from_datetime(datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    again = from_datetime(datetime(2026, 10, 25, 1, 10, tzinfo=UTC))
    assert quiet_until(late, [BERLIN], UTC, again) == from_datetime(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))


def test_of_several_zones_the_last_to_wake_decides() -> None:
    evening = at("2026-11-16T21:30:00", NEW_YORK)
    chicago = ZoneInfo("America/Chicago")
    assert quiet_until(NIGHT, [NEW_YORK, chicago], UTC, evening) == at("2026-11-17T08:00:00", chicago)


def test_where_it_is_always_quiet_for_somebody_the_orgs_own_zone_decides() -> None:
    long_night, noon = Hours(time(13), time(9)), at("2026-11-16T12:00:00")
    assert quiet_until(long_night, [NEW_YORK, TOKYO, BERLIN], BERLIN, noon) is None
    assert quiet_until(long_night, [NEW_YORK, TOKYO, BERLIN], TOKYO, noon) == at("2026-11-17T09:00:00", TOKYO)


def test_a_number_without_a_zone_goes_by_the_orgs_own() -> None:
    assert quiet_until(NIGHT, [], BERLIN, at("2026-11-16T22:00:00")) == at("2026-11-17T08:00:00")


@pytest.mark.parametrize(
    ("number", "zones"),
    [
        ("+4915112345678", {"Europe/Berlin"}),
        ("+12125551234", {"America/New_York"}),
        ("+5215512345678", {"America/Mexico_City"}),
        ("+15550001111", set()),
        ("+999123456789", set()),
        ("no number", set()),
        ("US.13491208655302741918", set()),
    ],
)
def test_a_number_tells_its_zone_where_its_plan_does(number: str, zones: set[str]) -> None:
    found = {each.key for each in zones_of(number)}
    assert found == zones or (zones and found & zones)


def test_a_number_that_belongs_to_no_place_may_be_anywhere_in_its_country() -> None:
    assert len(zones_of("+18005551234")) > 10


@pytest.mark.parametrize("name", ["Europe/Nowhere", "../etc/passwd", "", "\0", "/etc/localtime"])
def test_what_is_no_zone_is_none(name: str) -> None:
    assert zone(name) is None


def test_priorities_from_the_exempt_one_on_go_at_night() -> None:
    loud = QuietHours(start="21:00", end="08:00", exempt_priority=8)
    assert [quiet_hours.is_exempt(loud, priority) for priority in (7, 8, 9)] == [False, True, True]
    assert not quiet_hours.is_exempt(QuietHours(start="21:00", end="08:00"), 9)


clocks = st.builds(time, st.integers(0, 23), st.integers(0, 59))
spans = st.tuples(clocks, clocks).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Hours(*pair))
moments = st.datetimes(datetime(2011, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)).map(from_datetime)  # noqa: DTZ001  # a zone is given beside them
places = st.sampled_from([BERLIN, NEW_YORK, TOKYO, LORD_HOWE, APIA, ZoneInfo("UTC"), ZoneInfo("Africa/Casablanca")])


@given(spans, places, moments)
def test_when_the_quiet_is_over_it_is_not_quiet(asked: Hours, where: ZoneInfo, now: Instant) -> None:
    until = quiet_until(asked, [where], UTC, now)
    assert (until is None) == (not is_quiet(asked, where, now))
    if until is not None:
        assert now < until <= now + days(2) + hours(1)
        assert not is_quiet(asked, where, until)


@given(spans, st.lists(places, min_size=1, max_size=4), moments)
def test_nobody_is_woken_unless_somebody_always_would_be(asked: Hours, where: list[ZoneInfo], now: Instant) -> None:
    until = quiet_until(asked, where, BERLIN, now)
    at_last = until if until is not None else now
    awake = all(not is_quiet(asked, each, at_last) for each in where)
    always = all(
        any(is_quiet(asked, each, Instant(now + step * 60_000_000)) for each in where) for step in range(0, 2880, 7)
    )
    assert awake or always or not is_quiet(asked, BERLIN, at_last)


@given(spans, places, moments)
def test_the_quiet_lasts_for_no_longer_than_the_clock_says(asked: Hours, where: ZoneInfo, now: Instant) -> None:
    """Just before its end it is still quiet, except for the hour that a clock change removes."""
    until = quiet_until(asked, [where], UTC, now)
    if until is None:
        return
    before = Instant(until - 1)
    local, just_before = (to_datetime(m).astimezone(where) for m in (until, before))
    jumped = local.utcoffset() != (to_datetime(until) - timedelta(hours=2)).astimezone(where).utcoffset()
    assert is_quiet(asked, where, before) or jumped, (local, just_before)
