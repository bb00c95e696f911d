"""Customers at their phones, who write in bursts, and agents who take the floor and return it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from waypost.model.conversation import ANYBODY, ConversationId, TurnTiming
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import LedgerError
from waypost.rules.conversations.turn_state import MOST_MESSAGES
from waypost.sandbox import Sandbox, SandboxNumber, SayRequest
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.sending.callers import SimulatedOrg
from waypost_testing.stories.talking.record import CustomerKey, TurnRecord

T = TypeVar("T")
GAPS = (0.0, 0.0, 0.3, 1.5, 4.0)
"""Seconds, at most, between two lines of a burst."""
TOGETHER = 0.2
"""The share of bursts that come in one webhook."""
MOST_LINES = 6
FLOODS = 0.02
"""The share of bursts that are longer than any turn may be."""
FLOOD_LINES = (MOST_MESSAGES + 1, 3 * MOST_MESSAGES)


class SimulatedCustomers:
    """Every customer of every number, each at their own pace; they run inside the provider's node."""

    def __init__(
        self,
        sandbox: Sandbox,
        rng: random.Random,
        record: SimulationRecord,
        until: int,
        floods: random.Random | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._rng = rng
        self._floods = floods
        self._record = record
        self._until = until

    async def write(self, turns_record: list[tuple[SandboxNumber, str]], pace: float) -> None:
        await asyncio.gather(*(self._customer(number, phone, pace) for number, phone in turns_record))

    async def _customer(self, number: SandboxNumber, phone: str, pace: float) -> None:
        written, under_way = 0, []
        while await passed(self._rng.expovariate(1 / pace), self._record, self._until):
            lines = self._rng.randint(1, MOST_LINES)
            if self._floods is not None and self._floods.random() < FLOODS:
                lines = self._floods.randint(*FLOOD_LINES)
            texts = [f"{number.phone_number_id[-1]}/{phone[-2:]}/{written + n}" for n in range(1, lines + 1)]
            written += lines
            under_way += await self._burst(number, phone.removeprefix("+"), texts)
        await asyncio.gather(*under_way)

    async def _burst(self, number: SandboxNumber, phone: str, texts: list[str]) -> list[asyncio.Task[object]]:
        """Customers do not wait for the first webhook before the next message, so webhooks may overtake each other."""
        phones, gap = self._sandbox.phones, self._rng.choice(GAPS)
        if self._rng.random() < TOGETHER:
            await phones.say_all(phone, number, SayRequest(texts=texts, together=True))
            return []
        posts: list[asyncio.Task[object]] = []
        for text in texts:
            posts.append(asyncio.ensure_future(phones.say(phone, number, SayRequest(text=text))))
            await asyncio.sleep(gap * self._rng.random())
        return posts


async def passed(span: float, record: SimulationRecord, until: int) -> bool:
    """Let some seconds pass; False when the storm is over."""
    await asyncio.sleep(min(span, max(0.0, (until - record.now()) / 1_000_000)))
    return record.now() < until


@dataclass(frozen=True)
class SimulatedAgents:
    """Agents take the floor at random, and handle what the bot left to them."""

    ledger: Ledger
    times: TurnTiming
    turns_record: TurnRecord
    record: SimulationRecord
    rng: random.Random
    now: Callable[[], Instant]
    until: int

    async def work(self, orgs: list[SimulatedOrg], phones: list[str]) -> None:
        await asyncio.gather(*(self._interrupt(org, phones) for org in orgs), self._tidy(orgs, phones))

    async def _interrupt(self, org: SimulatedOrg, phones: list[str]) -> None:
        while await passed(self.rng.expovariate(1 / 60), self.record, self.until):
            conversation = (org.number, self.rng.choice(phones))
            where = await self._find(org, conversation)
            if where is None:
                continue
            await self._give(org, conversation, where, "agent-1")
            await asyncio.sleep(self.rng.choice((1, 10, 40)) * self.rng.random())
            await self._give(org, conversation, where, None)

    async def _tidy(self, orgs: list[SimulatedOrg], phones: list[str]) -> None:
        """Return conversations that wait for an agent to the bot now and then."""
        while await passed(self.rng.expovariate(1 / 45), self.record, self.until):
            for org in orgs:
                for phone in phones:
                    where = await self._find(org, (org.number, phone))
                    if where is not None and await self._waits(where) and self.rng.random() < 0.7:
                        await self._give(org, (org.number, phone), where, None)

    async def _waits(self, where: ConversationId) -> bool:
        turn_state = await _insist(lambda: self.ledger.conversations.turn_state(where))
        return turn_state is not None and turn_state.floor == ANYBODY

    async def _find(self, org: SimulatedOrg, conversation: CustomerKey) -> ConversationId | None:
        found = await _insist(lambda: self.ledger.conversations.at(OrgId(org.name), f"phone:{conversation[1]}"))
        return next((each.id for each in found if each.number == conversation[0]), None)

    async def _give(self, org: SimulatedOrg, conversation: CustomerKey, where: ConversationId, to: str | None) -> None:
        turn_states, name = self.ledger.turn_queue, OrgId(org.name)
        change = self.turns_record.floor(conversation, self.record.now(), to_bot=to is None)
        if to is None:
            await _insist(lambda: turn_states.hand_back(name, where, self.times, self.now(), "agent-1"))
        else:
            await _insist(lambda: turn_states.take_floor(name, where, to, self.now(), "agent-1"))
        change.answered = self.record.now()


async def _insist(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat until the Ledger answers."""
    while True:
        try:
            return await call()
        except LedgerError:
            await asyncio.sleep(0.3)
