"""Customers at their phones, who write in bursts, and people who take the floor and hand it back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from waypost.model.conversation import ANYBODY, ConversationId, Times
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.failure import LedgerError
from waypost.ports.ledger import Ledger
from waypost.runtime.simulation.callers import Org
from waypost.runtime.simulation.record import Record
from waypost.runtime.simulation.talking.record import Talk, TalkRecord
from waypost.sandbox import Said, Sandbox, SandboxNumber

T = TypeVar("T")
GAPS = (0.0, 0.0, 0.3, 1.5, 4.0)
"""Seconds, at most, between two lines of a burst."""
TOGETHER = 0.2
"""The share of bursts that come in one webhook."""
MOST_LINES = 6


class Writers:
    """Every customer of every number, each at their own pace; they run inside the provider's node."""

    def __init__(self, sandbox: Sandbox, dice: random.Random, record: Record, until: int) -> None:
        self._sandbox = sandbox
        self._dice = dice
        self._record = record
        self._until = until

    async def write(self, talks: list[tuple[SandboxNumber, str]], pace: float) -> None:
        await asyncio.gather(*(self._customer(number, phone, pace) for number, phone in talks))

    async def _customer(self, number: SandboxNumber, phone: str, pace: float) -> None:
        written, under_way = 0, []
        while await passed(self._dice.expovariate(1 / pace), self._record, self._until):
            lines = self._dice.randint(1, MOST_LINES)
            texts = [f"{number.phone_number_id[-1]}/{phone[-2:]}/{written + n}" for n in range(1, lines + 1)]
            written += lines
            under_way += await self._burst(number, phone.removeprefix("+"), texts)
        await asyncio.gather(*under_way)

    async def _burst(self, number: SandboxNumber, phone: str, texts: list[str]) -> list[asyncio.Task[object]]:
        """Nobody waits for the first webhook before they write the next line, so these may overtake each other."""
        phones, gap = self._sandbox.phones, self._dice.choice(GAPS)
        if self._dice.random() < TOGETHER:
            await phones.say_all(phone, number, Said(texts=texts, together=True))
            return []
        posts: list[asyncio.Task[object]] = []
        for text in texts:
            posts.append(asyncio.ensure_future(phones.say(phone, number, Said(text=text))))
            await asyncio.sleep(gap * self._dice.random())
        return posts


async def passed(span: float, record: Record, until: int) -> bool:
    """Some seconds go by; False when the storm is over."""
    await asyncio.sleep(min(span, max(0.0, (until - record.now()) / 1_000_000)))
    return record.now() < until


@dataclass(frozen=True)
class Agents:
    """They take the floor at random, and look after what the bot left to people."""

    ledger: Ledger
    times: Times
    talks: TalkRecord
    record: Record
    dice: random.Random
    now: Callable[[], Instant]
    until: int

    async def work(self, orgs: list[Org], phones: list[str]) -> None:
        await asyncio.gather(*(self._interrupt(org, phones) for org in orgs), self._tidy(orgs, phones))

    async def _interrupt(self, org: Org, phones: list[str]) -> None:
        while await passed(self.dice.expovariate(1 / 60), self.record, self.until):
            talk = (org.number, self.dice.choice(phones))
            where = await self._find(org, talk)
            if where is None:
                continue
            await self._give(org, talk, where, "agent-1")
            await asyncio.sleep(self.dice.choice((1, 10, 40)) * self.dice.random())
            await self._give(org, talk, where, None)

    async def _tidy(self, orgs: list[Org], phones: list[str]) -> None:
        """What waits for any person is given back to the bot now and then."""
        while await passed(self.dice.expovariate(1 / 45), self.record, self.until):
            for org in orgs:
                for phone in phones:
                    where = await self._find(org, (org.number, phone))
                    if where is not None and await self._waits(where) and self.dice.random() < 0.7:
                        await self._give(org, (org.number, phone), where, None)

    async def _waits(self, where: ConversationId) -> bool:
        lane = await _insist(lambda: self.ledger.conversations.lane(where))
        return lane is not None and lane.floor == ANYBODY

    async def _find(self, org: Org, talk: Talk) -> ConversationId | None:
        found = await _insist(lambda: self.ledger.conversations.at(OrgId(org.name), f"phone:{talk[1]}"))
        return next((each.id for each in found if each.number == talk[0]), None)

    async def _give(self, org: Org, talk: Talk, where: ConversationId, to: str | None) -> None:
        lanes, name = self.ledger.lanes, OrgId(org.name)
        change = self.talks.floor(talk, self.record.now(), to_bot=to is None)
        if to is None:
            await _insist(lambda: lanes.hand_back(name, where, self.times, self.now(), "agent-1"))
        else:
            await _insist(lambda: lanes.take_floor(name, where, to, self.now(), "agent-1"))
        change.answered = self.record.now()


async def _insist(call: Callable[[], Awaitable[T]]) -> T:
    """The same until the Ledger answers."""
    while True:
        try:
            return await call()
        except LedgerError:
            await asyncio.sleep(0.3)
