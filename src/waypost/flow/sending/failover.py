"""Moves messages of a number that cannot send for a while to its failover number."""

from __future__ import annotations

import msgspec

from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Span, seconds
from waypost.ports.platform.hints import OUTBOX, about_message
from waypost.ports.sending.failover import START, FailoverRoute, QueuePosition

EVERY: Span = seconds(1)
PAGE = 200
PAGES = 10
"""Per dispatch group and round: limits the cost of a long queue that may not move."""


class FailOver:
    """The rounds of one process; if several processes run them, each message still moves once."""

    def __init__(self) -> None:
        self._positions: dict[int, QueuePosition] = {}

    async def round(self, world: World) -> int:
        """Returns how many messages it moved."""
        if not any(connected.number.failover for connected in world.numbers.cached()):
            return 0
        routes = await world.ledger.failover.routes(world.clock.now())
        self._positions = {route.group: self._positions.get(route.group, START) for route in routes}
        return sum([await self._move(route, world) for route in routes])

    async def _move(self, route: FailoverRoute, world: World) -> int:
        count = 0
        for _ in range(PAGES):
            position, now = self._positions[route.group], world.clock.now()
            moved = await world.ledger.failover.move(
                route, position, PAGE, now, enforce_window=world.tuning.enforce_window
            )
            count += len(moved.messages)
            self._positions[route.group] = moved.after or START
            world.hints.give([*map(about_message, moved.messages), OUTBOX] if moved.messages else [])
            if moved.after is None:
                break
        return count


class NoFailover(msgspec.Struct, frozen=True):
    """Why a number cannot be another's failover."""

    reason: str


async def check(org: OrgId, number: NumberId, other: NumberId, world: World) -> NoFailover | None:
    """Both numbers belong to the org, and failover is one hop: a failover number has none itself."""
    numbers: dict[NumberId, Number] = {each.id: each for each in await world.ledger.accounts.numbers(org)}
    if other == number:
        return NoFailover("must be another number")
    if other not in numbers:
        return NoFailover("is not a number that this org has connected")
    if numbers[other].failover not in (None, number):
        return NoFailover(f"has a failover itself ({numbers[other].failover}): one hop is allowed")
    before = [each.id for each in numbers.values() if each.failover == number and each.id != other]
    return NoFailover(f"{number} is the failover of {before[0]}: one hop is allowed") if before else None
