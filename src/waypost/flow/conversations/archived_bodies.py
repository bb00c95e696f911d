"""Loads bodies that only the history store has; an entry whose body is missing is left out, never shown empty."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from waypost.model.chat import FeedName, LoadedItem
from waypost.model.conversation import ArchiveKey, ConversationId, Entry, Position
from waypost.model.time import Instant
from waypost.ports.history.history import History
from waypost.ports.platform.failure import HistoryNotConfigured, HistoryUnavailable, LedgerError

UNAVAILABLE = "unavailable"
"""The type of a message that the history store no longer has."""
_A_FEW = 3
"""Up to this many are looked up by key; a longer run is read as a page."""


async def load_bodies(entries: Sequence[Entry], history: History) -> list[Entry]:
    """The same entries with their bodies; raises HistoryUnavailable."""
    missing = [entry for entry in entries if entry.is_archived]
    if not missing:
        return list(entries)
    try:
        found = await _read(missing, history)
    except HistoryNotConfigured:
        raise
    except LedgerError as failure:
        raise HistoryUnavailable(f"the history store does not answer: {failure}") from failure
    return [_filled(entry, found) if entry.is_archived else entry for entry in entries]


async def load_leading_bodies(entries: Sequence[Entry], history: History) -> list[Entry]:
    """As `load_bodies`, or the entries before the first missing body; raises HistoryUnavailable if there are none."""
    try:
        return await load_bodies(entries, history)
    except HistoryUnavailable:
        leading = entries_before_gap(entries)
        if not leading:
            raise
        return leading


def entries_before_gap(entries: Sequence[Entry]) -> list[Entry]:
    first = next((n for n, entry in enumerate(entries) if entry.is_archived), None)
    return list(entries[:first])


def history_unavailable(*, history_separate: bool) -> HistoryUnavailable:
    """The error for a reader whose next items need the history store."""
    if history_separate:
        return HistoryUnavailable("the next items are only in the history store, which does not answer")
    return HistoryNotConfigured(
        "the next items are only in a history store that is not configured: set WAYPOST_HISTORY_URL"
    )


async def load_last_bodies(entries: Sequence[Entry | None], history: History) -> list[Entry | None]:
    """The last entries of conversations, for lists; None where the body is unavailable."""
    present = [entry for entry in entries if entry is not None]
    try:
        found = iter(await load_bodies(present, history))
    except HistoryUnavailable:
        found = iter(present)
    shown = [None if entry is None else next(found) for entry in entries]
    return [None if entry is None or entry.is_archived else entry for entry in shown]


async def load_item_bodies(
    items: Sequence[LoadedItem], history: History
) -> tuple[list[LoadedItem], frozenset[FeedName]]:
    """The items with their bodies, and the feeds that are stuck: of these, only the items before a missing body."""
    try:
        found = iter(await load_bodies([item.entry for item in items if item.entry is not None], history))
        return [item if item.entry is None else replace(item, entry=next(found)) for item in items], frozenset()
    except HistoryUnavailable:
        stuck: set[FeedName] = set()
        kept = []
        for item in items:
            if item.entry is not None and item.entry.is_archived:
                stuck.add(FeedName(item.item.feed))
            if item.item.feed not in stuck:
                kept.append(item)
        return kept, frozenset(stuck)


BodyKey = tuple[ConversationId, Instant]
"""The parts of an archive key that stay the same when conversations are merged."""


async def _read(missing: Sequence[Entry], history: History) -> dict[BodyKey, Entry]:
    found: dict[BodyKey, Entry] = {}
    if _is_run(missing):
        newest = max(missing, key=lambda entry: entry.position).archive_key
        after = newest._replace(position=Position(newest.position + 1), id_at=Instant(newest.id_at + 1))
        found = _by_key(await history.page(after, len(missing)))
    others = [entry.archive_key for entry in missing if _key(entry.archive_key) not in found]
    return found | _by_key(await history.some(others)) if others else found


def _is_run(missing: Sequence[Entry]) -> bool:
    """Whether these are consecutive entries of one conversation, so that one page of the history store holds them."""
    places = {entry.position for entry in missing}
    return (
        len(missing) > _A_FEW
        and len({entry.conversation_id for entry in missing}) == 1
        and all(entry.kept_in is None for entry in missing)
        and max(places) - min(places) == len(places) - 1
    )


def _by_key(entries: Sequence[Entry]) -> dict[BodyKey, Entry]:
    """Without a separate history store, an archived body is missing in the Ledger's own history too."""
    if any(entry.is_archived for entry in entries):
        raise HistoryNotConfigured(
            "these bodies are in a history store that is not configured: set WAYPOST_HISTORY_URL"
        )
    return {_key(entry.archive_key): entry for entry in entries}


def _key(key: ArchiveKey) -> BodyKey:
    return key.conversation_id, key.id_at


def _filled(entry: Entry, found: dict[BodyKey, Entry]) -> Entry:
    """An entry that the history store no longer has is shown as unavailable."""
    kept = found.get(_key(entry.archive_key))
    return replace(entry, type=UNAVAILABLE, body="{}") if kept is None else replace(entry, body=kept.body)
