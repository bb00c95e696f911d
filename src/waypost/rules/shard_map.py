"""Which cell serves an org: explicit placements first, weighted rendezvous hashing for everybody else.

A cell is one Ledger with its processes. The map is one small value with a version: whoever changes it compares and
sets, whoever reads it takes the greater version. A change of the cells moves nobody by itself: orgs whose hash points
elsewhere afterwards get an entry that keeps them where they are, and a move to carry out.
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
    """How much of what is hashed it takes beside the others; 0 while it is emptied."""


class Placement(msgspec.Struct, frozen=True):
    """Where an org is served whatever its hash says, since this version of the map."""

    cell: CellId
    since: int
    pinned: bool = False
    """It stays when cells come and go, and no rebalancing takes it."""
    moving_to: CellId | None = None
    """Its rows are being carried there: until that is done nobody may write them."""


class ShardMap(msgspec.Struct, frozen=True):
    version: int
    cells: tuple[Cell, ...]
    placements: Mapping[OrgId, Placement] = {}

    def has(self, cell: CellId) -> bool:
        return any(each.id == cell for each in self.cells)


class Served(msgspec.Struct, frozen=True):
    cell: CellId


class Moving(msgspec.Struct, frozen=True):
    """Callers are told to come back in a moment; the provider does so by itself."""

    source: CellId
    target: CellId


class Refused(msgspec.Struct, frozen=True):
    reason: str


class Move(msgspec.Struct, frozen=True):
    org: OrgId
    source: CellId
    target: CellId


class Reshaped(msgspec.Struct, frozen=True):
    """The map with other cells, in which every org is served where it was; and who is to be moved in good time."""

    map: ShardMap
    moves: tuple[Move, ...]


Route: TypeAlias = Served | Moving
Change: TypeAlias = ShardMap | Refused


def hashed(org: OrgId, cells: Iterable[Cell]) -> CellId:
    """The cell with the highest score: it changes only for those whom a new cell wins or a cell that left had."""
    taking = [cell for cell in cells if cell.weight > 0]
    return max(taking, key=lambda cell: (_score(org, cell), cell.id)).id


def _score(org: OrgId, cell: Cell) -> float:
    """-weight / ln(u): the chance of the highest is the share of the weights, and each cell's stands for itself."""
    drawn = hashlib.blake2b(f"{cell.id}\0{org}".encode(), digest_size=8).digest()
    unit = ((int.from_bytes(drawn, "big") >> 11) + 0.5) / 2**53  # never 0 nor 1
    return -cell.weight / math.log(unit)


def route(org: OrgId, where: ShardMap) -> Route:
    placed = where.placements.get(org)
    if placed is None:
        return Served(hashed(org, where.cells))
    if placed.moving_to is not None:
        return Moving(placed.cell, placed.moving_to)
    return Served(placed.cell)


def home(org: OrgId, where: ShardMap) -> CellId:
    """Where its rows are that count."""
    placed = where.placements.get(org)
    return placed.cell if placed is not None else hashed(org, where.cells)


def newer(mine: ShardMap, told: ShardMap) -> ShardMap:
    """What to go by after hearing of another one: maps may arrive in any order."""
    return told if told.version > mine.version else mine


def place(org: OrgId, cell: CellId, where: ShardMap) -> Change:
    """Choose the cell of an org that has no rows anywhere yet, and pin it there."""
    if not where.has(cell):
        return Refused(f"there is no cell {cell}")
    if org in where.placements:
        return Refused(f"{org} is placed already")
    return _with(where, org, Placement(cell, where.version + 1, pinned=True))


def pin(org: OrgId, where: ShardMap) -> Change:
    """Keep an org where it is, whatever becomes of the cells."""
    now = route(org, where)
    if isinstance(now, Moving):
        return Refused(f"{org} is being moved")
    return _with(where, org, Placement(now.cell, where.version + 1, pinned=True))


def begin_move(org: OrgId, target: CellId, where: ShardMap) -> Change:
    """From this version on nobody writes the org's rows. Who was pinned stays so, in the other cell."""
    now = route(org, where)
    if isinstance(now, Moving):
        return Refused(f"{org} is being moved already")
    if not where.has(target):
        return Refused(f"there is no cell {target}")
    if now.cell == target:
        return Refused(f"{org} is served by {target} already")
    return _with(where, org, Placement(now.cell, where.version + 1, _is_pinned(org, where), moving_to=target))


