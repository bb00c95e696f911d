"""The contract of the history store: nothing is lost or doubled, pages are continuous, erased bodies stay erased."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.conversation import ArchiveKey, ConversationId, Entry, Position
from waypost.model.ids import Wamid
from waypost.model.time import Instant, days
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, History
from waypost_testing.contracts.examples import T0

HERE, THERE = ConversationId(700_001), ConversationId(700_002)
FAR = 1_000_000


def an_entry(position: int, where: ConversationId = HERE, **fields: Any) -> Entry:
    standard: dict[str, Any] = {
        "conversation_id": where,
        "position": Position(position),
        "id_at": Instant(T0 + position),
        "at": Instant(T0 - position),
        "sender": "contact",
        "type": "text",
        "body": f'{{"text":"{position}"}}',
    }
    return Entry(**(standard | fields))


def lines(*entries: Entry) -> list[ArchiveEntry]:
    return [ArchiveEntry(entry=entry) for entry in entries]


def spot(position: int, where: ConversationId = HERE) -> ArchiveKey:
    return an_entry(position, where).archive_key


END = spot(FAR)


async def positions(log: History, where: ConversationId = HERE) -> list[int]:
    return [entry.position for entry in await log.page(spot(FAR, where), 1000)]


class HistoryContract:
    async def test_what_is_appended_is_read_newest_first_as_it_was(self, log: History) -> None:
        stored = [
            an_entry(1),
            an_entry(2, wamid=Wamid("wamid.2"), body='{"text":"é \\u0000 🙂"}'),
            an_entry(3, sender="user_1", client_message_id="mine", message_id=7),
        ]
        await log.append(lines(*stored))
        assert list(await log.page(END, 9)) == stored[::-1]
        assert list(await log.page(spot(FAR, THERE), 9)) == []

    async def test_in_any_order_and_again_it_is_kept_once(self, log: History) -> None:
        stored = lines(*(an_entry(n) for n in (3, 1, 2)))
        await asyncio.gather(*(log.append(stored) for _ in range(3)))
        await log.append(lines(an_entry(2), an_entry(4), an_entry(4)))
        assert await positions(log) == [4, 3, 2, 1]
        await log.append([])

    @pytest.mark.parametrize("size", [1, 7, 100])
    async def test_pages_follow_each_other_without_a_gap_or_a_repeat(self, size: int, log: History) -> None:
        await log.append(lines(*(an_entry(n) for n in range(1, 41))))
        await log.append(lines(*(an_entry(n, THERE) for n in range(1, 41))))
        before, seen = END, list[int]()
        while page := await log.page(before, size):
            seen += [entry.position for entry in page]
            before = page[-1].archive_key
        assert seen == list(range(40, 0, -1))

    @pytest.mark.parametrize("size", [1, 3, 100])
    async def test_pages_go_on_across_years_of_silence(self, size: int, log: History) -> None:
        """However a store partitions time, readers do not notice."""
        stored = [an_entry(n, id_at=Instant(T0 + days(97) * n)) for n in range(1, 12)]
        await log.append(lines(*stored))
        before, seen = (
            stored[-1].archive_key._replace(position=Position(FAR), id_at=Instant(T0 + days(9999))),
            list[Entry](),
        )
        while page := await log.page(before, size):
            seen += page
            before = page[-1].archive_key
        assert seen == stored[::-1]

    async def test_some_are_found_wherever_they_are_each_once(self, log: History) -> None:
        stored = [an_entry(1), an_entry(2), an_entry(1, THERE), an_entry(9, id_at=Instant(T0 + days(400)))]
        await log.append(lines(*stored))
        wanted = [entry.archive_key for entry in (*stored, stored[0])]
        found = await log.some([*wanted, spot(5), spot(5, THERE)])
        assert sorted(found, key=lambda entry: entry.archive_key) == sorted(stored, key=lambda entry: entry.archive_key)
        assert list(await log.some([])) == []

    async def test_it_says_what_it_has_and_what_of_that_is_erased(self, log: History) -> None:
        entries = [an_entry(1), an_entry(2), an_entry(1, THERE), an_entry(9, id_at=Instant(T0 + days(400)))]
        await log.append(lines(*entries))
        await log.erase([spot(2)], T0)
        await log.settle([ArchivedStatus(archive_key=spot(7), status="sent", generation=1, rank=3)])
        wanted = [entry.archive_key for entry in (*entries, entries[0])]
        found = await log.stored([*wanted, spot(5), spot(7), spot(5, THERE)])
        assert sorted(found) == sorted(
            (entry.conversation_id, entry.id_at, entry.position == 2) for entry in entries
        ), "each once, without what was only settled"
        assert list(await log.stored([])) == []

    async def test_what_is_erased_keeps_its_place_whatever_is_appended_again(self, log: History) -> None:
        stored = lines(*(an_entry(n) for n in (1, 2, 3)))
        await log.append(stored)
        later = Instant(T0 + 1000)
        await log.erase([spot(2)], later)
        await log.append(stored)
        _, erased, _ = await log.page(END, 9)
        assert (erased.position, erased.body, erased.deleted_at) == (2, "{}", later)
        assert [entry.body for entry in await log.some([spot(2)])] == ["{}"]
        assert [entry.position for entry in await log.page(spot(2), 9)] == [1], "an anchor that is erased"

    async def test_erasing_what_is_not_there_leaves_nothing(self, log: History) -> None:
        await log.append(lines(an_entry(1)))
        await log.erase([spot(9), spot(1, THERE)], T0)
        await log.erase([], T0)
        assert await positions(log) == [1]
        assert await positions(log, THERE) == []

    async def test_how_far_a_message_came_only_grows_in_whatever_order_it_is_told(self, log: History) -> None:
        await log.append(lines(an_entry(1), an_entry(2)))
        updates = [("delivered", 1, 4), ("sent", 1, 3), ("sent", 2, 3), ("read", 1, 5)]
        marks = [
            ArchivedStatus(archive_key=spot(1), status=word, generation=of, rank=rank) for word, of, rank in updates
        ]
        for mark in (*marks, *marks):
            await log.settle([mark])
        await log.settle(marks)
        await log.append(lines(an_entry(1)))
        assert [entry.status for entry in await log.page(END, 9)] == [None, "sent"]

    async def test_what_is_told_of_a_message_that_is_not_there_leaves_no_ghost(self, log: History) -> None:
        await log.settle([ArchivedStatus(archive_key=spot(7), status="sent", generation=1, rank=3)])
        await log.settle([])
        assert await positions(log) == []
        assert list(await log.some([spot(7)])) == []

    async def test_it_says_whether_it_is_there(self, log: History) -> None:
        await log.ping()
