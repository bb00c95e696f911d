"""Checks a number by requesting its record from the provider with its token."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant
from waypost.rules.receiving import number_check
from waypost.rules.receiving.number_check import NumberCheckResult, NumberCheckState


class NumberCheck(msgspec.Struct, frozen=True, kw_only=True):
    number: Number
    at: Instant
    verdict: NumberCheckResult


async def try_number(org: OrgId, number: NumberId, world: World) -> NumberCheck | None:
    """None if the org has no such number. The time of a successful check is stored."""
    accounts = world.ledger.accounts
    mine = next((each for each in await accounts.numbers(org) if each.id == number), None)
    if mine is None:
        return None
    result = await _check(mine, world)
    now = world.clock.now()
    if result.state is NumberCheckState.WORKS:
        await accounts.answered(mine, now)
    return NumberCheck(number=mine, at=now, verdict=result)


async def _check(mine: Number, world: World) -> NumberCheckResult:
    connected = await world.numbers.find(mine.id)
    if connected is None or connected.number != mine:  # it was just connected or changed
        await world.numbers.look_again()
        connected = await world.numbers.find(mine.id)
    if connected is None:
        return number_check.sealed()
    return number_check.verdict(await world.extras.look_up(connected.sender), mine, connected.graph_url)


async def last_checks(org: OrgId, world: World) -> Mapping[NumberId, Instant]:
    """When the provider last confirmed each of the org's numbers; numbers it never confirmed are left out."""
    return await world.ledger.accounts.tried(org)
