"""Replays FAILED messages on request: some by id, those with one error code, or all."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Message, Status
from waypost.ports.platform.hints import OUTBOX

BATCH = 500
AT_MOST = 10_000
"""Per call; a caller with more calls again."""


class ReplayRequest(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    actor: str
    """The user or key that requested it."""
    ids: Sequence[MessageId] | None = None
    error_code: str | None = None
    """Without `ids` and `error_code`: all failed messages."""


class ReplayedMessages(msgspec.Struct, frozen=True):
    count: int
    more: bool
    """Whether failed messages are left for the next call."""


async def replay(request: ReplayRequest, world: World) -> ReplayedMessages:
    """Each message starts a new generation, due now; one that fails again meanwhile is not replayed twice."""
    if request.ids is not None:
        return ReplayedMessages(await _reopen(await _named(request, request.ids, world), request, world), more=False)
    count, looked_at, before = 0, 0, None
    while looked_at < AT_MOST:
        dead = await world.ledger.messages.dead(request.org_id, request.error_code, before, BATCH)
        count += await _reopen(dead, request, world)
        if len(dead) < BATCH:
            return ReplayedMessages(count, more=False)
        looked_at += len(dead)
        before = dead[-1].id
    return ReplayedMessages(count, more=True)


async def _named(request: ReplayRequest, ids: Sequence[MessageId], world: World) -> list[Message]:
    found = await world.ledger.messages.some(request.org_id, ids)
    dead = [message for message in found if message.delivery.status is Status.FAILED]
    return [each for each in dead if request.error_code in (None, each.delivery.error_code)]


async def _reopen(dead: Sequence[Message], request: ReplayRequest, world: World) -> int:
    """Each replay is audited in its own transaction."""
    if not dead:
        return 0
    ids = [message.id for message in dead]
    reopened = await world.ledger.outbox.replay(request.org_id, ids, world.clock.now(), request.actor)
    world.hints.give([OUTBOX])
    return len(reopened)


async def dead_letters(
    org: OrgId, error_code: str | None, before: MessageId | None, limit: int, world: World
) -> Sequence[Message]:
    """The org's FAILED messages, newest first."""
    return await world.ledger.messages.dead(org, error_code, before, limit)
