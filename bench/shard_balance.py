"""Which orgs to move so that no cell carries much more than its weight: few moves, and pinned orgs stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.shard_map import CellId, MovingBetweenCells, OrgMove, ShardMap, home, route
from waypost.model.ids import OrgId

Load = Mapping[OrgId, float]
"""Of each org, in whatever unit it is measured: messages per second, rows, PostgreSQL's seconds."""


def cell_loads(loads: Load, where: ShardMap) -> dict[CellId, float]:
    """The load of each cell under this map."""
    carried = dict.fromkeys((cell.id for cell in where.cells), 0.0)
    for org, load in loads.items():
        carried[home(org, where)] += load
    return carried


def rebalance(loads: Load, where: ShardMap, tolerance: float = 0.1, most: int = 1_000) -> list[OrgMove]:
    """Moves, in order, until every cell is within the tolerance of its fair share, or no move improves the balance.

    Each takes from the fullest cell the largest org that fits into the emptiest: few moves, and the fullest cell never
    becomes fuller.
    """
    shares = {cell.id: float(cell.weight) for cell in where.cells if cell.weight > 0}
    fair = sum(loads.values()) / sum(shares.values())
    carried = {cell: load for cell, load in cell_loads(loads, where).items() if cell in shares}
    homes = _homes(loads, where, shares)
    moves: list[OrgMove] = []
    while len(moves) < most:
        move = _next(carried, shares, homes, loads, fair * (1 + tolerance))
        if move is None:
            return moves
        moves.append(move)
        carried[move.source] -= loads[move.org]
        carried[move.target] += loads[move.org]
        homes[move.source].remove(move.org)
        homes[move.target].append(move.org)
    return moves


def _homes(loads: Load, where: ShardMap, cells: Iterable[CellId]) -> dict[CellId, list[OrgId]]:
    """The orgs of each cell that may be moved."""
    homes: dict[CellId, list[OrgId]] = {cell: [] for cell in cells}
    for org in loads:
        placed = where.placements.get(org)
        now = route(org, where)
        if not isinstance(now, MovingBetweenCells) and not (placed and placed.pinned) and now.cell in homes:
            homes[now.cell].append(org)
    return homes


def _next(
    carried: Mapping[CellId, float],
    shares: Mapping[CellId, float],
    homes: Mapping[CellId, list[OrgId]],
    loads: Load,
    limit: float,
) -> OrgMove | None:
    """None when the fullest cell is within the tolerance, or none of its orgs fits elsewhere."""
    by_fullness = sorted(carried, key=lambda cell: (carried[cell] / shares[cell], cell))
    target, source = by_fullness[0], by_fullness[-1]
    if carried[source] / shares[source] <= limit:
        return None
    room = carried[source] / shares[source] * shares[target] - carried[target]
    fitting = [org for org in homes[source] if 0 < loads[org] < room]
    if not fitting:
        return None
    return OrgMove(_best(fitting, loads, carried[source] - limit * shares[source]), source, target)


def _best(fitting: list[OrgId], loads: Load, surplus: float) -> OrgId:
    """The smallest org that removes the whole surplus, else the largest."""
    enough = [org for org in fitting if loads[org] >= surplus]
    return min(enough, key=lambda org: (loads[org], org)) if enough else max(fitting, key=lambda org: (loads[org], org))
