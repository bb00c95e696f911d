"""Permits: in any order of claims, refunds and pauses, no claim exceeds a pace, a quota or a fair share."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.gate import DispatchGroup, Gate, GateId, GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, days, minutes, seconds
from waypost.rules.limits import send_pace
from waypost.rules.limits.send_pace import HORIZON, Permit, Shares
from waypost_testing.contracts.examples import NUMBER, ORG, T0, later

SECOND = seconds(1)
PACES = st.integers(1, 1000)
GAPS = st.integers(0, int(seconds(3)))
PLENTY = 1_000


def a_permit(**fields: Any) -> Permit:
    standard: dict[str, Any] = {"name": f"quota:{ORG}", "free_at": Instant(0), "used": 0, "since": T0, "most": None}
    return Permit(**(standard | fields))


def an_outlet(outlet: int = 1, **fields: Any) -> DispatchGroup:
    standard: dict[str, Any] = {"org_id": ORG, "sender": NUMBER, "template": "", "waba_id": "3", "pace": 80}
    return DispatchGroup(id=outlet, **(standard | {"tier": None, "gate": None} | fields))


def a_breaker(until: Instant) -> Gate:
    return Gate(
        id=GateId(1),
        org_id=ORG,
        name=GateName(f"org:{ORG}"),
        kind=GateKind.BREAKER,
        code="",
        reason="",
        since=T0,
        until=until,
        times=1,
    )


@st.composite
def starts(draw: st.DrawFn) -> tuple[int, list[tuple[Instant, list[Instant]]]]:
    """A pace, and what claims at some moments drew from it: as much as allowed, or less."""
    pace, permit, now = draw(PACES), a_permit(), T0
    drawn = []
    for gap in draw(st.lists(GAPS, max_size=30)):
        now = Instant(now + gap)
        count = draw(st.integers(0, send_pace.paced(permit, pace, now)))
        permit, moments = send_pace.draw_pace(permit, pace, count, now)
        drawn.append((now, moments))
    return pace, drawn


@given(starts())
def test_no_second_has_more_starts_than_the_pace(given: tuple[int, list[tuple[Instant, list[Instant]]]]) -> None:
    pace, drawn = given
    moments = [moment for _, some in drawn for moment in some]
    for moment in moments:
        assert sum(moment <= other < moment + SECOND for other in moments) <= pace


@given(starts())
def test_starts_are_spaced_evenly_and_never_far_ahead(given: tuple[int, list[tuple[Instant, list[Instant]]]]) -> None:
    pace, drawn = given
    moments = [moment for _, some in drawn for moment in some]
    assert all(b - a >= send_pace.interval(pace) for a, b in itertools.pairwise(moments))
    assert all(now <= moment <= now + HORIZON for now, some in drawn for moment in some)


@given(PACES)
def test_whoever_draws_all_the_time_reaches_the_pace(pace: int) -> None:
    permit, drawn = a_permit(), 0
    for tick in range(0, int(seconds(2)), int(HORIZON) // 2):
        now = Instant(T0 + tick)
        count = send_pace.paced(permit, pace, now)
        permit, moments = send_pace.draw_pace(permit, pace, count, now)
        drawn += sum(moment < T0 + 2 * SECOND for moment in moments)
    assert 2 * pace * 0.99 - 1 <= drawn <= 2 * pace


@given(st.integers(0, 50), st.lists(st.tuples(st.sampled_from(["draw", "refund", "wait"]), st.integers(1, 20))))
def test_a_quota_is_never_exceeded_whatever_is_drawn_and_given_back(most: int, steps: list[tuple[str, int]]) -> None:
    """What counts is what was really sent: drawn in a window and not returned."""
    permit, now = a_permit(most=most, since=Instant(0)), T0
    held: list[Instant] = []
    for step, amount in steps:
        now = Instant(now + 1)
        if step == "draw":
            count = min(amount, send_pace.remaining(permit, now) or 0)
            permit = send_pace.draw_quota(permit, count, now)
            held += [now] * count
        elif step == "refund":
            permit, held = send_pace.refund(permit, held[:amount]), held[amount:]
        else:
            now = Instant(now + minutes(100) * amount)
        assert sum(moment >= permit.since for moment in held) <= permit.used <= most


@given(st.integers(1, 20), st.integers(0, 20))
def test_only_what_was_drawn_in_its_window_comes_back(drawn: int, old: int) -> None:
    permit = send_pace.draw_quota(a_permit(most=100), drawn, T0)
    assert send_pace.refund(permit, [Instant(T0 - 1)] * old) == permit
    assert send_pace.refund(permit, [T0] * drawn).used == 0
    assert send_pace.refund(permit, [T0] * (drawn + old)).used == 0


def test_a_quota_begins_again_by_itself_24_hours_after_its_first_draw() -> None:
    spent = send_pace.draw_quota(a_permit(most=3, since=Instant(0)), 3, T0)
    assert spent.since == T0
    assert send_pace.remaining(spent, Instant(T0 + days(1) - 1)) == 0
    assert send_pace.remaining(spent, later(days(1))) == 3
    assert send_pace.resets_at(spent) == later(days(1))
    again = send_pace.draw_quota(spent, 1, later(days(2)))
    assert (again.used, again.since) == (1, later(days(2)))


def test_no_limit_is_never_used_up() -> None:
    assert send_pace.remaining(a_permit(most=None, used=10**9), T0) is None


@st.composite
def markets(draw: st.DrawFn) -> tuple[list[DispatchGroup], dict[str, Permit], dict[int, int], int]:
    """Dispatch groups of a few orgs and numbers, with or without limits, with few or many messages; and slots."""
    count = draw(st.integers(1, 8))
    orgs = [OrgId(f"org-{draw(st.integers(0, 2))}") for _ in range(count)]
    pace = {NumberId(f"n-{n}"): draw(st.one_of(st.none(), PACES)) for n in range(3)}
    senders = [draw(st.sampled_from(sorted(pace))) for _ in range(count)]
    gate = draw(st.sampled_from([None, a_breaker(T0)]))
    outlets = [
        an_outlet(n, org_id=org, sender=sender, pace=pace[sender], gate=gate, template=draw(st.sampled_from(["", "t"])))
        for n, (org, sender) in enumerate(zip(orgs, senders, strict=True))
    ]
    permits = {
        name: a_permit(
            name=name,
            most=draw(st.one_of(st.none(), st.integers(0, 20))),
            free_at=Instant(T0 + draw(st.integers(0, int(seconds(0.2))))),
        )
        for name in send_pace.needed(outlets)
    }
    stock = {outlet.id: draw(st.one_of(st.just(0), st.integers(1, 5), st.just(PLENTY))) for outlet in outlets}
    return outlets, permits, stock, draw(st.integers(1, 60))


def shared_out(
    outlets: list[DispatchGroup], permits: dict[str, Permit], stock: dict[int, int], slots: int
) -> dict[int, int]:
    """What a claim takes from each dispatch group, round by round."""
    shares, left = Shares(outlets, permits, slots, T0), dict(stock)
    taken = dict.fromkeys(stock, 0)
    while shares.hungry and (asked := shares.next_round()):
        gave = {outlet: min(count, left[outlet]) for outlet, count in asked.items()}
        for outlet, count in gave.items():
            left[outlet] -= count
            taken[outlet] += count
        shares.took(asked, gave)
    return taken


@given(markets())
def test_nobody_gets_more_than_there_are_slots_and_permits(
    market: tuple[list[DispatchGroup], dict[str, Permit], dict[int, int], int],
) -> None:
    outlets, permits, stock, slots = market
    taken = shared_out(*market)
    assert sum(taken.values()) <= slots
    assert all(0 <= taken[outlet] <= stock[outlet] for outlet in stock)
    for name, permit in permits.items():
        drawn = sum(taken[o.id] for o in outlets if name in (send_pace.quota_of(o.org_id), send_pace.pace_of(o)))
        pace = next((o.pace for o in outlets if send_pace.pace_of(o) == name), None)
        most = send_pace.remaining(permit, T0) if pace is None else send_pace.paced(permit, pace, T0)
        assert most is None or drawn <= most
    if outlets[0].gate is not None:
        assert sum(taken.values()) <= 1, "an open breaker lets one probe through"


@given(st.lists(st.integers(1, 5) | st.just(PLENTY), min_size=1, max_size=8), st.integers(1, 60))
def test_every_open_outlet_gets_its_share_before_anyone_gets_more(stock: list[int], slots: int) -> None:
    outlets = [an_outlet(n, pace=None) for n in range(len(stock))]
    taken = shared_out(outlets, {}, dict(enumerate(stock)), slots)
    assert sum(taken.values()) == min(slots, sum(stock)), "no slot stays empty while somebody has more"
    fair = slots // len(stock)
    assert all(taken[n] >= min(fair, stock[n]) for n in taken)


@given(st.integers(1, 12), st.integers(1, 12))
def test_with_fewer_slots_than_outlets_the_next_claim_goes_on_where_this_one_stopped(count: int, slots: int) -> None:
    outlets = [an_outlet(n, pace=None) for n in range(1, count + 1)]
    served: set[int] = set()
    for _ in range(-(-count // slots)):
        shares = Shares(outlets, {}, slots, T0)
        served |= shares.next_round().keys()
        outlets = [*(o for o in outlets if o.id > shares.reached), *(o for o in outlets if o.id <= shares.reached)]
    assert served == set(range(1, count + 1))


def test_a_breaker_lets_one_probe_through_for_all_the_outlets_behind_it() -> None:
    outlets = [an_outlet(n, gate=a_breaker(T0), pace=None) for n in range(5)]
    assert sum(shared_out(outlets, {}, dict.fromkeys(range(5), PLENTY), 50).values()) == 1


def test_an_outlet_behind_a_closed_gate_is_not_open() -> None:
    shut, ajar, free = an_outlet(1, gate=a_breaker(later(Span(1)))), an_outlet(2, gate=a_breaker(T0)), an_outlet(3)
    assert send_pace.open_outlets([shut, ajar, free], T0) == [ajar, free]


def test_what_a_gate_stops_opens_with_the_gate() -> None:
    assert send_pace.opens_at([an_outlet(gate=a_breaker(later(minutes(1))))], {}, T0) == later(minutes(1))
    for_ever = replace(a_breaker(T0), kind=GateKind.HOLD, until=None)
    assert send_pace.opens_at([an_outlet(gate=for_ever)], {}, T0) is None


def test_what_a_quota_stops_opens_when_it_begins_again() -> None:
    spent = a_permit(most=5, used=5)
    assert send_pace.opens_at([an_outlet()], {spent.name: spent}, T0) == later(days(1))


def test_a_quota_of_nothing_never_opens_by_itself() -> None:
    none = a_permit(most=0, since=Instant(0))
    assert send_pace.opens_at([an_outlet()], {none.name: none}, T0) is None
    plenty = a_permit(name="quota:globex", most=5)
    both = [an_outlet(), an_outlet(2, org_id=OrgId("globex"))]
    assert send_pace.opens_at(both, {none.name: none, plenty.name: plenty}, T0) == T0


def test_what_the_pace_stops_opens_as_soon_as_it_may_be_drawn() -> None:
    pace = a_permit(name=f"pace:{NUMBER}", free_at=later(seconds(5)))
    opens = send_pace.opens_at([an_outlet(pace=1)], {pace.name: pace}, T0)
    assert opens is not None
    assert send_pace.paced(pace, 1, Instant(opens - 1)) == 0
    assert send_pace.paced(pace, 1, opens) == 1


def test_a_slower_claim_joins_the_window_that_a_faster_one_began_a_moment_ago() -> None:
    """So that a refund goes to that window."""
    begun = Permit(name="quota:acme", free_at=T0, used=3, since=Instant(T0 + seconds(1)), most=10)
    drawn = send_pace.draw_quota(begun, 2, T0)
    assert (drawn.since, drawn.used) == (T0, 5)
    assert send_pace.refund(drawn, [T0, T0]).used == 3
    wrong = Permit(name="quota:acme", free_at=T0, used=3, since=Instant(T0 + days(2)), most=10)
    assert send_pace.draw_quota(wrong, 1, T0).since == wrong.since