def finish_move(org: OrgId, where: ShardMap) -> Change:
    """Its rows are there, compared and committed: the target serves it."""
    now = route(org, where)
    if not isinstance(now, Moving):
        return Refused(f"{org} is not being moved")
    return _settled(where, org, Placement(now.target, where.version + 1, _is_pinned(org, where)))


def abandon_move(org: OrgId, where: ShardMap) -> Change:
    """Its rows stay where they were; what was carried is dropped."""
    now = route(org, where)
    if not isinstance(now, Moving):
        return Refused(f"{org} is not being moved")
    return _settled(where, org, Placement(now.source, where.version + 1, _is_pinned(org, where)))


def reshape(cells: Iterable[Cell], orgs: Iterable[OrgId], where: ShardMap) -> Reshaped | Refused:
    """Cells come, go or change their weight. `orgs` is everybody: each stays, and the moves say who should not.

    Those are the orgs whom a changed hash sends elsewhere, and all that are not pinned in a cell of weight 0. Who was
    placed by an entry before keeps it: a rebalancing had its reasons.
    """
    wanted = tuple(cells)
    refused = _unfit(wanted, where)
    if refused is not None:
        return refused
    weights = {cell.id: cell.weight for cell in wanted}
    placements, moves = dict(where.placements), list[Move]()
    for org in sorted(set(orgs) | set(placements)):
        now, then = home(org, where), hashed(org, wanted)
        if now not in weights:
            return Refused(f"{now} still serves {org}: give it the weight 0 and move its orgs first")
        placed = where.placements.get(org)
        if then == now:
            _forget_if_plain(placements, org)
        elif placed is None or (weights[now] == 0 and not placed.pinned and placed.moving_to is None):
            placements[org] = placed or Placement(now, where.version + 1)
            moves.append(Move(org, now, then))
    return Reshaped(ShardMap(where.version + 1, wanted, placements), tuple(moves))


def _unfit(cells: tuple[Cell, ...], where: ShardMap) -> Refused | None:
    names = {cell.id for cell in cells}
    if len(names) != len(cells) or not any(cell.weight > 0 for cell in cells):
        return Refused("each cell needs a name of its own, and one of them must take orgs")
    targets = {placed.moving_to for placed in where.placements.values() if placed.moving_to is not None}
    if not targets <= names:
        return Refused(f"somebody is being moved to {min(targets - names)}")
    return None


class Directory(msgspec.Struct, frozen=True):
    """Whose a number or a business account is: the door's only knowledge of tenants beside the map."""

    numbers: Mapping[NumberId, OrgId]
    accounts: Mapping[str, frozenset[OrgId]] = {}
    """Of a business account: whoever has a number of it."""


class Delivery(msgspec.Struct, frozen=True):
    """Where a webhook POST goes: the same signed bytes to each cell, which takes its own and leaves the rest."""

    cells: tuple[CellId, ...]
    come_back: bool = False
    """Somebody in it is being moved: answer 503, and the provider posts all of it again; dedup makes that harmless."""


def webhook(numbers: Iterable[NumberId], accounts: Iterable[str], told: Directory, where: ShardMap) -> Delivery:
    """The cells of everybody whom a POST speaks of; none when it names nobody of ours."""
    orgs = {told.numbers[number] for number in numbers if number in told.numbers}
    orgs |= {org for account in accounts for org in told.accounts.get(account, ())}
    routes = [route(org, where) for org in orgs]
    if any(isinstance(each, Moving) for each in routes):
        return Delivery((), come_back=True)
    return Delivery(tuple(sorted({each.cell for each in routes if isinstance(each, Served)})))


def _is_pinned(org: OrgId, where: ShardMap) -> bool:
    placed = where.placements.get(org)
    return placed is not None and placed.pinned


def _with(where: ShardMap, org: OrgId, placement: Placement) -> ShardMap:
    return replace(where, version=where.version + 1, placements={**where.placements, org: placement})


def _settled(where: ShardMap, org: OrgId, placement: Placement) -> ShardMap:
    """The entry is dropped where the hash says the same: the map holds exceptions only."""
    changed = _with(where, org, placement)
    if placement.pinned or hashed(org, where.cells) != placement.cell:
        return changed
    return replace(changed, placements={name: each for name, each in changed.placements.items() if name != org})


def _forget_if_plain(placements: dict[OrgId, Placement], org: OrgId) -> None:
    placed = placements.get(org)
    if placed is not None and not placed.pinned and placed.moving_to is None:
        del placements[org]
