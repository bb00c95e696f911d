"""Who is away is told that a message waits: once, not again and again, and nobody who has seen it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from waypost.flow import bodies
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.conversation import Entry
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import Habits, Listener, Notice, Talk, Verdict
from waypost.model.time import Span, seconds
from waypost.ports.clock import Clock, Dice
from waypost.ports.failure import LedgerError
from waypost.ports.log import Log
from waypost.ports.push import Notices, Pusher
from waypost.ports.whereabouts import Presence, Whereabouts
from waypost.rules import chat_content, push
from waypost.rules.push import Push, Skip, Wait

TALKS_AT_ONCE = 8
DEVICES_AT_ONCE = 40
"""Of one conversation that are told in one look; in a large group the others follow in the next."""
REQUESTS_AT_ONCE = 32
"""To push services, per process."""
LOOK_EVERY: Span = seconds(5)
"""No hint is needed: nobody is told before the grace is over."""
LOOK_NO_OFTENER: Span = seconds(0.02)


@dataclass(frozen=True, kw_only=True)
class Notifying:
    """What this step stands on."""

    clock: Clock
    dice: Dice
    notices: Notices
    pusher: Pusher
    whereabouts: Whereabouts
    worker: WorkerId
    closing: asyncio.Event
    log: Log
    habits: Habits = field(default_factory=Habits)
    requests: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REQUESTS_AT_ONCE))


def of(world: World, pusher: Pusher) -> Notifying:
    return Notifying(
        clock=world.clock,
        dice=world.dice,
        notices=world.ledger.notices,
        pusher=pusher,
        whereabouts=world.whereabouts,
        worker=world.worker,
        closing=world.closing,
        log=world.log,
        habits=world.tuning.push,
    )


async def _words(entry: Entry, log: Log) -> str:
    """What a message says that only the Log has; nothing while it does not answer."""
    (found,) = await bodies.lasts([entry], log)
    return "" if found is None else chat_content.words(found)


async def hear_who_is_here(world: World) -> None:
    """What other processes say of it, where nobody is connected to this one."""
    with world.whereabouts.listen() as ear:
        while True:
            await ear.wait(seconds(60))
            ear.named()


async def notify(step: Notifying) -> int:
    """Everything that is due now, up to a batch; returns how many conversations were looked at.

    A crash after a notice and before its settle has it sent again, where it replaces the first on the device.
    """
    after = await step.notices.look("", step.habits, step.clock.now())
    while after:
        after = await step.notices.look(after, step.habits, step.clock.now())
    talks = await step.notices.to_notify(step.worker, TALKS_AT_ONCE, step.habits.lease, step.clock.now())
    await asyncio.gather(*(_tell_or_leave(talk, step) for talk in talks))
    return len(talks)


async def tell(talk: Talk, step: Notifying) -> bool:
    """One conversation from its claim to its settle; False when somebody else has it by now."""
    if talk.away is not None:
        talk = replace(talk, words=await _words(talk.away, step.log))
    waits, due = _decided(talk, await _connected(talk, step), step)
    verdicts = await _pushed(talk, due[:DEVICES_AT_ONCE], step)
    if len(due) > DEVICES_AT_ONCE:
        waits.append(Wait(step.clock.now(), "more to tell"))
    again = push.look_again(waits, (verdict for _, verdict in verdicts))
    return await step.notices.settle(talk, verdicts, again, step.clock.now())


async def _connected(talk: Talk, step: Notifying) -> set[UserId]:
    found = await step.whereabouts.of(sorted({listener.user_id for listener in talk.listeners}))
    return {user for user, presence in found.items() if presence is not Presence.OFFLINE}


def _decided(talk: Talk, connected: set[UserId], step: Notifying) -> tuple[list[Wait], list[tuple[Listener, Notice]]]:
    waits: list[Wait] = []
    due: list[tuple[Listener, Notice]] = []
    now = step.clock.now()
    for listener in talk.listeners:
        here = replace(listener, connected=listener.user_id in connected)
        match push.decide(talk, here, step.habits, now):
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
            await step.notices.settle(talk, (), step.clock.now(), step.clock.now())
        raise
    except Exception as bug:  # noqa: BLE001  # whatever it is, the other conversations go on
        context = {"message": f"nobody was told of conversation {talk.conversation_id}", "exception": bug}
        asyncio.get_running_loop().call_exception_handler(context)


class Notifier:
    """Looks whom there is to tell, again and again."""

    def __init__(self, step: Notifying) -> None:
        self._step = step

    async def run(self) -> None:
        while not self._step.closing.is_set():
            try:
                taken = await notify(self._step)
                if taken < TALKS_AT_ONCE:
                    await self._rest()
            except LedgerError:
                await self._step.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _rest(self) -> None:
        """Twice in a grace, so that nobody waits for much longer than that; not past what is due before."""
        step = self._step
        due_at = await step.notices.next_notice()
        longest = min(LOOK_EVERY, step.habits.grace // 2)
        until_due = longest if due_at is None else due_at - step.clock.now()
        await step.clock.sleep(Span(max(LOOK_NO_OFTENER, min(longest, until_due))))
