"""A caller who asked to wait: register, re-check, wait; never longer than the sync timeout."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from waypost.flow.world import World
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Delivery, Message, Status
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.hints import about_message
from waypost.rules.delivery import TERMINAL
from waypost.rules.waiting import adaptive_limit

RECHECK: Span = seconds(1)
"""A hint may be lost, or the status may have come to another process: look at least this often."""


class Goal(StrEnum):
    SENT = "sent"
    DELIVERED = "delivered"


class Waited(msgspec.Struct, frozen=True):
    message: Message
    reached: bool


def reached(delivery: Delivery, goal: Goal) -> bool:
    """A message that can climb no further has been waited for long enough, too."""
    if delivery.status in TERMINAL:
        return True
    return goal is Goal.SENT and delivery.status is Status.SENT


async def await_status(org: OrgId, message_id: MessageId, goal: Goal, world: World) -> Waited:
    started = world.clock.monotonic()
    limit = _limit(world)
    with world.hints.listen(about_message(message_id)) as ear:
        while True:
            message = await world.ledger.messages.get(org, message_id)
            if message is None:
                raise LookupError(f"message {message_id} is gone")
            waited = world.clock.monotonic() - started
            if reached(message.delivery, goal):
                world.meters.waited(waited)
                return Waited(message, reached=True)
            if world.closing.is_set():
                return Waited(message, reached=False)
            left = limit - waited
            if left <= 0:
                world.meters.wait_timed_out(waited, as_seconds(world.tuning.sync_timeout))
                return Waited(message, reached=False)
            await ear.wait(min(RECHECK, seconds(left)))


def _limit(world: World) -> float:
    configured = as_seconds(world.tuning.sync_timeout)
    return adaptive_limit(world.meters.recent_waits(), configured) if world.tuning.adaptive_wait else configured
