"""A number is tried: the provider is asked for its record with its token, and what else is known to work is told."""

from __future__ import annotations

import msgspec

from waypost.flow.world import World
from waypost.model.account import Number, Proof
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant
from waypost.rules import number_trial
from waypost.rules.number_trial import Trial, Verdict

LOOKED_AT = 500
"""Messages of each kind that are looked at for the latest webhook."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    number: Number
    at: Instant
    verdict: Verdict
    proof: Proof
    heard_at: Instant | None
    """When the latest webhook came, as far as the newest messages tell."""


async def try_number(org: OrgId, number: NumberId, world: World) -> Tried | None:
    """None when the org has no such number. A good answer is kept as the number's proof."""
    accounts = world.ledger.accounts
    mine = next((each for each in await accounts.numbers(org) if each.id == number), None)
    if mine is None:
        return None
    told = await _asked(mine, world)
    now = world.clock.now()
    if told.state is Trial.WORKS:
        await accounts.answered(mine, now)
    return Tried(
        number=mine,
        at=now,
        verdict=told,
        proof=(await accounts.proofs(org)).get(number, Proof()),
        heard_at=await accounts.heard_at(org, number, LOOKED_AT),
    )


async def _asked(mine: Number, world: World) -> Verdict:
    connected = await world.numbers.find(mine.id)
    if connected is None or connected.number != mine:  # it was connected or changed a moment ago
        await world.numbers.look_again()
        connected = await world.numbers.find(mine.id)
    if connected is None:
        return number_trial.sealed()
    return number_trial.verdict(await world.extras.look_up(connected.sender), mine, connected.graph_url)
