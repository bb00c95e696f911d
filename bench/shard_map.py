"""Which cell serves an org: explicit placements first, weighted rendezvous hashing for every other org.

A cell is one Ledger with its processes. The map is one small value with a version: writers compare and set, readers
keep the greater version. A change of the cells moves no org by itself: an org whose hash points elsewhere afterwards
gets an entry that keeps it where it is, and a move to carry out.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import NewType, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.model.ids import NumberId, OrgId

CellId = NewType("CellId", str)


class Cell(msgspec.Struct, frozen=True):
    id: CellId
    weight: int = 100
    """Its share of the hashed orgs, relative to the other cells; 0 while it is being emptied."""


class Placement(msgspec.Struct, frozen=True):
    """The cell that serves an org regardless of its hash, since this version of the map."""

    cell: CellId
    since: int
    pinned: bool = False
    """It stays when cells come and go, and no rebalancing takes it."""
    moving_to: CellId | None = None
    """Its rows are being copied there; until that is done they are read-only."""


class ShardMap(msgspec.Struct, frozen=True):
    version: int
    cells: tuple[Cell, ...]
    placements: Mapping[OrgId, Placement] = {}

    def has(self, cell: CellId) -> bool:
        return any(each.id == cell for each in self.cells)


class ServedByCell(msgspec.Struct, frozen=True):
    cell: CellId


class MovingBetweenCells(msgspec.Struct, frozen=True):
    """Callers should retry shortly; the provider does so by itself."""

    source: CellId
    target: CellId


class ShardMapRefused(msgspec.Struct, frozen=True):
    reason: str


class OrgMove(msgspec.Struct, frozen=True):
    org: OrgId
    source: CellId
    target: CellId


class Reshaped(msgspec.Struct, frozen=True):
    """The map with the new cells, in which every org is served where it was, and the moves to carry out."""

    map: ShardMap
    moves: tuple[OrgMove, ...]


OrgRoute: TypeAlias = ServedByCell | MovingBetweenCells
ShardMapResult: TypeAlias = ShardMap | ShardMapRefused


def hashed(org: OrgId, cells: Iterable[Cell]) -> CellId:
    """The cell with the highest score: it changes only for orgs that a new cell wins or a removed cell had."""
    taking = [cell for cell in cells if cell.weight > 0]
    return max(taking, key=lambda cell: (_score(org, cell), cell.id)).id


def _score(org: OrgId, cell: Cell) -> float:
    """-weight / ln(u): a cell wins with the probability of its share of the weights; scores are independent."""
    drawn = hashlib.blake2b(f"{cell.id}\0{org}".encode(), digest_size=8).digest()
    unit = ((int.from_bytes(drawn, "big") >> 11) + 0.5) / 2**53  # never 0 nor 1
    return -cell.weight / math.log(unit)


def route(org: OrgId, where: ShardMap) -> OrgRoute:
    placed = where.placements.get(org)
    if placed is None:
        return ServedByCell(hashed(org, where.cells))
    if placed.moving_to is not None:
        return MovingBetweenCells(placed.cell, placed.moving_to)
    return ServedByCell(placed.cell)


def home(org: OrgId, where: ShardMap) -> CellId:
    """The cell whose rows of the org are authoritative."""
    placed = where.placements.get(org)
    return placed.cell if placed is not None else hashed(org, where.cells)


def newer(mine: ShardMap, received: ShardMap) -> ShardMap:
    """The map to use after receiving another: maps may arrive in any order."""
    return received if received.version > mine.version else mine


def place(org: OrgId, cell: CellId, where: ShardMap) -> ShardMapResult:
    """Choose the cell of an org that has no rows anywhere yet, and pin it there."""
    if not where.has(cell):
        return ShardMapRefused(f"there is no cell {cell}")
    if org in where.placements:
        return ShardMapRefused(f"{org} is placed already")
    return _with(where, org, Placement(cell, where.version + 1, pinned=True))


def pin(org: OrgId, where: ShardMap) -> ShardMapResult:
    """Keep an org in its cell, even if cells are added or removed."""
    now = route(org, where)
    if isinstance(now, MovingBetweenCells):
        return ShardMapRefused(f"{org} is being moved")
    return _with(where, org, Placement(now.cell, where.version + 1, pinned=True))


def begin_move(org: OrgId, target: CellId, where: ShardMap) -> ShardMapResult:
    """From this version on the org's rows are read-only. A pinned org stays pinned, in the other cell."""
    now = route(org, where)
    if isinstance(now, MovingBetweenCells):
        return ShardMapRefused(f"{org} is being moved already")
    if not where.has(target):
        return ShardMapRefused(f"there is no cell {target}")
    if now.cell == target:
        return ShardMapRefused(f"{org} is served by {target} already")
    return _with(where, org, Placement(now.cell, where.version + 1, _is_pinned(org, where), moving_to=target))


