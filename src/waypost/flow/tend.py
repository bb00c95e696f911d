"""What nobody asks for and somebody must do: stale tries, what expired, closed windows, the door's count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.ids import MessageId
from waypost.model.reading import Reader
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.ports.chats import FIRST_DEVICE
from waypost.ports.failure import LedgerError
from waypost.ports.hints import OUTBOX, about_message
from waypost.ports.journal import Orphans
from waypost.ports.outbox import Patience, Swept

SWEEP_AT_MOST = 500
KEEP_UNMATCHED: Span = days(8)
TIDY_EVERY: Span = minutes(1)
ARRIVALS_KEPT: Span = days(40)
TURNS_KEPT: Span = days(90)
WINDOWS_KEPT: Span = hours(2)
"""After they closed: a clock that is ahead must not take an open one away, and the loss detector looks back at them."""
EXPIRE_EVERY: Span = seconds(5)
FORGET_EVERY: Span = hours(1)
FORGET_AT_ONCE = 1_000
FORGET_DEVICES_EVERY: Span = hours(6)
"""All of them are looked at."""
SHOW_LIFE_EVERY: Span = seconds(10)
SURVEY_EVERY: Span = seconds(10)
SHOWN_AT_MOST = 20
"""Orgs that get a line of their own."""


async def hold_door(world: World) -> None:
    """Count how long webhooks can reach us, from this process's start on."""
    while not await _opened(world):
        await world.clock.sleep(PAUSE_AFTER_TROUBLE)
    await world.clock.sleep(world.tuning.door_tick)
    await every(world.tuning.door_tick, keep_door, world)


async def _opened(world: World) -> bool:
    """The silence before the first word never counts, however short: a server that dies every few seconds is shut."""
    try:
        await world.ledger.door.tick(Span(0))
    except LedgerError:
        return False
    return True


async def keep_door(world: World) -> int:
    """Say that webhooks can reach us now; the time between two such words counts as open."""
    return await world.ledger.door.tick(world.tuning.door_gap)


async def show_life(world: World) -> None:
    """Say that there is somebody who sends, for whoever asks why a message waits."""
    await world.ledger.operating.worker_lives(world.clock.now())


async def settle_unsure(world: World) -> Swept:
    """Tries that nobody settled for the whole stale limit."""
    tuning = world.tuning
    chosen = {org: policy.unsure for org, policy in (await world.policies.all()).items()}
    patience = Patience(limit=tuning.stale, slack=tuning.door_gap, policy=tuning.unsure, of_orgs=chosen)
    swept = await world.ledger.outbox.sweep(patience, SWEEP_AT_MOST, world.clock.now())
    topics = [about_message(message) for message in [*swept.requeued, *swept.parked]]
    world.hints.give([*topics, OUTBOX] if topics else [])
    return swept


async def tidy(world: World) -> Orphans:
    now = world.clock.now()
    waiting_since = Instant(now - world.tuning.sync_timeout)
    return await world.ledger.journal.tidy(waiting_since, Instant(now - KEEP_UNMATCHED))


async def expire(world: World) -> Sequence[MessageId]:
    """What waits behind a gate for longer than it may is never sent."""
    expired = await world.ledger.outbox.expire(SWEEP_AT_MOST, world.clock.now())
    world.hints.give([*(about_message(message) for message in expired), OUTBOX] if expired else [])
    return expired


async def forget_windows(world: World) -> int:
    """Windows that are closed, and throttles that are long over."""
    gone = await _in_bites(world, world.ledger.windows.expire, WINDOWS_KEPT)
    return gone + await world.ledger.gates.tidy(Instant(world.clock.now() - days(1)))


async def forget_arrivals(world: World) -> int:
    """What only finds doubles: Meta repeats a webhook for a week, and edits or quotes a month back."""
    return await _in_bites(world, world.ledger.conversations.forget_arrivals, ARRIVALS_KEPT)


async def forget_journal(world: World) -> int:
    """What webhooks brought long ago."""
    return await _in_bites(world, world.ledger.journal.forget, world.tuning.journal_kept)


async def forget_turns(world: World) -> int:
    """How bursts were answered; what was given up stays."""
    return await _in_bites(world, world.ledger.lanes.forget, TURNS_KEPT)


async def forget_feeds(world: World) -> int:
    """What screens were told; who was away for longer reads anew."""
    reader = Reader.LOG if world.log_apart else None  # what the Log has not heard of is kept until it has

    async def forget(before: Instant, limit: int) -> int:
        return await world.ledger.feeds.forget(before, limit, unless_behind=reader)

    return await _in_bites(world, forget, world.tuning.feed_kept)


async def forget_devices(world: World) -> int:
    """Screens that were not seen for as long as feeds are kept: they must read everything anew, known or not.

    A tab is a device, and most are never seen again. One that can be pushed to is kept: that it was told something says
    nothing of whether it was seen, but the subscription is kept with the device, and its person relies on it
    while they are away. It ends when the push service says so, with the next tab of that browser, or with its person.
    """
    before = Instant(world.clock.now() - world.tuning.feed_kept)
    gone, last = 0, FIRST_DEVICE
    while True:
        looked = await world.ledger.follows.forget(before, last, FORGET_AT_ONCE)
        gone += looked.gone
        if looked.last is None:
            return gone
        last = looked.last
        await world.clock.sleep(Span(0))


async def forget_search(world: World) -> int:
    """What was said long ago is not searched any more; it can still be read."""
    kept = world.tuning.search_kept
    return 0 if kept is None else await _in_bites(world, world.ledger.search.forget, kept)


async def forget_notices(world: World) -> int:
    """Of what somebody was told so long ago that it makes no difference any more."""
    return await _in_bites(world, world.ledger.notices.forget, Span(world.tuning.push.keep + world.tuning.push.again))


async def _in_bites(world: World, forget: Callable[[Instant, int], Awaitable[int]], kept: Span) -> int:
    """Small ones, so that nobody waits for it."""
    before = Instant(world.clock.now() - kept)
    gone = 0
    while bite := await forget(before, FORGET_AT_ONCE):
        gone += bite
        await world.clock.sleep(Span(0))
    return gone


async def count_stale(world: World) -> None:
    """What a worker finds when it starts: turns that others held and let lie."""
    try:
        world.meters.stale_at_start(await world.ledger.lanes.stale(world.clock.now()))
    except LedgerError:
        return  # it starts all the same, and takes them over


async def survey(world: World) -> None:
    """An operator's figures; it rests for much longer than it took, however much there is to count."""
    while True:
        started = world.clock.now()
        try:
            found = await world.ledger.figures.survey(SHOWN_AT_MOST, started)
            world.meters.surveyed(found, world.clock.now())
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
        took = max(0, world.clock.now() - started)
        await world.clock.sleep(Span(max(SURVEY_EVERY, took * 20)))


async def every(span: Span, chore: Callable[[World], Awaitable[object]], world: World) -> None:
    """Do a chore again and again; a Ledger that is away for a moment only costs that round."""
    while True:
        try:
            await chore(world)
        except LedgerError as failure:
            world.meters.ledger_failed(failure)
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
        await world.clock.sleep(span)
