"""The shard map gives every org one cell; adding and removing cells moves few orgs, and none without a move."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.shard_balance import cell_loads, rebalance
from bench.shard_map import (
    Cell,
    CellId,
    Directory,
    MovingBetweenCells,
    Placement,
    Reshaped,
    ServedByCell,
    ShardMap,
    ShardMapRefused,
    WebhookRoute,
    abandon_move,
    begin_move,
    finish_move,
    hashed,
    home,
    newer,
    pin,
    place,
    reshape,
    route,
    webhook,
)
from bench.shards import Crowd, simulate, table
from waypost.model.ids import NumberId, OrgId

ORGS = [OrgId(f"org-{number}") for number in range(800)]
FEW = ORGS[:60]
ACME = ORGS[0]
names = st.text("abcdefghij0123456789", min_size=1, max_size=6).map(CellId)
cells = st.builds(Cell, names, st.integers(1, 400))
fleets = st.lists(cells, min_size=2, max_size=6, unique_by=lambda cell: cell.id).map(tuple)
SIGMAS = 6.0


def changed(outcome: ShardMap | ShardMapRefused) -> ShardMap:
    assert isinstance(outcome, ShardMap), outcome
    return outcome


def reshaped(outcome: Reshaped | ShardMapRefused) -> Reshaped:
    assert isinstance(outcome, Reshaped), outcome
    return outcome


def chance(count: int, share: float) -> float:
    """How far a count may differ from its share by chance."""
    return SIGMAS * math.sqrt(count * share * (1 - share)) + 1


def moved(reshaping: Reshaped) -> ShardMap:
    """The map after every move."""
    where = reshaping.map
    for move in reshaping.moves:
        where = changed(finish_move(move.org, changed(begin_move(move.org, move.target, where))))
    return where


@given(fleets)
@settings(max_examples=25)
def test_every_org_has_one_cell_and_weights_are_respected(fleet: tuple[Cell, ...]) -> None:
    where = ShardMap(1, fleet)
    counts = Counter(home(org, where) for org in ORGS)
    assert sum(counts.values()) == len(ORGS)
    whole = sum(cell.weight for cell in fleet)
    for cell in fleet:
        share = cell.weight / whole
        assert abs(counts[cell.id] - len(ORGS) * share) <= chance(len(ORGS), share), (cell, counts)


@given(fleets)
@settings(max_examples=25)
def test_the_order_in_which_cells_are_listed_does_not_matter(fleet: tuple[Cell, ...]) -> None:
    assert [hashed(org, fleet) for org in FEW] == [hashed(org, tuple(reversed(fleet))) for org in FEW]


@given(fleets, cells)
@settings(max_examples=25)
def test_a_new_cell_gets_its_share_and_no_other_org_moves(fleet: tuple[Cell, ...], new: Cell) -> None:
    fleet = tuple(cell for cell in fleet if cell.id != new.id)
    before = ShardMap(1, fleet)
    reshaping = reshaped(reshape((*fleet, new), ORGS, before))
    assert {move.target for move in reshaping.moves} <= {new.id}
    share = new.weight / (new.weight + sum(cell.weight for cell in fleet))
    assert abs(len(reshaping.moves) - len(ORGS) * share) <= chance(len(ORGS), share)


@given(fleets, cells)
@settings(max_examples=25)
def test_a_change_of_cells_moves_no_org_by_itself(fleet: tuple[Cell, ...], new: Cell) -> None:
    fleet = tuple(cell for cell in fleet if cell.id != new.id)
    before = ShardMap(1, fleet)
    reshaping = reshaped(reshape((*fleet, new), FEW, before))
    assert [route(org, reshaping.map) for org in FEW] == [route(org, before) for org in FEW]
    after = moved(reshaping)
    assert [route(org, after) for org in FEW] == [ServedByCell(hashed(org, (*fleet, new))) for org in FEW]
    assert not after.placements, "an entry that agrees with the hash is dropped"


@given(fleets, st.data())
@settings(max_examples=25)
def test_an_emptied_cell_gives_up_its_orgs_only_and_can_then_go(fleet: tuple[Cell, ...], data: st.DataObject) -> None:
    leaving = data.draw(st.sampled_from(fleet))
    before, rest = ShardMap(1, fleet), tuple(cell for cell in fleet if cell is not leaving)
    theirs = {org for org in FEW if home(org, before) == leaving.id}
    if theirs:
        assert isinstance(reshape(rest, FEW, before), ShardMapRefused)
    draining = reshaped(reshape((*rest, Cell(leaving.id, 0)), FEW, before))
    assert {move.org for move in draining.moves} == theirs
    gone = reshaped(reshape(rest, FEW, moved(draining)))
    assert not gone.moves
    assert not gone.map.placements


@given(fleets, fleets, st.sets(st.sampled_from(FEW), max_size=8))
@settings(max_examples=25)
def test_a_pinned_org_stays(fleet: tuple[Cell, ...], others: tuple[Cell, ...], big: set[OrgId]) -> None:
    where = ShardMap(1, fleet)
    for org in sorted(big):
        where = changed(pin(org, where))
    known = {cell.id for cell in fleet}
    wanted = (*fleet, *(cell for cell in others if cell.id not in known))
    reshaping = reshaped(reshape(wanted, FEW, where))
    assert not big & {move.org for move in reshaping.moves}
    loads = {org: 1.0 + number for number, org in enumerate(FEW)}
    assert not big & {move.org for move in rebalance(loads, reshaping.map, 0.0)}
    after = moved(reshaping)
    assert [home(org, after) for org in sorted(big)] == [home(org, where) for org in sorted(big)]


@given(fleets, st.lists(st.tuples(st.sampled_from(FEW[:5]), st.integers(0, 5), st.integers(0, 5)), max_size=30))
def test_after_any_change_an_org_has_one_home_and_versions_grow(
    fleet: tuple[Cell, ...], changes: list[tuple[OrgId, int, int]]
) -> None:
    where = ShardMap(1, fleet)
    for org, kind, number in changes:
        cell = fleet[number % len(fleet)].id
        change = (
            place(org, cell, where),
            pin(org, where),
            begin_move(org, cell, where),
            finish_move(org, where),
            abandon_move(org, where),
            ShardMapRefused("nothing was asked for"),
        )[kind]
        if isinstance(change, ShardMap):
            assert change.version == where.version + 1
            assert newer(where, change) is newer(change, where) is change
            assert kind in (0, 3) or home(org, change) == home(org, where), "only a finished move changes a home"
            others = [each for each in FEW[:5] if each != org]
            assert [route(each, change) for each in others] == [route(each, where) for each in others]
            where = change
    for org in FEW[:5]:
        assert where.has(home(org, where))


def test_a_move_closes_the_org_then_opens_it_elsewhere() -> None:
    where = ShardMap(7, (Cell(CellId("a")), Cell(CellId("b"))))
    source = home(ACME, where)
    target = CellId("b") if source == "a" else CellId("a")
    moving = changed(begin_move(ACME, target, where))
    assert route(ACME, moving) == MovingBetweenCells(source, target)
    assert home(ACME, moving) == source
    assert route(ACME, changed(abandon_move(ACME, moving))) == ServedByCell(source)
    done = changed(finish_move(ACME, moving))
    assert route(ACME, done) == ServedByCell(target)
    assert done.placements[ACME] == Placement(target, since=9)
    back = changed(finish_move(ACME, changed(begin_move(ACME, source, done))))
    assert back.placements == {}


TWO = ShardMap(1, (Cell(CellId("a")), Cell(CellId("b"))))


@pytest.mark.parametrize(
    "outcome",
    [
        place(ACME, CellId("z"), TWO),
        place(ACME, CellId("a"), changed(pin(ACME, TWO))),
        begin_move(ACME, CellId("z"), TWO),
        begin_move(ACME, home(ACME, TWO), TWO),
        finish_move(ACME, TWO),
        abandon_move(ACME, TWO),
        reshape((), FEW, TWO),
        reshape((Cell(CellId("a"), 0),), [], TWO),
        reshape((Cell(CellId("a")), Cell(CellId("a"))), [], TWO),
    ],
)
def test_what_makes_no_sense_is_refused(outcome: object) -> None:
    assert isinstance(outcome, ShardMapRefused)


def test_a_cell_to_which_an_org_moves_cannot_be_removed() -> None:
    source = home(ACME, TWO)
    target = next(cell.id for cell in TWO.cells if cell.id != source)
    moving = changed(begin_move(ACME, target, TWO))
    assert isinstance(pin(ACME, moving), ShardMapRefused)
    assert isinstance(begin_move(ACME, target, moving), ShardMapRefused)
    assert isinstance(reshape((Cell(source),), [], moving), ShardMapRefused)


def test_a_webhook_goes_to_the_cells_of_every_org_in_it() -> None:
    where = TWO
    for org, cell in ((ORGS[0], "a"), (ORGS[1], "b"), (ORGS[2], "b")):
        where = changed(place(org, CellId(cell), where))
    known = Directory(
        {NumberId("1"): ORGS[0], NumberId("2"): ORGS[1], NumberId("3"): ORGS[2]},
        {"account": frozenset({ORGS[1], ORGS[2]})},
    )
    assert webhook([NumberId("1")], [], known, where) == WebhookRoute((CellId("a"),))
    assert webhook([NumberId("2"), NumberId("3")], [], known, where) == WebhookRoute((CellId("b"),))
    assert webhook([NumberId("1"), NumberId("9")], ["account"], known, where) == WebhookRoute(
        (CellId("a"), CellId("b"))
    )
    assert webhook([NumberId("9")], ["other"], known, where) == WebhookRoute(())
    moving = changed(begin_move(ORGS[2], CellId("a"), where))
    assert webhook([NumberId("1"), NumberId("3")], [], known, moving) == WebhookRoute((), come_back=True)
    assert webhook([NumberId("1")], [], known, moving) == WebhookRoute((CellId("a"),))


@given(fleets, st.lists(st.floats(0.0, 100.0), min_size=1, max_size=60), st.floats(0.0, 0.5))
@settings(max_examples=40)
def test_a_rebalancing_never_makes_the_fullest_fuller(
    fleet: tuple[Cell, ...], sizes: list[float], tolerance: float
) -> None:
    where = ShardMap(1, fleet)
    loads = {OrgId(f"o{number}"): size for number, size in enumerate(sizes)}
    weights = {cell.id: cell.weight for cell in fleet}
    fullest = [max(load / weights[cell] for cell, load in cell_loads(loads, where).items())]
    for move in rebalance(loads, where, tolerance, most=50):
        assert home(move.org, where) == move.source
        where = changed(finish_move(move.org, changed(begin_move(move.org, move.target, where))))
        fullest.append(max(load / weights[cell] for cell, load in cell_loads(loads, where).items()))
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(fullest))


def test_equal_orgs_are_balanced_within_the_tolerance() -> None:
    where = ShardMap(1, tuple(Cell(CellId(name)) for name in "abcd"))
    loads = dict.fromkeys(FEW, 1.0)
    for move in rebalance(loads, where, 0.1):
        where = changed(finish_move(move.org, changed(begin_move(move.org, move.target, where))))
    assert max(cell_loads(loads, where).values()) <= 15 * 1.1


def test_the_map_can_be_stored_and_read() -> None:

    where = changed(pin(ACME, TWO))
    assert msgspec.json.decode(msgspec.json.encode(where), type=ShardMap) == where
    assert route(ACME, where) == ServedByCell(home(ACME, TWO))


def test_the_simulation_of_skewed_tenants_balances_the_cells() -> None:
    steps = simulate(Crowd(orgs=200, cells=4))
    assert len(table(Crowd(orgs=200, cells=4)).splitlines()) == len(steps) + 2
    by_hash, _, rebalanced, *_, last = steps
    assert rebalanced.fullest < by_hash.fullest
    assert (rebalanced.cells, last.cells) == (4, 5)
    assert last.moved
