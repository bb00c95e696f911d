"""The contract of the Log: nothing appended is lost or doubled, pages follow each other, what is erased stays so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.ids import Wamid
from waypost.model.time import Instant
from waypost.ports.log import Log
from waypost.testing.contracts.examples import T0

HERE, THERE = ConversationId(700_001), ConversationId(700_002)
END = Position(1_000_000)


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


async def positions(log: Log, where: ConversationId = HERE) -> list[int]:
    return [entry.position for entry in await log.page(where, END, 1000)]


class LogContract:
    async def test_what_is_appended_is_read_newest_first_as_it_was(self, log: Log) -> None:
        said = [
            an_entry(1),
            an_entry(2, wamid=Wamid("wamid.2"), body='{"text":"é \\u0000 🙂"}'),
            an_entry(3, sender="user_1", client_message_id="mine", message_id=7),
        ]
        await log.append(said)
        assert list(await log.page(HERE, END, 9)) == said[::-1]
        assert await log.page(THERE, END, 9) == []

    async def test_in_any_order_and_again_it_is_kept_once(self, log: Log) -> None:
        said = [an_entry(n) for n in (3, 1, 2)]
        await asyncio.gather(*(log.append(said) for _ in range(3)))
        await log.append([an_entry(2, body='{"text":"other"}'), an_entry(4), an_entry(4)])
        assert await positions(log) == [4, 3, 2, 1]
        assert (await log.page(HERE, Position(3), 1))[0].body == '{"text":"2"}'
        await log.append([])

    @pytest.mark.parametrize("size", [1, 7, 100])
    async def test_pages_follow_each_other_without_a_gap_or_a_repeat(self, size: int, log: Log) -> None:
        await log.append([an_entry(n) for n in range(1, 41)])
        await log.append([an_entry(n, THERE) for n in range(1, 41)])
        before, seen = END, list[int]()
        while page := await log.page(HERE, before, size):
            seen += [entry.position for entry in page]
            before = page[-1].position
        assert seen == list(range(40, 0, -1))

    async def test_what_is_erased_keeps_its_place_whatever_is_appended_again(self, log: Log) -> None:
        said = [an_entry(n) for n in (1, 2, 3)]
        await log.append(said)
        await log.erase(HERE, Position(2), T0)
        await log.append(said)
        _, erased, _ = await log.page(HERE, END, 9)
        assert (erased.position, erased.body, erased.deleted_at) == (2, "{}", T0)
        await log.erase(HERE, Position(9), T0)
        assert await positions(log) == [3, 2, 1]
        assert [entry.position for entry in await log.page(HERE, Position(2), 9)] == [1], "an anchor that is erased"
