"""Who is away is told that a message waits: once, not again and again, and nobody who has seen it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from waypost.flow.world import PAUSE_AFTER_TROUBLE
from waypost.model.ids import WorkerId
from waypost.model.push import Listener, Notice, Talk, Verdict
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.ports.clock import Clock, Dice
from waypost.ports.failure import LedgerError
from waypost.ports.hints import Ear, Hints
from waypost.ports.push import NOTICES, Devices, Pusher
from waypost.rules import push
from waypost.rules.push import Habits, Push, Skip, Wait

TALKS_AT_ONCE = 20
DEVICES_AT_ONCE = 40
"""Of one conversation that are told in one look; in a large group the others follow in the next."""
REQUESTS_AT_ONCE = 32
"""To push services, per process."""
LEASE: Span = minutes(5)
"""Longer than all devices of a look take, 32 at once and 10 s each, when no push service answers."""
LOOK_EVERY: Span = seconds(5)
"""When no hint comes."""


@dataclass(frozen=True, kw_only=True)
class Notifying:
    """What this step stands on."""

    clock: Clock
    dice: Dice
    hints: Hints
    devices: Devices
    pusher: Pusher
    worker: WorkerId
    closing: asyncio.Event
    habits: Habits = field(default_factory=Habits)
    requests: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REQUESTS_AT_ONCE))


async def notify(step: Notifying) -> int:
    """Everything that is due now, up to a batch; returns how many conversations were looked at.

    A crash after a notice and before its settle has it sent again, where it replaces the first on the device.
    """
    talks = await step.devices.to_notify(step.worker, TALKS_AT_ONCE, LEASE, step.clock.now())
    await asyncio.gather(*(_tell_or_leave(talk, step) for talk in talks))
    return len(talks)


async def tell(talk: Talk, step: Notifying) -> bool:
    """One conversation from its claim to its settle; False when somebody else has it by now."""
    waits, due = _decided(talk, step)
    verdicts = await _pushed(talk, due[:DEVICES_AT_ONCE], step)
    if len(due) > DEVICES_AT_ONCE:
        waits.append(Wait(step.clock.now(), "more to tell"))
    return await step.devices.settle(talk, verdicts, push.look_again(waits, (verdict for _, verdict in verdicts)))


def _decided(talk: Talk, step: Notifying) -> tuple[list[Wait], list[tuple[Listener, Notice]]]:
    waits: list[Wait] = []
    due: list[tuple[Listener, Notice]] = []
    now = step.clock.now()
    for listener in talk.listeners:
        match push.decide(talk, listener, step.habits, now):
            case Push(notice):
                due.append((listener, notice))
            case Wait() as wait:
                waits.append(wait)
            case Skip():
                pass
    return waits, due


async def _pushed(
    talk: Talk, due: Sequence[tuple[Listener, Notice]], step: Notifying
) -> Sequence[tuple[Listener, Verdict]]:
    verdicts = await asyncio.gather(*(_push(talk, listener, notice, step) for listener, notice in due))
    return [(listener, verdict) for (listener, _), verdict in zip(due, verdicts, strict=True)]


async def _push(talk: Talk, listener: Listener, notice: Notice, step: Notifying) -> Verdict:
    async with step.requests:
        result = await step.pusher.deliver(listener.subscription, notice, keep=step.habits.keep)
    return push.after(result, talk, listener, step.habits, step.clock.now(), step.dice.unit())


async def _tell_or_leave(talk: Talk, step: Notifying) -> None:
    """What goes wrong with one conversation leaves the others alone."""
    try:
        await tell(talk, step)
    except LedgerError:
        pass  # due again when its lease is over
    except asyncio.CancelledError:
        with contextlib.suppress(LedgerError):  # whoever comes after us need not wait for our lease
            await step.devices.settle(talk, (), step.clock.now())
        raise
    except Exception as bug:  # noqa: BLE001  # whatever it is, the other conversations go on
        context = {"message": f"nobody was told of conversation {talk.conversation_id}", "exception": bug}
        asyncio.get_running_loop().call_exception_handler(context)


class Notifier:
    """Tells whom there is to tell; woken by hints, with polling as the net."""

    def __init__(self, step: Notifying) -> None:
        self._step = step

    async def run(self) -> None:
        with self._step.hints.listen(NOTICES) as ear:
            while not self._step.closing.is_set():
                try:
                    await self._turn(ear)
                except LedgerError:
                    await self._step.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _turn(self, ear: Ear) -> None:
        due_at, now = await self._step.devices.next_notice(), self._step.clock.now()
        if due_at is None or due_at > now:
            await ear.wait(_until(due_at, now))
        else:
            await notify(self._step)


def _until(due_at: Instant | None, now: Instant) -> Span:
    return LOOK_EVERY if due_at is None else Span(min(LOOK_EVERY, due_at - now))
