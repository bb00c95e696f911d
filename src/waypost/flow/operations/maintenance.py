"""Background work that no request triggers: unsure sends, expiry, webhook uptime and pruning."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.consumer import Consumer
from waypost.model.ids import MessageId
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.ports.conversations.chats import FIRST_DEVICE
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import OUTBOX, about_message
from waypost.ports.receiving.journal import UnmatchedStatuses
from waypost.ports.sending.outbox import StaleLimits, SweptAttempts, UptimeTick

SWEEP_AT_MOST = 500
KEEP_UNMATCHED: Span = days(8)
UNMATCHED_EVERY: Span = minutes(1)
INBOUND_KEPT: Span = days(40)
TURNS_KEPT: Span = days(90)
WINDOWS_KEPT: Span = hours(2)
"""After they closed: allows for clocks that are ahead, and for the invariant checks, which read recent windows."""
EXPIRE_EVERY: Span = seconds(5)
PRUNE_EVERY: Span = hours(1)
PRUNE_AT_ONCE = 1_000
PRUNE_DEVICES_EVERY: Span = hours(6)
"""Each run reads all devices."""
MEASURE_CLOCK_EVERY: Span = seconds(10)
WORKER_SEEN_EVERY: Span = seconds(10)
SURVEY_EVERY: Span = seconds(10)
SHOWN_AT_MOST = 20
"""Orgs that get a metric of their own."""


async def count_webhook_uptime(world: World) -> None:
    """Counts webhook uptime from the start of this process."""
    while not await _first_tick(world):
        await world.clock.sleep(PAUSE_AFTER_TROUBLE)
    await world.clock.sleep(world.tuning.webhook_tick)
    await run_every(world.tuning.webhook_tick, tick_webhook_uptime, world)


async def _first_tick(world: World) -> bool:
    try:
        await _tick(world, first=True)
    except LedgerError as failure:
        world.meters.ledger_failed(failure)
        return False
    return True


async def tick_webhook_uptime(world: World) -> int:
    """Records that webhooks can reach us; the time between two ticks counts as uptime."""
    return await _tick(world)


async def _tick(world: World, *, first: bool = False) -> int:
    """A refusal is reported until a tick succeeds."""
    refused = world.refusals.count
    tick = UptimeTick(
        listener=world.worker,
        place=world.listener,
        first=first,
        gap=world.tuning.webhook_gap,
        forget=max(world.tuning.stale, world.tuning.webhook_gap),
        refused=refused > world.refusals.reported,
    )
    total = await world.ledger.webhook_uptime.tick(tick)
    world.refusals.reported = refused
    return total


async def leave_webhook_uptime(world: World) -> None:
    """Webhooks no longer reach this process; if it cannot say so, its silence will."""
    try:
        await tick_webhook_uptime(world)
        await world.ledger.webhook_uptime.leave(world.worker)
    except LedgerError as failure:
        world.meters.ledger_failed(failure)


async def measure_clock(world: World) -> None:
    """Follows the Ledger's time, and shows how far this machine's clock is off."""
    world.meters.clock_is_off(await world.clock.measure())


async def record_worker_seen(world: World) -> None:
    """Records that a worker is running, for those who ask why a message waits."""
    await world.ledger.operator_reads.record_worker_seen(world.clock.now())


async def settle_unsure(world: World) -> SweptAttempts:
    """Requeues or parks attempts that were not settled within the stale limit."""
    tuning = world.tuning
    chosen = {org: policy.unsure for org, policy in (await world.policies.all()).items()}
    limits = StaleLimits(limit=tuning.stale, slack=tuning.webhook_gap, policy=tuning.unsure, of_orgs=chosen)
    swept = await world.ledger.outbox.sweep(limits, SWEEP_AT_MOST, world.clock.now())
    topics = [about_message(message) for message in [*swept.requeued, *swept.parked]]
    world.hints.give([*topics, OUTBOX] if topics else [])
    return swept


async def prune_unmatched_statuses(world: World) -> UnmatchedStatuses:
    now = world.clock.now()
    waiting_since = Instant(now - world.tuning.sync_timeout)
    return await world.ledger.journal.tidy(waiting_since, Instant(now - KEEP_UNMATCHED))


async def expire(world: World) -> Sequence[MessageId]:
    """Expires messages that waited too long behind a gate."""
    expired = await world.ledger.outbox.expire(SWEEP_AT_MOST, world.clock.now())
    world.hints.give([*(about_message(message) for message in expired), OUTBOX] if expired else [])
    return expired


async def prune_windows(world: World) -> int:
    """Prunes closed windows and old throttles."""
    gone = await _in_batches(world, world.ledger.windows.expire, WINDOWS_KEPT)
    return gone + await world.ledger.gates.tidy(Instant(world.clock.now() - days(1)))


async def prune_inbound(world: World) -> int:
    """Prunes rows that only detect duplicates: Meta retries for a week, and edits or quotes go back a month."""
    return await _in_batches(world, world.ledger.conversations.prune_inbound, INBOUND_KEPT)


async def prune_journal(world: World) -> int:
    """Prunes old journal items."""
    return await _in_batches(world, world.ledger.journal.forget, world.tuning.journal_kept)


async def prune_turns(world: World) -> int:
    """Prunes answered turns; those that were given up stay."""
    return await _in_batches(world, world.ledger.turn_queue.forget, TURNS_KEPT)


async def prune_feeds(world: World) -> int:
    """Prunes old feed items; a device that was offline for longer reads everything again."""
    consumer = Consumer.ARCHIVE if world.history_separate else None  # keep what is not archived yet

    async def prune(before: Instant, limit: int) -> int:
        return await world.ledger.feeds.forget(before, limit, unless_behind=consumer)

    return await _in_batches(world, prune, world.tuning.feed_kept)


async def prune_devices(world: World) -> int:
    """Prunes devices not seen for as long as feeds are kept: they would have to read everything again anyway.

    Each browser tab is a device, and most never return. A device with a push subscription stays, since its user relies
    on it while offline. It goes when the push service rejects it, another tab subscribes, or the user is removed.
    """
    before = Instant(world.clock.now() - world.tuning.feed_kept)
    gone, last = 0, FIRST_DEVICE
    while True:
        page = await world.ledger.device_feeds.forget(before, last, PRUNE_AT_ONCE)
        gone += page.gone
        if page.last is None:
            return gone
        last = page.last
        await world.clock.sleep(Span(0))


async def prune_search(world: World) -> int:
    """Prunes old messages from the search index; they can still be read."""
    kept = world.tuning.search_kept
    return 0 if kept is None else await _in_batches(world, world.ledger.search.forget, kept)


async def prune_notifications(world: World) -> int:
    """Prunes records of notifications that are too old to matter."""
    return await _in_batches(
        world, world.ledger.notifications.forget, Span(world.tuning.push.keep + world.tuning.push.again)
    )


async def _in_batches(world: World, prune: Callable[[Instant, int], Awaitable[int]], kept: Span) -> int:
    """Prunes in small transactions."""
    before = Instant(world.clock.now() - kept)
    gone = 0
    while count := await prune(before, PRUNE_AT_ONCE):
        gone += count
        await world.clock.sleep(Span(0))
    return gone


async def count_stale(world: World) -> None:
    """Counts turns with expired leases when a worker starts."""
    try:
        world.meters.stale_at_start(await world.ledger.turn_queue.stale(world.clock.now()))
    except LedgerError:
        return  # the count is only a metric


async def survey(world: World) -> None:
    """Measures the queues for the metrics; pauses at least 20 times as long as a survey takes."""
    while True:
        started = world.clock.now()
        try:
            found = await world.ledger.queue_stats.survey(SHOWN_AT_MOST, started)
            world.meters.surveyed(found, world.clock.now())
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
        took = max(0, world.clock.now() - started)
        await world.clock.sleep(Span(max(SURVEY_EVERY, took * 20)))


async def run_every(span: Span, task: Callable[[World], Awaitable[object]], world: World) -> None:
    """Runs a task periodically; a LedgerError only skips one run."""
    while True:
        try:
            await task(world)
            world.meters.ledger_answered()
        except LedgerError as failure:
            world.meters.ledger_failed(failure)
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
        await world.clock.sleep(span)
