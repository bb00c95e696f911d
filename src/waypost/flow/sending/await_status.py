"""Waits until a message has reached a status, for at most the sync timeout."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from waypost.flow.world import World
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Delivery, Message, Status
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.platform.hints import about_message
from waypost.rules.sending.delivery import TERMINAL
from waypost.rules.sending.sync_wait import adaptive_limit

RECHECK: Span = seconds(1)
"""How often the message is read without a hint, since hints may be lost."""


class WaitGoal(StrEnum):
    SENT = "sent"
    DELIVERED = "delivered"


class WaitResult(msgspec.Struct, frozen=True):
    message: Message
    reached: bool


def reached(delivery: Delivery, goal: WaitGoal) -> bool:
    """True also in a terminal state: the status cannot change any more."""
    if delivery.status in TERMINAL:
        return True
    return goal is WaitGoal.SENT and delivery.status is Status.SENT


async def await_status(org: OrgId, message_id: MessageId, goal: WaitGoal, world: World) -> WaitResult:
    started = world.clock.monotonic()
    limit = _limit(world)
    with world.hints.listen(about_message(message_id)) as listener:
        while True:
            message = await world.ledger.messages.get(org, message_id)
            if message is None:
                raise LookupError(f"message {message_id} does not exist any more")
            waited = world.clock.monotonic() - started
            if reached(message.delivery, goal):
                world.meters.waited(waited)
                return WaitResult(message, reached=True)
            if world.closing.is_set():
                return WaitResult(message, reached=False)
            left = limit - waited
            if left <= 0:
                world.meters.wait_timed_out(waited, as_seconds(world.tuning.sync_timeout))
                return WaitResult(message, reached=False)
            await listener.wait(min(RECHECK, seconds(left)))


def _limit(world: World) -> float:
    configured = as_seconds(world.tuning.sync_timeout)
    return adaptive_limit(world.meters.recent_waits(), configured) if world.tuning.adaptive_wait else configured
