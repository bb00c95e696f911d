"""The shard map with skewed tenants (Zipf): how full the fullest cell is, and which orgs move when a cell is added.

`python -m bench.shards --orgs 20000 --cells 40 --skew 1.1 --seed 7` prints the table; the same seed prints the same.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from statistics import fmean

from bench.shard_balance import cell_loads, rebalance
from bench.shard_map import Cell, CellId, OrgMove, Reshaped, ShardMap, begin_move, finish_move, pin, reshape
from waypost.model.ids import OrgId


@dataclass(frozen=True)
class Crowd:
    """The tenants: the nth has 1/n^skew of the first one's load. An org lives in one cell, so a tenant whose load
    exceeds `largest` of a cell's fair share is split into several orgs, each with some of its numbers."""

    orgs: int = 2_000
    cells: int = 32
    skew: float = 1.0
    largest: float = 0.25
    pinned: int = 8
    tolerance: float = 0.05
    seed: int = 1


@dataclass(frozen=True)
class Step:
    """Loads are in fair shares of a cell."""

    name: str
    cells: int
    orgs: int
    fullest: float
    emptiest: float
    moved: int = 0
    moved_load: float = 0.0

    @property
    def row(self) -> str:
        share = self.fullest / self.cells
        moved = f"{self.moved:,} orgs ({self.moved / self.orgs:.1%}), {self.moved_load:.1%} of the load"
        loads = f"{self.fullest:.2f} | {share:.1%} | {self.emptiest:.2f}"
        return f"| {self.name} | {self.cells} | {loads} | {moved if self.moved else 'none'} |"


HEAD = """\
| | cells | fullest cell, in fair shares | of the whole load | emptiest | moved |
| --- | --- | --- | --- | --- | --- |"""


def tenants(crowd: Crowd) -> dict[OrgId, float]:
    """The load of each tenant; the sum is the number of cells, so that 1 is a fair share."""
    weights = [1 / rank**crowd.skew for rank in range(1, crowd.orgs + 1)]
    unit = crowd.cells / math.fsum(weights)
    return {OrgId(f"tenant-{crowd.seed}-{rank}"): weight * unit for rank, weight in enumerate(weights, 1)}


def split(loads: dict[OrgId, float], largest: float) -> dict[OrgId, float]:
    """Split tenants above this load into several orgs."""
    parts = {org: max(1, math.ceil(load / largest)) for org, load in loads.items()}
    return {
        OrgId(f"{org}.{part}") if parts[org] > 1 else org: load / parts[org]
        for org, load in loads.items()
        for part in range(parts[org])
    }


def carried(moves: list[OrgMove], where: ShardMap) -> ShardMap:
    """The map after these moves, each begun and finished as an operator would."""
    for move in moves:
        begun = begin_move(move.org, move.target, where)
        assert isinstance(begun, ShardMap), begun
        done = finish_move(move.org, begun)
        assert isinstance(done, ShardMap), done
        where = done
    return where


def _step(name: str, loads: dict[OrgId, float], where: ShardMap, moves: list[OrgMove] | None = None) -> Step:
    per_cell = cell_loads(loads, where)
    fair = fmean(per_cell.values())
    moved = math.fsum(loads[move.org] for move in moves or ()) / math.fsum(loads.values())
    fullest, emptiest = max(per_cell.values()) / fair, min(per_cell.values()) / fair
    return Step(name, len(per_cell), len(loads), fullest, emptiest, len(moves or ()), moved)


def fleet(cells: int) -> tuple[Cell, ...]:
    return tuple(Cell(CellId(f"cell-{number:02d}")) for number in range(1, cells + 1))


def pinned(loads: dict[OrgId, float], where: ShardMap, count: int) -> ShardMap:
    """Pin the largest orgs where the rebalancing put them."""
    for org in sorted(loads, key=lambda each: (-loads[each], each))[:count]:
        changed = pin(org, where)
        assert isinstance(changed, ShardMap), changed
        where = changed
    return where


def simulate(crowd: Crowd) -> list[Step]:
    whole = tenants(crowd)
    where = ShardMap(1, fleet(crowd.cells))
    steps = [_step("by the hash alone", whole, where)]
    loads = split(whole, crowd.largest)
    steps.append(_step("large tenants as several orgs", loads, where))
    moves = rebalance(loads, where, crowd.tolerance)
    where = carried(moves, where)
    steps.append(_step("rebalanced by load", loads, where, moves))
    where = pinned(loads, where, crowd.pinned)
    grown = reshape(fleet(crowd.cells + 1), loads, where)
    assert isinstance(grown, Reshaped), grown
    steps.append(_step("a cell is added: nobody has moved yet", loads, grown.map))
    where = carried(list(grown.moves), grown.map)
    steps.append(_step("whom the hash sends there has moved", loads, where, list(grown.moves)))
    moves = rebalance(loads, where, crowd.tolerance)
    where = carried(moves, where)
    steps.append(_step("rebalanced again", loads, where, moves))
    return steps


def table(crowd: Crowd) -> str:
    return "\n".join([HEAD, *(step.row for step in simulate(crowd))])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.shards", description=__doc__)
    usual = Crowd()
    for name, value in vars(usual).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    print(table(replace(usual, **vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
