"""One seed, one world of conversations: customers write, a bot answers, agents interrupt, and everything fails."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from waypost.adapters.sql.ledger import SqlLedger
from waypost.flow.world import Tuning
from waypost.model.conversation import TurnTiming
from waypost.model.time import Span, hours, minutes, seconds
from waypost.ports.conversations.bot import Bot
from waypost_testing.simulation import Node, Simulation
from waypost_testing.stories.cluster import GRAPH, WITHOUT_DEVICES, Cluster, CustomiseParts
from waypost_testing.stories.sending.trouble import Severity
from waypost_testing.stories.story import StoryPlan, StoryResult, StoryRun
from waypost_testing.stories.talking.bot import BotProfile, FaultyBot
from waypost_testing.stories.talking.people import SimulatedAgents, SimulatedCustomers
from waypost_testing.stories.talking.record import TurnRecord
from waypost_testing.stories.talking.trouble import TurnFaultInjector

PHONES = ("+491511234501", "+491511234502", "+491511234503")
LOOK_EVERY: Span = seconds(30)
SETTLED = minutes(60) // LOOK_EVERY
"""Checks without a change: an attempt goes stale after up to two limits of ten minutes, and a clock was ahead."""
LONGEST_CALM = hours(3) // LOOK_EVERY


@dataclass(frozen=True, kw_only=True)
class TurnScenarioPlan(StoryPlan):
    """What the seed decides before anything happens."""

    times: TurnTiming
    character: BotProfile
    pace: float
    """Mean seconds between two bursts of one customer."""
    tick: Span
    slots: int
    """Turns under way at once, per server."""

    @classmethod
    def drawn(cls, rng: random.Random) -> TurnScenarioPlan:
        return cls(
            times=_times(rng),
            character=BotProfile.drawn(rng, list(PHONES)),
            severity=Severity.drawn(rng),
            pace=rng.choice((15, 30, 45)),
            incidents=rng.choice((6, 12, 25)),
            tick=rng.choice((seconds(5), seconds(20))),
            slots=rng.choice((1, 3, 64)),
        )


def _times(rng: random.Random) -> TurnTiming:
    return TurnTiming(
        quiet=seconds(rng.choice((0.5, 3, 3))),
        max_wait=seconds(rng.choice((6, 65))),
        lease=seconds(rng.choice((2, 6, 6))),
        limit=seconds(rng.choice((12, 30))),
        supersede=rng.random() < 0.25,
        retries=rng.choice(((), (seconds(1),), (seconds(1), seconds(5)))),
        after_failure=rng.choice(("human", "bot")),
        on_hand_back=rng.choice(("answer", "answer", "skip")),
    )


@dataclass(frozen=True, kw_only=True)
class TurnScenarioResult(StoryResult):
    """The state when everything has come to rest: on the phones, in the bot's record, in the Ledger."""

    turns_record: TurnRecord
    times: TurnTiming
    screens: dict[str, list[dict[str, Any]]]
    """By phone, oldest first."""
    numbers: dict[str, str]
    """Wamid of a reply -> the number it came from."""
    entries: list[tuple[Any, ...]]
    """(number, address, conversation, position, wamid, sender), in order."""
    turns: list[tuple[Any, ...]]
    """(conversation, lo, hi, state), in order."""
    turn_states: dict[int, tuple[int, str]]
    """Conversation -> the position up to which it is done, and who has the floor."""
    replies: dict[str, tuple[str, str | None]]
    """Replies by their key: status and error code."""
    feeds: list[tuple[str, int, int]]
    """(feed, head, items)"""


