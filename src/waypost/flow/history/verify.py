"""Asks the history store for what it confirmed, appends again what it lost, and only then prunes bodies.

A confirmed append is not durable yet: with Cassandra's default settings, a crash loses what it confirmed in the last
seconds. So the Ledger keeps each body until the history store has it later, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import structlog

from waypost.flow.history.archive import archive_items, batch_of
from waypost.flow.world import World
from waypost.model.consumer import FeedRange
from waypost.model.conversation import ArchiveKey
from waypost.model.history import ArchivedBody, ConfirmedRange
from waypost.model.time import Instant, Span, as_seconds, minutes, seconds
from waypost.ports.platform.failure import HistoryUnavailable, LedgerError, Rejected
from waypost.rules.history import verification as rule

log = structlog.get_logger("archive")

UNSYNCED: Span = seconds(15)
"""How long a history store may lose what it confirmed: Cassandra writes its commit log every 10 s by default."""
LOOK_AT = 20_000
"""Feed ranges that one round looks at."""
AT_ONCE = 20
"""Feed ranges that are verified together and emptied in one transaction."""
LONGEST_REST: Span = minutes(1)

T = TypeVar("T")


def prune_interval(world: World) -> Span:
    """Short enough that bodies do not stay much longer than the grace."""
    return Span(min(LONGEST_REST, max(seconds(1), world.tuning.archive_grace // 4)))


class BodyPruner:
    """The rounds of one process. Several processes may run them: verifying and emptying can be repeated."""

    def __init__(self) -> None:
        self._known: dict[tuple[FeedRange, Instant], float] = {}

    async def round(self, world: World) -> int:
        """Prunes bodies that were archived for the grace; returns how many."""
        upto = Instant(world.clock.now() - world.tuning.archive_grace)
        due = await world.ledger.archive.confirmed(Instant(0), upto, LOOK_AT)
        return await prune_bodies(self._synced(due, world), world)

    def _synced(self, due: Sequence[ConfirmedRange], world: World) -> list[ConfirmedRange]:
        """Those that this process has known for a while: however wrong clocks are, what the history store has of them
        now, it does not lose in a crash."""
        now, wait = world.clock.monotonic(), as_seconds(Span(min(UNSYNCED, world.tuning.archive_grace)))
        self._known = {(one.range, one.at): self._known.get((one.range, one.at), now) for one in due}
        return [one for one in due if now - self._known[one.range, one.at] >= wait]


async def prune_bodies(due: Sequence[ConfirmedRange], world: World) -> int:
    """Verifies and empties these ranges; those that cannot be emptied yet are due again after the grace."""
    emptied = 0
    for some in _batches(due):
        ready = [one.range for one in some if one.indexed]
        bodies = rule.by_range(ready, await world.ledger.archive.bodies(ready))
        unanswered = rule.unanswered(bodies) if world.tuning.answering else set()
        asked = {range_: found for range_, found in bodies.items() if range_ not in unanswered}
        complete = asked.keys() - await append_missing(asked, world)
        verified = {one: _keys(asked[one.range]) for one in some if one.range in complete}
        count = await world.ledger.archive.empty(verified)
        later = [one.range for one in some if one.range not in complete]
        await world.ledger.archive.confirm_again(later, world.clock.now())
        world.meters.bodies_emptied(count)
        emptied += count
        await world.clock.sleep(Span(0))
    return emptied


async def append_lost_again(world: World) -> None:
    """When the history store answers again, asks for what it confirmed shortly before it did not, so that nobody has
    to wait for the next pruning to read it."""
    if (lost := world.history_watch.lost) is None:
        return
    since, upto = Instant(lost[0] - UNSYNCED), Instant(lost[1] + UNSYNCED)
    for some in _batches(await world.ledger.archive.confirmed(since, upto, LOOK_AT)):
        ranges = [one.range for one in some]
        missing = await append_missing(rule.by_range(ranges, await world.ledger.archive.bodies(ranges)), world)
        await world.ledger.archive.confirm_again(list(missing), world.clock.now())
    if world.history_watch.lost == lost:
        world.history_watch.lost = None


async def append_missing(bodies: rule.RangeBodies, world: World) -> set[FeedRange]:
    """Asks the history store for these bodies, one question per conversation, and appends what it does not have.
    Returns the ranges that were not complete."""
    keys = [body.key for found in bodies.values() for body in found]
    try:
        stored = await world.history.stored(keys) if keys else ()
    except LedgerError as failure:
        raise HistoryUnavailable(f"the history store does not answer: {failure}") from failure
    missing = rule.missing(bodies, stored)
    return {range_ for range_, lost in missing.items() if await _append_again(range_, lost, world)}


async def _append_again(range_: FeedRange, lost: Sequence[ArchivedBody], world: World) -> bool:
    """False if the history store need not have them: they have expired."""
    items = await world.ledger.archive.entries([range_])
    await world.policies.refresh()
    count = rule.count_kept(lost, batch_of((item.waiting for item in items if item.waiting is not None), world))
    if not count:
        return False
    await world.ledger.archive.confirm_again([range_], world.clock.now())  # before: others must not empty it meanwhile
    try:
        await archive_items(items, world)
    except HistoryUnavailable as failure:
        if not isinstance(failure.__cause__, Rejected):
            raise
        log.warning("not_archived", feed=range_.feed, after=range_.since, error=str(failure))
        return True
    world.meters.history_forgot(count)
    return True


def _keys(bodies: Sequence[ArchivedBody]) -> list[ArchiveKey]:
    return [body.key for body in bodies if not body.erased]


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))
