"""Readers read the Ledger first, then the Log: bodies that only the Log has are filled in, or what needs them is left
out; none is ever shown empty."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from waypost.model.chat import FeedName, Told
from waypost.model.conversation import ConversationId, Entry, Position, Spot
from waypost.model.time import Instant
from waypost.ports.failure import LedgerError, LogAway, NoLog
from waypost.ports.log import Log

UNAVAILABLE = "unavailable"
"""The type under which a message is shown that the Log keeps no longer."""
_A_FEW = 3
"""So many are looked up one by one; a longer run is read as a page."""


async def whole(entries: Sequence[Entry], log: Log) -> list[Entry]:
    """The same entries with their bodies; raises LogAway when the Log does not answer."""
    missing = [entry for entry in entries if entry.is_away]
    if not missing:
        return list(entries)
    try:
        found = await _read(missing, log)
    except NoLog:
        raise
    except LedgerError as failure:
        raise LogAway(f"the Log does not answer: {failure}") from failure
    return [_filled(entry, found) if entry.is_away else entry for entry in entries]


async def first_part(entries: Sequence[Entry], log: Log) -> list[Entry]:
    """As `whole`, or as far as no body is missing; raises LogAway where that leaves nothing."""
    try:
        return await whole(entries, log)
    except LogAway:
        here = until_away(entries)
        if not here:
            raise
        return here


def until_away(entries: Sequence[Entry]) -> list[Entry]:
    first = next((n for n, entry in enumerate(entries) if entry.is_away), None)
    return list(entries[:first])


def stuck(*, log_apart: bool) -> LogAway:
    """Of who can be told nothing until the Log answers."""
    if log_apart:
        return LogAway("what comes next is only in the Log, which does not answer")
    return NoLog("what comes next is only in a Log that is not connected")


async def lasts(entries: Sequence[Entry | None], log: Log) -> list[Entry | None]:
    """For lists, which show how each conversation ends: nothing where the Log does not answer."""
    there = [entry for entry in entries if entry is not None]
    try:
        found = iter(await whole(there, log))
    except LogAway:
        found = iter(there)
    shown = [None if entry is None else next(found) for entry in entries]
    return [None if entry is None or entry.is_away else entry for entry in shown]


async def told(items: Sequence[Told], log: Log) -> tuple[list[Told], frozenset[FeedName]]:
    """Items with whole entries; of a feed that tells of one whose body cannot be had now, only what comes before it.
    And which feeds those are."""
    try:
        found = iter(await whole([item.entry for item in items if item.entry is not None], log))
        return [item if item.entry is None else replace(item, entry=next(found)) for item in items], frozenset()
    except LogAway:
        stuck: set[FeedName] = set()
        kept = []
        for item in items:
            if item.entry is not None and item.entry.is_away:
                stuck.add(FeedName(item.item.feed))
            if item.item.feed not in stuck:
                kept.append(item)
        return kept, frozenset(stuck)


Key = tuple[ConversationId, Instant]
"""Of a spot: a position changes when conversations are joined, these do not."""


async def _read(missing: Sequence[Entry], log: Log) -> dict[Key, Entry]:
    found: dict[Key, Entry] = {}
    if _is_run(missing):
        newest = max(missing, key=lambda entry: entry.position).spot
        after = newest._replace(position=Position(newest.position + 1), id_at=Instant(newest.id_at + 1))
        found = _by_key(await log.page(after, len(missing)))
    others = [entry.spot for entry in missing if _key(entry.spot) not in found]
    return found | _by_key(await log.some(others)) if others else found


def _is_run(missing: Sequence[Entry]) -> bool:
    """Of one conversation, one after the other, where they were said: a page of the Log holds exactly these."""
    places = {entry.position for entry in missing}
    return (
        len(missing) > _A_FEW
        and len({entry.conversation_id for entry in missing}) == 1
        and all(entry.kept_in is None for entry in missing)
        and max(places) - min(places) == len(places) - 1
    )


def _by_key(entries: Sequence[Entry]) -> dict[Key, Entry]:
    """Where no other Log is connected any more, what it had has no body here, either."""
    if any(entry.is_away for entry in entries):
        raise NoLog("these bodies were handed over to a Log that is not connected")
    return {_key(entry.spot): entry for entry in entries}


def _key(spot: Spot) -> Key:
    return spot.conversation_id, spot.id_at


def _filled(entry: Entry, found: dict[Key, Entry]) -> Entry:
    """What the Log has no longer is shown as that."""
    kept = found.get(_key(entry.spot))
    return replace(entry, type=UNAVAILABLE, body="{}") if kept is None else replace(entry, body=kept.body)
