"""Push notifications for users who are offline: one per conversation, none for messages already read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from waypost.flow.conversations import archived_bodies
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.conversation import Entry
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import Notification, NotificationSettings, NotificationTask, NotifyVerdict, SubscribedDevice
from waypost.model.time import Span, seconds
from waypost.ports.history.history import History
from waypost.ports.live.presence import Presence, PresenceState
from waypost.ports.live.push import Notifications, Pusher
from waypost.ports.platform.clock import Clock, RandomSource
from waypost.ports.platform.failure import LedgerError
from waypost.rules.conversations import chat_content
from waypost.rules.live import push
from waypost.rules.live.push import PushNow, PushSkip, PushWait

CONVERSATIONS_AT_ONCE = 8
DEVICES_AT_ONCE = 40
"""Devices per conversation and run; in a large group the others follow in the next run."""
REQUESTS_AT_ONCE = 32
"""Concurrent requests to push services, per process."""
LOOK_EVERY: Span = seconds(5)
"""No hint is needed, since notifications wait for the grace anyway."""
LOOK_NO_OFTENER: Span = seconds(0.02)


@dataclass(frozen=True, kw_only=True)
class NotifyContext:
    """What this step uses of the world."""

    clock: Clock
    random: RandomSource
    notifications: Notifications
    pusher: Pusher
    presence: Presence
    worker: WorkerId
    closing: asyncio.Event
    history: History
    settings: NotificationSettings = field(default_factory=NotificationSettings)
    requests: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REQUESTS_AT_ONCE))


def of(world: World, pusher: Pusher) -> NotifyContext:
    return NotifyContext(
        clock=world.clock,
        random=world.random,
        notifications=world.ledger.notifications,
        pusher=pusher,
        presence=world.presence,
        worker=world.worker,
        closing=world.closing,
        history=world.history,
        settings=world.tuning.push,
    )


async def _text(entry: Entry, history: History) -> str:
    """The text of an archived message; empty if the history store does not answer."""
    (found,) = await archived_bodies.load_last_bodies([entry], history)
    return "" if found is None else chat_content.words(found)


async def listen_to_presence(world: World) -> None:
    """Keeps presence up to date in a process that has no connections of its own."""
    with world.presence.listen() as listener:
        while True:
            await listener.wait(seconds(60))
            listener.named()


async def notify(step: NotifyContext) -> int:
    """Sends the due notifications, up to a batch; returns how many conversations it claimed.

    After a crash between send and settle, the notification is sent again and replaces the first one on the device.
    """
    after = await step.notifications.look("", step.settings, step.clock.now())
    while after:
        after = await step.notifications.look(after, step.settings, step.clock.now())
    lease, now = step.settings.lease, step.clock.now()
    tasks = await step.notifications.to_notify(step.worker, CONVERSATIONS_AT_ONCE, lease, now)
    await asyncio.gather(*(_notify_safely(task, step) for task in tasks))
    return len(tasks)


async def notify_conversation(task: NotificationTask, step: NotifyContext) -> bool:
    """Notifies for one claimed conversation and settles it; False if the lease was lost."""
    if task.away is not None:
        task = replace(task, words=await _text(task.away, step.history))
    waits, due = _decided(task, await _connected(task, step), step)
    verdicts = await _pushed(task, due[:DEVICES_AT_ONCE], step)
    if len(due) > DEVICES_AT_ONCE:
        waits.append(PushWait(step.clock.now(), "more devices to notify"))
    again = push.next_due_at(waits, (verdict for _, verdict in verdicts))
    return await step.notifications.settle(task, verdicts, again, step.clock.now())


async def _connected(task: NotificationTask, step: NotifyContext) -> set[UserId]:
    found = await step.presence.of(sorted({device.user_id for device in task.listeners}))
    return {user for user, presence in found.items() if presence is not PresenceState.OFFLINE}


def _decided(
    task: NotificationTask, connected: set[UserId], step: NotifyContext
) -> tuple[list[PushWait], list[tuple[SubscribedDevice, Notification]]]:
    waits: list[PushWait] = []
    due: list[tuple[SubscribedDevice, Notification]] = []
    now = step.clock.now()
    for device in task.listeners:
        here = replace(device, connected=device.user_id in connected)
        match push.decide(task, here, step.settings, now):
            case PushNow(notification):
                due.append((device, notification))
            case PushWait() as wait:
                waits.append(wait)
            case PushSkip():
                pass
    return waits, due


async def _pushed(
    task: NotificationTask, due: Sequence[tuple[SubscribedDevice, Notification]], step: NotifyContext
) -> Sequence[tuple[SubscribedDevice, NotifyVerdict]]:
    verdicts = await asyncio.gather(*(_push(task, device, notification, step) for device, notification in due))
    return [(device, verdict) for (device, _), verdict in zip(due, verdicts, strict=True)]


async def _push(
    task: NotificationTask, device: SubscribedDevice, notification: Notification, step: NotifyContext
) -> NotifyVerdict:
    async with step.requests:
        result = await step.pusher.deliver(device.subscription, notification, keep=step.settings.keep)
    return push.verdict_after(result, task, device, step.settings, step.clock.now(), step.random.unit())


async def _notify_safely(task: NotificationTask, step: NotifyContext) -> None:
    """An error in one conversation does not affect the others."""
    try:
        await notify_conversation(task, step)
    except LedgerError:
        pass  # due again when its lease expires
    except asyncio.CancelledError:
        with contextlib.suppress(LedgerError):  # the next server need not wait for our lease
            await step.notifications.settle(task, (), step.clock.now(), step.clock.now())
        raise
    except Exception as bug:  # noqa: BLE001  # the other conversations go on
        context = {"message": f"notifications for conversation {task.conversation_id} failed", "exception": bug}
        asyncio.get_running_loop().call_exception_handler(context)


class Notifier:
    """Runs `notify` in a loop."""

    def __init__(self, step: NotifyContext) -> None:
        self._step = step

    async def run(self) -> None:
        while not self._step.closing.is_set():
            try:
                taken = await notify(self._step)
                if taken < CONVERSATIONS_AT_ONCE:
                    await self._rest()
            except LedgerError:
                await self._step.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _rest(self) -> None:
        """Sleeps until the next notification is due, for at most half the grace."""
        step = self._step
        due_at = await step.notifications.next_notification()
        longest = min(LOOK_EVERY, step.settings.grace // 2)
        until_due = longest if due_at is None else due_at - step.clock.now()
        await step.clock.sleep(Span(max(LOOK_NO_OFTENER, min(longest, until_due))))
