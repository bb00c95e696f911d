"""Turns as fast as they go: hot customers who write again as soon as they were answered, among others who wait."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import apsw
import asyncpg
import msgspec

from bench.load import PHONE_NUMBER_ID
from bench.waypost_send import ORG
from bench.waypost_webhook import connected, settings_for
from waypost.flow.conversations.answer_turn import TurnWorker
from waypost.flow.world import World
from waypost.model.conversation import InboundMessage, TurnClaim
from waypost.model.ids import NumberId, Wamid
from waypost.model.time import seconds
from waypost.model.turn import Answer, Turn
from waypost.model.webhook import WebhookBatch
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted, TurnQueue
from waypost.ports.platform.hints import TURNS
from waypost.rules.conversations.turn_state import LeaseLost
from waypost.runtime.process import freeze_gc

HOT = 20
_BODY = msgspec.json.encode({"type": "text", "text": {"body": "And where is it now?"}}).decode()

_WAITING = """
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
INSERT INTO contact (org_id, met_as, created_at, updated_at)
SELECT 'bench', 'phone:+4916' || (10000000 + n), {now}, {now} FROM n;
INSERT INTO contact_address (org_id, address, contact_id)
SELECT org_id, met_as, id FROM contact WHERE created_at = {now};
INSERT INTO conversation (org_id, kind, number, contact_id, address, position, last_id_at, created_at)
SELECT org_id, 'customer', '{number}', id, substr(met_as, 7), 1, {now}, {now} FROM contact WHERE created_at = {now};
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid)
SELECT id, 1, {now}, {now}, 'contact', 'text', '{body}', 'wamid.waiting' || id FROM conversation
WHERE created_at = {now};
INSERT INTO lane (conversation_id, org_id, tail, done, fence, first_at, due_at, tries, floor)
SELECT id, org_id, 1, 0, 0, {now}, {now} + 86400000000 + id, 0, 'bot' FROM conversation WHERE created_at = {now};
"""


async def wait(url: str, count: int, now: int) -> None:
    """So many other customers whose turn comes tomorrow."""
    statements = _WAITING.format(count=count, now=now, number=PHONE_NUMBER_ID, body=_BODY)
    if url.startswith("sqlite"):
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        await asyncio.to_thread(file.execute, f"BEGIN; {statements} COMMIT")
        file.close()
        return
    connection = await asyncpg.connect(url, command_timeout=600)
    await connection.execute(statements)
    await connection.execute("VACUUM ANALYZE contact, contact_address, conversation, entry, lane")
    await connection.execute("CHECKPOINT")
    await connection.close()


class InstantBot:
    history = 0
    thinks = False

    async def answer(self, _: Turn) -> Answer:
        return "ok"

    async def close(self) -> None:
        """Nothing is open."""


class _Watched:
    """Lanes that tell whoever waits for an answer that it is committed."""

    def __init__(self, lanes: TurnQueue) -> None:
        self._lanes = lanes
        self.answered: dict[str, asyncio.Future[None]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lanes, name)

    async def commit(self, claim: TurnClaim, answered: TurnAnswer, now: Any) -> TurnCommitted | LeaseLost:
        done = await self._lanes.commit(claim, answered, now)
        assert isinstance(done, TurnCommitted), done
        waiting = self.answered.pop(claim.conversation.address)
        if not waiting.done():
            waiting.set_result(None)
        return done


class Hot:
    """A Ledger with its hot customers and one worker."""

    def __init__(self, world: World, watched: _Watched) -> None:
        self._world = world
        self._watched = watched
        self._numbers = itertools.count(1)

    async def turns(self, count: int) -> float:
        """So many, and how many a second it were; every customer is served equally often."""
        started = time.perf_counter()
        await asyncio.gather(*(self._customer(f"+4917{who:08d}", count // HOT) for who in range(HOT)))
        return count // HOT * HOT / (time.perf_counter() - started)

    async def _customer(self, phone: str, lines: int) -> None:
        for _ in range(lines):
            answered = self._watched.answered[phone] = asyncio.get_running_loop().create_future()
            await self._write(phone)
            await answered

    async def _write(self, phone: str) -> None:
        """As flow/receiving/receive_webhook.py does once a webhook is read."""
        world = self._world
        now = world.clock.now()
        told = InboundMessage(
            org_id=ORG,
            number=NumberId(PHONE_NUMBER_ID),
            wamid=Wamid(f"wamid.hot{next(self._numbers)}"),
            addresses=(f"phone:{phone}",),
            reply_to=phone,
            name="Sheena Nelson",
            username=None,
            at=now,
            type="text",
            body=_BODY,
            asks=True,
            opens_window=True,
            times=world.tuning.turns,
        )
        taken = await world.ledger.journal.apply_webhook(WebhookBatch([], [], [told], []), now)
        assert taken.arrived == 1
        world.hints.give([TURNS])


@asynccontextmanager
async def working(url: str, waiting: int) -> AsyncIterator[Hot]:
    """A burst is over at once: what is measured is what a turn costs."""
    async with connected(settings_for(url, "echo", turn_quiet_sec=0.0)) as world:
        await wait(url, waiting, world.clock.now())
        watched = _Watched(world.ledger.turn_queue)
        world.ledger.turn_queue = watched  # type: ignore[misc]  # the benchmark's own world
        converser = TurnWorker(world, InstantBot())
        running = [asyncio.create_task(converser.run()), asyncio.create_task(converser.keep())]
        freeze_gc.freeze_gc()
        try:
            yield Hot(world, watched)
        finally:
            await converser.stop(seconds(5))
            running[1].cancel()
            await asyncio.gather(*running, return_exceptions=True)
