"""Appends message bodies to the history store.

Crashes and repeated work are harmless: appends are idempotent, and only confirmed items move the consumer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import structlog

from waypost.flow.history.feed_consumer import FeedConsumer
from waypost.flow.world import World
from waypost.model.consumer import Consumer, ConsumerPosition
from waypost.model.conversation import ArchiveKey, ConversationId, Position
from waypost.model.history import PendingArchiveEntry
from waypost.model.ids import OrgId
from waypost.model.time import Span, hours, seconds
from waypost.ports.history.archive import ArchiveItem
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import HistoryUnavailable, LedgerError, Rejected, Unavailable
from waypost.rules.history import archive as rule
from waypost.rules.history import consumer_ranges

log = structlog.get_logger("archive")

AT_ONCE = 500
"""Items that are archived together."""
MOVED_AT_ONCE = 500
PAUSE_WHEN_AWAY: Span = seconds(1)
LOOK_EVERY: Span = seconds(5)
CHECK_CONFIGURED_EVERY: Span = hours(1)
FEEDS_ASKED = 1_000
CONVERSATIONS_ASKED = 500
ENTRIES_ASKED = 5_000


def archive_consumer(world: World) -> FeedConsumer:
    """The consumer of one worker; any number of workers may run one."""

    async def consume(behind: Sequence[ConsumerPosition]) -> Sequence[ConsumerPosition]:
        return await archive_ranges(behind, world)

    return FeedConsumer(Consumer.ARCHIVE, consume, world, at_rest=lambda: world.meters.archive_waits(0, 0.0))


async def archive_ranges(behind: Sequence[ConsumerPosition], world: World) -> Sequence[ConsumerPosition]:
    """Appends the next items of these feeds to the history store, then confirms them. Returns what is left."""
    ledger, ranges = world.ledger.archive, consumer_ranges.stretches(behind, AT_ONCE)
    items = await ledger.entries(ranges)
    _measure(behind, items, world)
    try:
        archived = await archive_items(items, world)
    except HistoryUnavailable as unavailable:
        world.meters.history_failed(str(unavailable.__cause__ or unavailable))
        world.history_watch.failed(world.clock.now())
        if isinstance(unavailable.__cause__, Rejected):
            return await _archive_each(behind, str(unavailable), world)
        await world.clock.sleep(PAUSE_WHEN_AWAY)
        raise
    world.history_watch.answered(world.clock.now())
    confirmed = await ledger.confirm(ranges, world.clock.now())
    world.meters.archived(archived)
    if not confirmed:  # another worker archives the same feeds: let it go on for a while
        await world.clock.sleep(Span(round(PAUSE_WHEN_AWAY * world.random.unit())))
        return []
    return consumer_ranges.remaining_ranges(behind, ranges)


async def _archive_each(behind: Sequence[ConsumerPosition], why: str, world: World) -> Sequence[ConsumerPosition]:
    """An item that the history store rejects stops only its own feed and stays in the Ledger. Size is never the reason:
    bodies larger than `rule.LARGEST_BODY` are not archived."""
    if len(behind) == 1:
        log.warning("not_archived", feed=behind[0].feed, after=behind[0].read, error=why)
        return []
    for one in behind:
        await archive_ranges([one], world)
    return []


def _measure(behind: Sequence[ConsumerPosition], items: Sequence[ArchiveItem], world: World) -> None:
    oldest = min((item.at for item in items), default=world.clock.now())
    age = max(0, world.clock.now() - oldest) / 1_000_000
    world.meters.archive_waits(sum(position.head - position.read for position in behind), age)


async def archive_items(items: Sequence[ArchiveItem], world: World) -> int:
    """Archives the current messages that these items are about; returns how many."""
    await world.policies.refresh()
    archived = await _post([item.waiting for item in items if item.waiting is not None], world)
    for conversation in dict.fromkeys(item.conversation_id for item in items if item.kind == "joined"):
        archived += await _deliver_moved(conversation, world)
    return archived


async def _deliver_moved(conversation: ConversationId, world: World) -> int:
    """After a merge, messages have new positions: archives all that were moved once more."""
    after, archived = Position(0), 0
    while moved := await world.ledger.archive.moved(conversation, after, MOVED_AT_ONCE):
        archived += await _post(moved, world)
        after = moved[-1].entry.position
    return archived


def batch_of(waiting: Iterable[PendingArchiveEntry], world: World) -> rule.ArchiveBatch:
    def kept_for(org: OrgId) -> Span | None:
        return world.policies.known(org).history_retention

    return rule.archive_batch(waiting, kept_for, world.clock.now())


async def _post(waiting: Sequence[PendingArchiveEntry], world: World) -> int:
    batch = batch_of(waiting, world)
    try:
        if batch.lines:
            await world.history.append(batch.lines)
        await asyncio.gather(*(world.history.erase(keys, at) for at, keys in batch.erased.items()))
        if batch.marks:
            await world.history.settle(batch.marks)
    except LedgerError as failure:
        raise HistoryUnavailable(f"the history store does not answer: {failure}") from failure
    if batch.too_large:
        log.warning("too_large_to_archive", messages=batch.too_large, what="they stay in the database")
        world.meters.kept_back(batch.too_large)
    return len(batch.lines)


async def find_archived_messages(ledger: Ledger) -> list[PendingArchiveEntry]:
    """A sample of the archived messages, from the first and the latest conversations; cheap if nothing was archived."""
    if not any(one.read for one in await ledger.feed_consumers.standing(Consumer.ARCHIVE, "", FEEDS_ASKED)):
        return []
    newest = await ledger.invariants.newest_conversation()
    found: dict[ArchiveKey, PendingArchiveEntry] = {}
    for after in {0, max(0, newest - CONVERSATIONS_ASKED)}:
        away, _ = await ledger.archive.away_after((ConversationId(after), Position(0)), ENTRIES_ASKED)
        found |= {one.entry.archive_key: one for one in away}
    return list(found.values())


async def check_history_not_configured(world: World) -> None:
    """Warns if no history store is configured although bodies were archived to one."""
    if away := await find_archived_messages(world.ledger):
        log.warning(
            "history_not_configured",
            messages=len(away),
            what="message bodies are in a history store: set WAYPOST_HISTORY_URL to it and restart",
        )


async def check_history(world: World) -> None:
    """Pings the history store, so that operators see an outage at once, even without traffic."""
    try:
        await world.history.ping()
    except LedgerError as failure:
        lasting = not isinstance(failure, Unavailable)
        world.history_watch.failed(world.clock.now())
        world.meters.history_reachable(str(failure) or type(failure).__name__, lasting=lasting)
    else:
        world.history_watch.answered(world.clock.now())
        world.meters.history_reachable()
