"""Messages that ended FAILED, opened again by a person: one, those with one error, or all."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Message, Status
from waypost.ports.hints import OUTBOX

BATCH = 500
AT_MOST = 10_000
"""Of one call: whoever has more calls again."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    actor: str
    """Who asked for it."""
    ids: Sequence[MessageId] | None = None
    error_code: str | None = None
    """Neither of them: all."""


class Replayed(msgspec.Struct, frozen=True):
    count: int
    more: bool
    """There are others that this call left for the next."""


async def replay(wish: Replay, world: World) -> Replayed:
    """Each in a new generation, due now; one that fails again meanwhile is not taken twice."""
    if wish.ids is not None:
        return Replayed(await _reopen(await _named(wish, wish.ids, world), wish, world), more=False)
    count, looked_at, before = 0, 0, None
    while looked_at < AT_MOST:
        dead = await world.ledger.messages.dead(wish.org_id, wish.error_code, before, BATCH)
        count += await _reopen(dead, wish, world)
        if len(dead) < BATCH:
            return Replayed(count, more=False)
        looked_at += len(dead)
        before = dead[-1].id
    return Replayed(count, more=True)


async def _named(wish: Replay, ids: Sequence[MessageId], world: World) -> list[Message]:
    found = await world.ledger.messages.some(wish.org_id, ids)
    dead = [message for message in found if message.delivery.status is Status.FAILED]
    return [each for each in dead if wish.error_code in (None, each.delivery.error_code)]


async def _reopen(dead: Sequence[Message], wish: Replay, world: World) -> int:
    if not dead:
        return 0
    reopened = await world.ledger.outbox.replay(wish.org_id, [message.id for message in dead], world.clock.now())
    world.hints.give([OUTBOX])
    await note_replay(wish, reopened, world)
    return len(reopened)


async def note_replay(wish: Replay, reopened: Sequence[MessageId], world: World) -> None:
    """The place for an audit entry of each batch; the event of each message was written with its change."""
    del wish, reopened, world
