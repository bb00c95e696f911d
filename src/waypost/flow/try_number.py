"""A number is tried: the provider is asked for its record with its token."""

from __future__ import annotations

import msgspec

from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant
from waypost.rules import number_trial
from waypost.rules.number_trial import Trial, Verdict


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    number: Number
    at: Instant
    verdict: Verdict


async def try_number(org: OrgId, number: NumberId, world: World) -> Tried | None:
    """None when the org has no such number. When it was good is kept."""
    accounts = world.ledger.accounts
    mine = next((each for each in await accounts.numbers(org) if each.id == number), None)
    if mine is None:
        return None
    told = await _asked(mine, world)
    now = world.clock.now()
    if told.state is Trial.WORKS:
        await accounts.answered(mine, now)
    return Tried(number=mine, at=now, verdict=told)


async def _asked(mine: Number, world: World) -> Verdict:
    connected = await world.numbers.find(mine.id)
    if connected is None or connected.number != mine:  # it was connected or changed a moment ago
        await world.numbers.look_again()
        connected = await world.numbers.find(mine.id)
    if connected is None:
        return number_trial.sealed()
    return number_trial.verdict(await world.extras.look_up(connected.sender), mine, connected.graph_url)