def finish_move(org: OrgId, where: ShardMap) -> ShardMapResult:
    """The target serves the org: its rows have been copied, compared and committed."""
    now = route(org, where)
    if not isinstance(now, MovingBetweenCells):
        return ShardMapRefused(f"{org} is not being moved")
    return _settled(where, org, Placement(now.target, where.version + 1, _is_pinned(org, where)))


def abandon_move(org: OrgId, where: ShardMap) -> ShardMapResult:
    """The source serves the org again; the copied rows are dropped."""
    now = route(org, where)
    if not isinstance(now, MovingBetweenCells):
        return ShardMapRefused(f"{org} is not being moved")
    return _settled(where, org, Placement(now.source, where.version + 1, _is_pinned(org, where)))


def reshape(cells: Iterable[Cell], orgs: Iterable[OrgId], where: ShardMap) -> Reshaped | ShardMapRefused:
    """Add or remove cells or change their weights. `orgs` lists every org; none moves yet, and `moves` lists the moves.

    To be moved: orgs whose hash now points to another cell, and orgs in a cell of weight 0 that are not pinned. An org
    that already had an entry keeps it, because a rebalancing put it there.
    """
    wanted = tuple(cells)
    refused = _unfit(wanted, where)
    if refused is not None:
        return refused
    weights = {cell.id: cell.weight for cell in wanted}
    placements, moves = dict(where.placements), list[OrgMove]()
    for org in sorted(set(orgs) | set(placements)):
        now, then = home(org, where), hashed(org, wanted)
        if now not in weights:
            return ShardMapRefused(f"{now} still serves {org}: give it the weight 0 and move its orgs first")
        placed = where.placements.get(org)
        if then == now:
            _forget_if_plain(placements, org)
        elif placed is None or (weights[now] == 0 and not placed.pinned and placed.moving_to is None):
            placements[org] = placed or Placement(now, where.version + 1)
            moves.append(OrgMove(org, now, then))
    return Reshaped(ShardMap(where.version + 1, wanted, placements), tuple(moves))


def _unfit(cells: tuple[Cell, ...], where: ShardMap) -> ShardMapRefused | None:
    names = {cell.id for cell in cells}
    if len(names) != len(cells) or not any(cell.weight > 0 for cell in cells):
        return ShardMapRefused("cell ids must be unique, and at least one cell needs a weight above 0")
    targets = {placed.moving_to for placed in where.placements.values() if placed.moving_to is not None}
    if not targets <= names:
        return ShardMapRefused(f"an org is being moved to {min(targets - names)}")
    return None


class Directory(msgspec.Struct, frozen=True):
    """The orgs of each number and business account: all that a webhook router knows of tenants beside the map."""

    numbers: Mapping[NumberId, OrgId]
    accounts: Mapping[str, frozenset[OrgId]] = {}
    """Per business account: the orgs that have one of its numbers."""


class WebhookRoute(msgspec.Struct, frozen=True):
    """Where a webhook POST goes: each cell gets the same signed bytes, applies its own items and ignores the rest."""

    cells: tuple[CellId, ...]
    come_back: bool = False
    """An org in it is being moved: answer 503, and the provider posts it again; dedup makes that harmless."""


def webhook(numbers: Iterable[NumberId], accounts: Iterable[str], known: Directory, where: ShardMap) -> WebhookRoute:
    """The cells of every org that a POST concerns; none when it concerns no known org."""
    orgs = {known.numbers[number] for number in numbers if number in known.numbers}
    orgs |= {org for account in accounts for org in known.accounts.get(account, ())}
    routes = [route(org, where) for org in orgs]
    if any(isinstance(each, MovingBetweenCells) for each in routes):
        return WebhookRoute((), come_back=True)
    return WebhookRoute(tuple(sorted({each.cell for each in routes if isinstance(each, ServedByCell)})))


def _is_pinned(org: OrgId, where: ShardMap) -> bool:
    placed = where.placements.get(org)
    return placed is not None and placed.pinned


def _with(where: ShardMap, org: OrgId, placement: Placement) -> ShardMap:
    return replace(where, version=where.version + 1, placements={**where.placements, org: placement})


def _settled(where: ShardMap, org: OrgId, placement: Placement) -> ShardMap:
    """Drop an entry that agrees with the hash: the map holds only exceptions."""
    changed = _with(where, org, placement)
    if placement.pinned or hashed(org, where.cells) != placement.cell:
        return changed
    return replace(changed, placements={name: each for name, each in changed.placements.items() if name != org})


def _forget_if_plain(placements: dict[OrgId, Placement], org: OrgId) -> None:
    placed = placements.get(org)
    if placed is not None and not placed.pinned and placed.moving_to is None:
        del placements[org]