class TalkingRun(StoryRun[TurnScenarioResult]):
    storm_hours = 0.06

    def __init__(self, sim: Simulation, dress: CustomiseParts) -> None:
        super().__init__(sim, dress)
        self.turns_record = TurnRecord()
        self.plan: TurnScenarioPlan = TurnScenarioPlan.drawn(sim.chance.stream("talk plan"))
        plan = self.plan
        tuning = Tuning(
            figures=False,
            indexing=False,
            webhook_tick=plan.tick,
            poll=plan.tick,
            quota=None,
            pace=1000,
            pair_burst=1000,
            turns=plan.times,
            turn_slots=plan.slots,
            answering=True,
        )
        self.cluster = Cluster(sim, self.record, tuning, self.ledger, dress, self._bot)
        self.cluster.roles = WITHOUT_DEVICES

    def _bot(self, node: Node) -> Bot:
        return FaultyBot(
            self.plan.character, self.turns_record, self.sim.chance.stream(f"bot:{node.name}"), self.record.now
        )

    def injector(self) -> TurnFaultInjector:
        return TurnFaultInjector(self.sim, self.cluster, self.sandbox, self.record)

    def begin(self, until: int) -> None:
        rng, floods = (self.sim.chance.stream(name) for name in ("customers", "floods"))
        writers = SimulatedCustomers(self.sandbox, rng, self.record, until, floods)
        chats = [(number, phone) for number in self.sandbox.numbers.all() for phone in PHONES]
        self.at_their_phones = self.sim.node(GRAPH).spawn(writers.write(chats, self.plan.pace))
        self.at_work = self.sim.node("agents").spawn(self._agents(until).work(self.orgs, list(PHONES)))

    async def finish(self) -> None:
        await asyncio.gather(self.at_their_phones, self.at_work)

    def _agents(self, until: int) -> SimulatedAgents:
        node = self.sim.node("agents")
        rng = self.sim.chance.stream("agents")
        ledger = SqlLedger(self.ledger.engine(node))
        return SimulatedAgents(
            ledger, self.plan.times, self.turns_record, self.record, rng, self.ledger.clock.now, until
        )

    async def _come_to_rest(self) -> None:
        """Wait until every turn has ended and every reply was sent, or nothing has changed for longer than any step."""
        seen: list[object] = []
        for _ in range(LONGEST_CALM):
            open_turns = self.ledger.rows(_OPEN_TURNS)
            restless = self.ledger.rows(
                "SELECT message_id, status, tries FROM delivery WHERE status IN ('QUEUED', 'SENDING')"
            )
            seen.append((open_turns, restless))
            still = len(seen) > SETTLED and all(past == seen[-1] for past in seen[-SETTLED:])
            if still or not (open_turns or restless):
                return
            await asyncio.sleep(LOOK_EVERY / 1_000_000)

    async def ending(self) -> TurnScenarioResult:
        await self._come_to_rest()
        await self.sandbox.settled()
        for ask in self.turns_record.asks:
            self.sim.trace.note("asked", id=ask.id, turn=ask.turn, begun=ask.begun, how=ask.how)
        replies = {key: (status, code) for key, status, code in self.ledger.rows(_REPLIES)}
        for key, (status, _) in replies.items():
            self.sim.trace.note("final", key=key, status=status)
        numbers = {call.wamid: call.phone_number_id for call in self.sandbox.calls.listed() if call.wamid}
        turns = self.ledger.rows("SELECT conversation_id, lo, hi, state FROM turn ORDER BY conversation_id, hi")
        return TurnScenarioResult(
            turns_record=self.turns_record,
            times=self.plan.times,
            screens={phone: self.sandbox.phones.screen(phone.removeprefix("+")) for phone in PHONES},
            numbers=numbers,
            entries=self.ledger.rows(_ENTRIES),
            turns=turns,
            turn_states={where: (done, floor) for where, done, floor in self.ledger.rows(_TURN_STATES)},
            replies=replies,
            feeds=self.ledger.rows(_FEEDS),
            messages=len(replies) + len(self.record.inbound),
            accepted=len(numbers),
            standing=Counter([*(status for status, _ in replies.values()), *(f"turns {how}" for *_, how in turns)]),
            **self.ended(),
        )


_OPEN_TURNS = (
    "SELECT * FROM lane WHERE owner IS NOT NULL OR (due_at IS NOT NULL AND tail > done) ORDER BY conversation_id"
)
_REPLIES = """SELECT m.org_id || '/' || m.idempotency_key, d.status, d.error_code
FROM message m JOIN delivery d ON d.message_id = m.id ORDER BY m.id"""
_ENTRIES = """SELECT c.number, c.address, e.conversation_id, e.position, e.wamid, e.sender
FROM entry e JOIN conversation c ON c.id = e.conversation_id ORDER BY e.conversation_id, e.position"""
_TURN_STATES = "SELECT conversation_id, done, floor FROM lane ORDER BY conversation_id"
_FEEDS = """SELECT f.name, f.head,
    (SELECT count(*) FROM feed_item i WHERE i.feed = f.name AND i.seq BETWEEN 1 AND f.head)
FROM feed f ORDER BY f.name"""
