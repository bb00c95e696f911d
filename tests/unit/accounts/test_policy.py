"""Policies: what makes sense, how one is merged, what a stored one means to an older version."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.flow.accounts.policies import converted
from waypost.flow.policy_cache import EffectivePolicy, in_force
from waypost.model.conversation import TurnTiming
from waypost.model.policy import Policy, QuietHours, RequestRate, Turns
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.rules.accounts import policy as rule
from waypost.rules.accounts.policy import InvalidPolicy
from waypost.rules.limits import request_rate
from waypost.rules.limits.request_rate import RateLimited
from waypost.rules.sending.delivery import Unsettled
from waypost.rules.sending.retry import Backoff

NIGHT = {"from": "21:00", "to": "08:00"}
PRICE = {"country": "49", "category": "marketing", "amount": "0.1"}


def refused(given: dict[str, Any]) -> str | None:
    policy = converted(given)
    found = policy if isinstance(policy, InvalidPolicy) else rule.check(policy, TurnTiming())
    return found.field if found else None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"unsure": "forget"}, "unsure"),
        ({"unsure": 7}, "unsure"),
        ({"backoffMinutes": []}, "backoffMinutes"),
        ({"backoffMinutes": [0]}, "backoffMinutes[0]"),
        ({"backoffMinutes": ["1"]}, "backoffMinutes[0]"),
        ({"backoffMinutes": [1] * 21}, "backoffMinutes"),
        ({"quietHours": {"from": "9pm", "to": "08:00"}}, "quietHours.from"),
        ({"quietHours": {"from": "24:00", "to": "08:00"}}, "quietHours.from"),
        ({"quietHours": {"from": "21:00\n", "to": "08:00"}}, "quietHours.from"),
        ({"quietHours": {"from": "21:00"}}, "quietHours.to"),
        ({"quietHours": NIGHT | {"days": 7}}, "quietHours.days"),
        ({"quietHours": {"from": "21:00", "to": "21:00"}}, "quietHours.to"),
        ({"quietHours": NIGHT | {"timezone": "Mars/Olympus"}}, "quietHours.timezone"),
        ({"quietHours": NIGHT | {"timezone": "../../etc/passwd"}}, "quietHours.timezone"),
        ({"quietHours": NIGHT | {"exemptPriority": 10}}, "quietHours.exemptPriority"),
        ({"requestRate": {"perSecond": 0, "burst": 1}}, "requestRate.perSecond"),
        ({"requestRate": {"perSecond": 1, "burst": 0}}, "requestRate.burst"),
        ({"priceList": {"currency": "euro"}}, "priceList.currency"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE | {"amount": "-1"}]}}, "priceList.prices[0].amount"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE | {"amount": "NaN"}]}}, "priceList.prices[0].amount"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE | {"amount": "1e400"}]}}, "priceList.prices[0].amount"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE | {"amount": "0.0000001"}]}}, "priceList.prices[0].amount"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE, PRICE]}}, "priceList.prices[1]"),
        ({"priceList": {"currency": "EUR", "prices": [PRICE | {"country": "DE"}]}}, "priceList.prices[0].country"),
        ({"budget": {"amount": "5"}}, "budget"),
        ({"budget": {"amount": "-5"}, "priceList": {"currency": "EUR", "prices": [PRICE]}}, "budget.amount"),
        ({"budget": {"amount": "5", "period": "year"}}, "budget.period"),
        ({"defaultRegion": "XX"}, "defaultRegion"),
        ({"defaultRegion": "Germany"}, "defaultRegion"),
        ({"turns": {"quietSec": 66}}, "turns.quietSec"),
        ({"turns": {"maxWaitSec": 2}}, "turns.maxWaitSec"),
        ({"turns": {"quietSec": 10, "maxWaitSec": 9.5}}, "turns.quietSec"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    assert refused(given) == field


@pytest.mark.parametrize("turns", [{"quietSec": 65}, {"maxWaitSec": 3}, {"quietSec": 100, "maxWaitSec": 100}, {}])
def test_a_burst_may_wait_as_long_as_it_is_quiet(turns: dict[str, float]) -> None:
    assert refused({"turns": turns}) is None


def test_what_an_org_has_not_set_of_its_turns_is_the_servers_and_not_its_fault() -> None:
    backwards = TurnTiming(quiet=seconds(9), max_wait=seconds(8))
    assert rule.check(Policy(turns=Turns(lease_sec=5)), backwards) is None
    assert rule.check(Policy(turns=Turns(quiet_sec=8)), backwards) is None


def test_a_whole_policy_is_taken_and_stored_as_it_was_set() -> None:
    given: dict[str, Any] = {
        "backoffMinutes": [0.5, 5],
        "unsure": "park",
        "quietHours": NIGHT | {"timezone": "Europe/Berlin", "exemptPriority": 9},
        "requestRate": {"perSecond": 10.5, "burst": 20},
        "priceList": {"currency": "EUR", "prices": [PRICE, PRICE | {"country": "*"}]},
        "budget": {"amount": "100.25", "period": "day"},
        "defaultRegion": "DE",
    }
    policy = converted(given)
    assert isinstance(policy, Policy)
    assert rule.check(policy, TurnTiming()) is None
    assert rule.read(rule.settings(policy)) == policy
    assert msgspec.json.decode(rule.settings(policy)) == given
    assert rule.settings(Policy()) == "{}"


def test_a_setting_of_a_newer_version_counts_as_not_set() -> None:
    stored = '{"unsure":"park","quietHours":{"from":"21:00","to":"08:00","holidays":true},"later":1}'
    assert rule.read(stored) == Policy(unsure="park")


@pytest.mark.parametrize("stored", ["", "{", "[]", "7", '"text"', "null"])
def test_what_cannot_be_read_at_all_is_an_empty_policy(stored: str) -> None:
    assert rule.read(stored) == Policy()


def test_a_merge_changes_what_it_names_and_null_takes_away() -> None:
    before = Policy(unsure="park", quiet_hours=QuietHours(start="21:00", end="08:00"), default_region="DE")
    patch = {"unsure": None, "quietHours": {"to": "07:00"}}
    after = converted(rule.merged(before, patch))
    assert after == Policy(quiet_hours=QuietHours(start="21:00", end="07:00"), default_region="DE")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5) | st.sampled_from(["unsure", "budget", "quietHours"]), json, max_size=4))
def test_whatever_is_merged_it_is_a_policy_or_a_refusal(patch: dict[str, Any]) -> None:
    assert isinstance(converted(rule.merged(Policy(unsure="park"), patch)), Policy | InvalidPolicy)


def test_what_an_org_leaves_out_is_the_servers_default() -> None:
    defaults = EffectivePolicy(backoff=Backoff((minutes(1),), 0.3), unsure=Unsettled.PARK, default_region="FR")
    assert in_force(Policy(), defaults) == defaults
    chosen = in_force(Policy(backoff_minutes=(2.0,), unsure="requeue", default_region="DE"), defaults)
    assert chosen.backoff == Backoff((minutes(2),), 0.3)
    assert (chosen.unsure, chosen.default_region) == (Unsettled.REQUEUE, "DE")


NOW = Instant(1_760_000_000_000_000)


def test_a_burst_is_taken_then_one_at_a_time() -> None:
    allowed, full_at = RequestRate(per_second=10, burst=3), NOW
    for _ in range(3):
        drawn = request_rate.draw(full_at, allowed, NOW)
        assert not isinstance(drawn, RateLimited)
        full_at = drawn
    assert request_rate.draw(full_at, allowed, NOW) == RateLimited(seconds(0.1))
    assert not isinstance(request_rate.draw(full_at, allowed, Instant(NOW + seconds(0.1))), RateLimited)


def test_whoever_waits_as_told_is_served() -> None:
    assert request_rate.retry_after(Span(1)) == "1"
    assert request_rate.retry_after(seconds(1.2)) == "2"


@given(
    st.floats(0.1, 1000),
    st.integers(1, 50),
    st.lists(st.integers(0, 2_000_000), min_size=1, max_size=200),
)
def test_in_no_span_more_are_taken_than_the_burst_and_the_rate_allow(
    per_second: float, burst: int, pauses: list[int]
) -> None:
    allowed, now, full_at, taken = RequestRate(per_second=per_second, burst=burst), NOW, NOW, []
    for pause in pauses:
        now = Instant(now + pause)
        drawn = request_rate.draw(full_at, allowed, now)
        if isinstance(drawn, RateLimited):
            again = request_rate.draw(full_at, allowed, Instant(now + drawn.wait))
            assert not isinstance(again, RateLimited)
            continue
        full_at = drawn
        taken.append(now)
    for first, start in enumerate(taken):
        for last in range(first, len(taken)):
            most = burst + (taken[last] - start) / request_rate.interval(allowed)
            assert last - first + 1 <= most + 1e-6


def test_amounts_are_exact() -> None:
    assert rule.check(Policy(price_list=converted({"priceList": {"currency": "EUR"}}).price_list), TurnTiming()) is None  # type: ignore[union-attr]
    assert Decimal("0.1131") * 1_000_000 == 113_100
