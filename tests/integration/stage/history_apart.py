"""A separate history store that fails when a test wants it to, and a database whose messages are all archived."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tests.integration.stage.harness import Stage
from tests.integration.stage.webhooks import PHONE
from waypost.adapters.local.history import MemoryHistory
from waypost.flow.history import verify
from waypost.model.conversation import ArchiveKey, Entry
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, hours, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, StoredEntry
from waypost.ports.platform.failure import ForeignHistory, Rejected, Unavailable
from waypost_testing.contracts.examples import an_inbound
from waypost_testing.contracts.receiving.inbound_messages import USER, known_as


class ShakyLog(MemoryHistory):
    """While it is away it does not answer, or only loses its answers."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.foreign = False
        self.mute = False
        self.refused = ""
        self.hangs = False

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        self._reached()
        if self.refused and any(self.refused in line.entry.body for line in lines):
            raise Rejected("it cannot keep this")
        await super().append(lines)
        if self.mute:
            raise Unavailable("no answer came")

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        self._reached()
        return await super().page(before, limit)

    async def some(self, spots: Sequence[ArchiveKey]) -> Sequence[Entry]:
        self._reached()
        return await super().some(spots)

    async def stored(self, spots: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        self._reached()
        return await super().stored(spots)

    async def erase(self, spots: Sequence[ArchiveKey], at: Instant) -> None:
        self._reached()
        await super().erase(spots, at)

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
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
            raise ForeignHistory("it is another's")

    def texts(self) -> list[str]:
        return [entry.body for entry in self.kept.values()]


async def bodies(stage: Stage) -> list[str]:
    """As the database has them."""
    return [row[0] for row in await stage.database.run("SELECT body FROM entry ORDER BY conversation_id, position")]


async def handed_over(stage: Stage) -> None:
    """Process everything in the feeds, also for the search index."""

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
    await prune(stage)
    assert set(await bodies(stage)) <= {"", "{}"}


async def prune(stage: Stage) -> int:
    """Verify and prune what was archived for the hour, without the pruner's own wait."""
    upto = Instant(stage.world.clock.now() - stage.world.tuning.archive_grace)
    due = await stage.world.ledger.archive.confirmed(Instant(0), upto, 1_000)
    return await verify.prune_bodies(due, stage.world)


def texts(page: Any) -> list[str]:
    return [message["content"]["text"] for message in page["messages"]]


async def joined(stage: Stage) -> str:
    """A customer hides their number, and shows it one day: one conversation in the end."""
    ledger, now = stage.world.ledger, stage.clock.now()
    number = NumberId("1001")
    for n, told in enumerate(
        (an_inbound(USER, now, number), an_inbound(PHONE, now, number), known_as(PHONE, USER, text="as one"))
    ):
        await ledger.journal.apply_webhook(
            WebhookBatch([], [], [replace(told, org_id=OrgId("acme"), number=number)]), Instant(now + n)
        )
    (talk,) = await ledger.conversations.at(OrgId("acme"), f"user:{USER}")
    return str(talk.id)
