"""Seed 001's own mechanism in place of our lanes: a lock by insert, a timer, a buffer that is drained, then a release.

It is given the best reading of its text: one shared database, a timer short enough for a simulation, orphaned messages
found at every start, nobody's `finally` forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace as with_parts
from typing import Any

from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.adapters.sqlite.store import SqliteStore
from waypost.flow.conversations import answer_turn
from waypost.flow.policy_cache import EffectivePolicy
from waypost.model.conversation import (
    Conversation,
    ConversationId,
    Entry,
    InboundMessage,
    Position,
    TurnClaim,
    TurnState,
    TurnTiming,
)
from waypost.model.time import Instant, as_seconds, minutes
from waypost.model.webhook import WebhookBatch
from waypost.ports.conversations.bot import Bot
from waypost.ports.conversations.turn_queue import TurnDemand, TurnTimingOf
from waypost.ports.platform.failure import LedgerError
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.rules.conversations import bot_answers
from waypost_testing.stories.cluster import ServerParts

TIMER = 3.0
"""Seconds. 65 in the seed: the shorter one is kinder to the mechanism."""
STALE = minutes(1)
"""Ten minutes in the seed, of which a run has four: what holds a lock for longer is taken for dead at a start."""
_TABLES = """
CREATE TABLE IF NOT EXISTS processing_lock (wa_id TEXT PRIMARY KEY, locked_at INTEGER, worker_pid TEXT);
CREATE TABLE IF NOT EXISTS message_buffer (id INTEGER PRIMARY KEY, wa_id TEXT, number TEXT, wamid TEXT);
"""


class MessageBuffer:
    """`message_buffer.py` of the seed: each of its calls is one transaction."""

    def __init__(self, store: SqliteStore) -> None:
        self._connection = store._connection
        self._connection.execute(_TABLES)

    async def _run(self, statement: str, *values: Any) -> list[Any]:
        await asyncio.sleep(0.001)
        rows = list(self._connection.execute(statement, values))
        await asyncio.sleep(0.001)
        return rows

    async def buffer_message(self, wa_id: str, told: InboundMessage) -> None:
        await self._run(
            "INSERT INTO message_buffer (wa_id, number, wamid) VALUES (?, ?, ?)", wa_id, told.number, told.wamid
        )

    async def try_acquire_processing_lock(self, wa_id: str, now: Instant, pid: str) -> bool:
        took = "INSERT INTO processing_lock VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING wa_id"
        return bool(await self._run(took, wa_id, now, pid))

    async def get_and_clear_buffered_messages(self, wa_id: str) -> list[str]:
        return [row[0] for row in await self._run("DELETE FROM message_buffer WHERE wa_id = ? RETURNING wamid", wa_id)]

    async def release_processing_lock(self, wa_id: str) -> None:
        await self._run("DELETE FROM processing_lock WHERE wa_id = ?", wa_id)

    async def cleanup_stale_locks(self, now: Instant) -> None:
        await self._run("DELETE FROM processing_lock WHERE locked_at < ?", now - STALE)

    async def orphans(self) -> list[str]:
        found = "SELECT DISTINCT wa_id FROM message_buffer WHERE wa_id NOT IN (SELECT wa_id FROM processing_lock)"
        return [row[0] for row in await self._run(f"{found} ORDER BY wa_id")]


class LockAndTimer:
    """One per life of a server, as one worker of the seed; the log is kept by the real server."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._buffer = MessageBuffer(parts.engine._store)
        self._started = False
        self._timers: list[asyncio.Task[None]] = []
        self._pid = ""

    # The service

    async def claim(self, demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Sequence[TurnClaim]:
        """The server's own worker finds nothing to do; its first look is the start of the service."""
        del times_of
        if not self._started:
            self._started, self._pid = True, demand.owner
            await self._buffer.cleanup_stale_locks(now)
            for wa_id in await self._buffer.orphans():
                await self._begin(wa_id)
        return []

    async def apply_webhook(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        """The webhook: buffer first, always; then the lock, and a timer for who gets it."""
        logged = replace(post, inbound=[replace(told, asks=False) for told in post.inbound])
        taken = await self._ledger.journal.apply_webhook(logged, now)
        for told in post.inbound:
            wa_id = f"{told.org_id}/{told.number}/{told.reply_to}"
            await self._buffer.buffer_message(wa_id, told)
            await self._begin(wa_id)
        return taken

    async def _begin(self, wa_id: str) -> None:
        if await self._buffer.try_acquire_processing_lock(wa_id, self._parts.clock.now(), self._pid):
            self._timers.append(asyncio.ensure_future(self._timer(wa_id)))

    async def _timer(self, wa_id: str) -> None:
        await asyncio.sleep(TIMER)
        try:
            wamids = await self._buffer.get_and_clear_buffered_messages(wa_id)
            if wamids:
                await self._process(wa_id, wamids)
        except LedgerError:
            pass  # logged, in the seed
        finally:
            await self._buffer.release_processing_lock(wa_id)

    # What the seed calls OpenAI

    async def _process(self, wa_id: str, wamids: list[str]) -> None:
        org, number, address = wa_id.split("/")
        talks = await self._ledger.conversations.at(org, f"phone:{address}")  # type: ignore[arg-type]  # an OrgId
        talk = next(each for each in talks if each.number == number)
        claim = _as_claim(talk, await self._entries(talk.id, wamids))
        bot: Bot = self._parts.bot  # type: ignore[assignment]  # there is one in this story
        turn = await answer_turn.build_turn(claim, bot, _World(self._ledger))  # type: ignore[arg-type]  # as much as it asks
        try:
            async with asyncio.timeout(as_seconds(TurnTiming().limit)):
                understood = bot_answers.parse_answer(await bot.answer(turn))
        except Exception:  # noqa: BLE001  # logged, in the seed
            return
        if isinstance(understood, bot_answers.Replies):
            for draft in answer_turn.drafts(claim, understood.payloads):
                await self._ledger.outbox.submit(draft, self._parts.clock.now())

    async def _entries(self, where: ConversationId, wamids: list[str]) -> list[Entry]:
        """In the order of the buffer, and as often as they are in it."""
        log = {each.wamid: each for each in await self._ledger.conversations.entries(where, Position(2**40), 10_000)}
        return [log[wamid] for wamid in wamids]  # type: ignore[index]  # they are all in the log


class _Defaults:
    """No org of these stories has set anything."""

    @staticmethod
    def known(_org: str) -> EffectivePolicy:
        return EffectivePolicy()


class _World:
    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self.history = ledger.history
        self.policies = _Defaults()


def _as_claim(talk: Conversation, burst: list[Entry]) -> TurnClaim:
    lo, hi = min(each.position for each in burst) - 1, max(each.position for each in burst)
    lane = TurnState(conversation_id=talk.id, org_id=talk.org_id, done=Position(lo), hi=Position(hi), tail=Position(hi))
    return TurnClaim(turn_state=lane, conversation=talk, contact=None, burst=tuple(burst), taken_over=False)


def lock_and_timer(parts: ServerParts) -> ServerParts:
    seed = LockAndTimer(parts)
    lanes = Overlay(parts.ledger.turn_queue, claim=seed.claim)
    journal = Overlay(parts.ledger.journal, apply_webhook=seed.apply_webhook)
    return with_parts(parts, ledger=Overlay(parts.ledger, turn_queue=lanes, journal=journal))
