"""While a number cannot send for long, what may go from its second number goes from there."""

from __future__ import annotations

import msgspec

from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Span, seconds
from waypost.ports.failover import START, Place, Route
from waypost.ports.hints import OUTBOX, about_message

EVERY: Span = seconds(1)
PAGE = 200
PAGES = 10
"""Looked at per outlet and round: a long queue of what may not move costs no more than this a second."""


class FailOver:
    """One process's rounds; where several meet, each message is moved once."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}

    async def round(self, world: World) -> int:
        """Returns how many messages were moved."""
        if not any(connected.number.failover for connected in world.numbers.at_hand()):
            return 0
        routes = await world.ledger.failover.routes(world.clock.now())
        self._places = {route.outlet: self._places.get(route.outlet, START) for route in routes}
        return sum([await self._along(route, world) for route in routes])

    async def _along(self, route: Route, world: World) -> int:
        count = 0
        for _ in range(PAGES):
            place, now = self._places[route.outlet], world.clock.now()
            moved = await world.ledger.failover.move(
                route, place, PAGE, now, enforce_window=world.tuning.enforce_window
            )
            count += len(moved.messages)
            self._places[route.outlet] = moved.after or START
            world.hints.give([*map(about_message, moved.messages), OUTBOX] if moved.messages else [])
            if moved.after is None:
                break
        return count


class NoFailover(msgspec.Struct, frozen=True):
    """Why a number cannot take over for another."""

    reason: str


async def check(org: OrgId, number: NumberId, other: NumberId, world: World) -> NoFailover | None:
    """Within the org, and one hop: who takes over for one number hands on to no third."""
    numbers: dict[NumberId, Number] = {each.id: each for each in await world.ledger.accounts.numbers(org)}
    if other == number:
        return NoFailover("must be another number")
    if other not in numbers:
        return NoFailover("is not a number that this org has connected")
    if numbers[other].failover not in (None, number):
        return NoFailover(f"has a failover itself ({numbers[other].failover}): one hop is allowed")
    before = [each.id for each in numbers.values() if each.failover == number and each.id != other]
    return NoFailover(f"{number} is the failover of {before[0]}: one hop is allowed") if before else None
