"""Stored messages: reads them, and retries or cancels one on request."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Message
from waypost.ports.platform.hints import OUTBOX
from waypost.ports.sending.messages import FoundMessages, MessageRecord, PageQuery, Query
from waypost.ports.sending.outbox import MessageChanged, MessageChangeResult


async def message(org: OrgId, message_id: MessageId, world: World) -> Message | None:
    """The message, or None when the org has no such message."""
    return await world.ledger.messages.get(org, message_id)


async def record(org: OrgId, message_id: MessageId, world: World) -> MessageRecord | None:
    """The message with its attempts, status updates and events."""
    return await world.ledger.messages.life(org, message_id)


async def find(org: OrgId, query: Query, limit: int, world: World) -> Sequence[Message]:
    """The org's messages that match the query, newest first."""
    return await world.ledger.messages.find(org, query, limit)


async def page(org: OrgId, query: PageQuery, world: World) -> FoundMessages:
    """One page of the org's messages, and how many there are."""
    return await world.ledger.messages.page(org, query)


async def retry(org: OrgId, message_id: MessageId, world: World, actor: str = SYSTEM) -> MessageChangeResult:
    """Queue a FAILED, CANCELLED or parked message again, due now."""
    return _wake(await world.ledger.outbox.retry(org, message_id, world.clock.now(), actor), world)


async def cancel(org: OrgId, message_id: MessageId, world: World, actor: str = SYSTEM) -> MessageChangeResult:
    """Cancel a message that is still QUEUED."""
    return _wake(await world.ledger.outbox.cancel(org, message_id, world.clock.now(), actor), world)


def _wake(result: MessageChangeResult, world: World) -> MessageChangeResult:
    if isinstance(result, MessageChanged):
        world.hints.give([OUTBOX])
    return result
