"""A Log of its own, that fails when a test wants it to, and a database that has handed everything over to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tests.integration.harness import Stage
from tests.integration.webhooks import PHONE
from waypost.adapters.local.log import MemoryLog
from waypost.flow import hand_over
from waypost.model.conversation import Entry, Spot
from waypost.model.ids import NumberId, OrgId
from waypost.model.report import Post
from waypost.model.time import Instant, hours, seconds
from waypost.ports.failure import ForeignLog, Rejected, Unavailable
from waypost.ports.log import Line, Mark
from waypost.testing.contracts.arrivals import USER, known_as
from waypost.testing.contracts.examples import an_arrival


class ShakyLog(MemoryLog):
    """It does not answer while it is away, or only loses its answers."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.foreign = False
        self.mute = False
        self.refused = ""
        self.hangs = False

    async def append(self, lines: Sequence[Line]) -> None:
        self._reached()
        if self.refused and any(self.refused in line.entry.body for line in lines):
            raise Rejected("it cannot keep this")
        await super().append(lines)
        if self.mute:
            raise Unavailable("no answer came")

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        self._reached()
        return await super().page(before, limit)

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        self._reached()
        return await super().some(spots)

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        self._reached()
        await super().erase(spots, at)

    async def settle(self, marks: Sequence[Mark]) -> None:
        self._reached()
        await super().settle(marks)

    async def ping(self) -> None:
        self._reached()

    async def close(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()

    def _reached(self) -> None:
        if self.away:
            raise Unavailable("it is away")
        if self.foreign:
            raise ForeignLog("it is another's")

    def texts(self) -> list[str]:
        return [entry.body for entry in self.kept.values()]


async def bodies(stage: Stage) -> list[str]:
    """As the database has them."""
    return [row[0] for row in await stage.database.run("SELECT body FROM entry ORDER BY conversation_id, position")]


async def handed_over(stage: Stage) -> None:
    """Everything that feeds tell, also to the index of words."""

    async def look() -> bool:
        stage.manual.advance(seconds(1.1))
        behind = await stage.database.run(
            "SELECT f.name FROM feed f"
            " WHERE f.head > coalesce((SELECT min(r.seq) FROM feed_reader r WHERE r.feed = f.name), 0)"
            " OR (SELECT count(*) FROM feed_reader r WHERE r.feed = f.name) < 2"
        )
        return not behind

    assert await stage.eventually(look)


async def only_in_the_log(stage: Stage) -> None:
    """After the hour."""
    await handed_over(stage)
    stage.manual.jump(hours(1))
    await hand_over.empty_bodies(stage.world)
    assert set(await bodies(stage)) <= {"", "{}"}


def texts(page: Any) -> list[str]:
    return [message["content"]["text"] for message in page["messages"]]


async def joined(stage: Stage) -> str:
    """Somebody hides their number, and shows it one day: one conversation in the end."""
    ledger, now = stage.world.ledger, stage.clock.now()
    number = NumberId("1001")
    for n, told in enumerate(
        (an_arrival(USER, now, number), an_arrival(PHONE, now, number), known_as(PHONE, USER, text="as one"))
    ):
        await ledger.journal.take(Post([], [], [replace(told, org_id=OrgId("acme"), number=number)]), Instant(now + n))
    (talk,) = await ledger.conversations.at(OrgId("acme"), f"user:{USER}")
    return str(talk.id)
