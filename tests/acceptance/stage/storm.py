"""Thousands of messages through faults and kills, and a verdict from the provider's record and the API's answers."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.stage.clients import OUTAGE, UNREACHED, Api, Sandbox
from tests.acceptance.stage.harness import until

TURNS = 10
"""Recipients whose messages must stay in order."""
FATAL = "+1555000131026"
"""A magic number: every message to it is refused for good."""
REPORTED = "+15550006666"
"""Messages to it are accepted, and then a status says that they failed."""
CALLERS = 16
CALM_AFTER = 15.0
"""Seconds of kills, at most, before everything that was reported gets the time to arrive."""

FAULTS: list[dict[str, Any]] = [
    {"to": REPORTED, "status_error": 131026},
    {"type": "location", "echo": False},
    {"type": "text", "probability": 0.05, "drop_response": True},
    {"type": "text", "probability": 0.02, "accept_then_raw_status": 502},
    {"probability": 0.2, "delay_ms": 150},
    {"probability": 0.1, "status_first": True},
    {"probability": 0.1, "duplicate_statuses": 2},
    {"probability": 0.1, "reorder_statuses": True},
    {"probability": 0.03, "error_code": 131016},
    {"probability": 0.02, "http_status": 500},
]


@dataclass
class Wish:
    """A message as its caller wants it; the mark in its text is how the checker knows it again."""

    mark: str
    kind: str
    to: str
    key: str | None
    id: int | None = None
    """Once it was acknowledged."""

    @property
    def message(self) -> dict[str, Any]:
        content: dict[str, Any] = {"type": "text", "text": {"body": self.mark}}
        if self.kind == "nameless":
            content = {"type": "location", "location": {"latitude": 1, "longitude": 2, "name": self.mark}}
        wish = {"to": self.to, "payloadJson": content, "ordered": self.kind == "ordered", "maxAttempts": 10}
        return wish | ({"idempotencyKey": self.key} if self.key else {})


def wishes(count: int, dice: random.Random) -> list[Wish]:
    """A mix: most without order, some to few recipients in order, some without an echo, a few that must fail."""
    kinds = dice.choices(
        ["plain", "keyed", "ordered", "nameless", "fatal", "reported"], [35, 35, 15, 10, 2.5, 2.5], k=count
    )
    return [_wish(number, kind, dice) for number, kind in enumerate(kinds)]


def _wish(number: int, kind: str, dice: random.Random) -> Wish:
    to = {"ordered": f"+1555100{dice.randrange(TURNS):04}", "fatal": FATAL, "reported": REPORTED}
    key = None if kind == "plain" else f"key-{number}"
    return Wish(f"{number:06} {kind}", kind, to.get(kind, f"+1555200{number:06}"), key)


@dataclass
class Callers:
    """They post what is handed to them: in order where order is wanted, again with the same key when in doubt."""

    api: Api
    posted: list[Wish] = field(default_factory=list)
    in_doubt: list[Wish] = field(default_factory=list)
    """Posted without a key and not answered: sent once or not at all."""
    _shared: asyncio.Queue[Wish] = field(default_factory=asyncio.Queue)
    _lanes: dict[str, asyncio.Queue[Wish]] = field(default_factory=lambda: defaultdict(asyncio.Queue))
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._tasks = [asyncio.ensure_future(self._post_from(self._shared)) for _ in range(CALLERS)]

    def hand_over(self, some: list[Wish]) -> None:
        for wish in some:
            if wish.kind != "ordered":
                self._shared.put_nowait(wish)
                continue
            if wish.to not in self._lanes:
                self._tasks.append(asyncio.ensure_future(self._post_from(self._lanes[wish.to])))
            self._lanes[wish.to].put_nowait(wish)

    async def finish(self) -> None:
        for queue in [self._shared, *self._lanes.values()]:
            await queue.join()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _post_from(self, queue: asyncio.Queue[Wish]) -> None:
        while True:
            wish = await queue.get()
            await self._post(wish)
            queue.task_done()

    async def _post(self, wish: Wish) -> None:
        while True:
            taken = await self._taken(wish)
            if taken:
                return
            if taken is None and wish.key is None:  # what is sent again is another message
                self.in_doubt.append(wish)
                wish = Wish(wish.mark + "'", wish.kind, wish.to, None)
            await asyncio.sleep(0.05)

    async def _taken(self, wish: Wish) -> bool | None:
        """None when nobody can say."""
        try:
            answer = await self.api.post(wish.message)
        except UNREACHED:
            return False
        except OUTAGE:
            return None
        if answer.status >= 500:
            return None
        assert answer.status in (200, 201), answer
        wish.id = answer.body["id"]
        self.posted.append(wish)
        return True


@dataclass
class Storm:
    """Messages while something is killed again and again; then calm, then the verdict."""

    api: Api
    sandbox: Sandbox
    strike: Callable[[], Awaitable[None]]
    """Kills something and returns when it is up again."""
    seed: int
    messages: int
    strikes: int
    pause: tuple[float, float] = (0.05, 1.0)
    """Seconds between a load of messages and the strike into it."""

    async def rage(self) -> Verdict:
        dice = random.Random(self.seed)
        for fault in FAULTS:
            await self.sandbox.fault(**fault)
        callers = Callers(self.api)
        callers.start()
        load = wishes(self.messages, dice)
        share = -(-self.messages // self.strikes)
        calm_at = time.monotonic() + CALM_AFTER
        for start in range(0, self.messages, share):
            callers.hand_over(load[start : start + share])
            await asyncio.sleep(dice.uniform(*self.pause))  # the moment of the strike is drawn, not waited for
            await self.strike()
            if time.monotonic() > calm_at:
                await self._calm()
                calm_at = time.monotonic() + CALM_AFTER
        await callers.finish()
        await self.come_to_rest()
        return await self.judged(callers)

    async def _calm(self) -> None:
        """Until we know of everything that the provider has accepted: no outage of ours is longer than its patience."""

        async def heard_of_all() -> bool:
            sending = {mark_of(m["payloadJson"]) for m in await self.api.with_status("SENDING")}
            accepted = {mark_of(call["body"]) for call in await self.sandbox.calls() if call["wamid"]}
            return not any("nameless" not in mark for mark in sending & accepted)

        await until(heard_of_all, "every status has arrived")

    async def come_to_rest(self) -> None:
        parked: set[int] = set()

        async def at_rest() -> bool:
            moving = await self.api.on_the_way(parked)
            for message in moving:
                if "parked" not in await self.api.timeline(message["id"]):
                    return False
                parked.add(message["id"])
            return not moving

        await until(at_rest, "every message has come to its end", within=120)

    async def judged(self, callers: Callers) -> Verdict:
        accepted: dict[str, list[str]] = defaultdict(list)
        for call in await self.sandbox.calls():
            accepted[mark_of(call["body"])] += [call["wamid"]] if call["wamid"] else []
        screens = {phone: await self.sandbox.screen(phone) for phone in messages_by_phone(callers.posted)}
        return Verdict(self.strikes, callers.posted, callers.in_doubt, accepted, await self.api.everything(), screens)


def mark_of(content: dict[str, Any]) -> str:
    mark: str = content["text"]["body"] if content["type"] == "text" else content["location"]["name"]
    return mark


def messages_by_phone(posted: list[Wish]) -> dict[str, list[str]]:
    """What each recipient of ordered messages must see."""
    marks: dict[str, list[str]] = defaultdict(list)
    for wish in posted:
        if wish.kind == "ordered":
            marks[wish.to].append(wish.mark)
    return {phone: sorted(found) for phone, found in marks.items()}


@dataclass
class Verdict:
    """Every way in which a promise was broken, each with the messages that tell of it; and the counts."""

    strikes: int
    posted: list[Wish]
    in_doubt: list[Wish]
    accepted: dict[str, list[str]]
    """By mark: the provider's ids for it."""
    views: list[dict[str, Any]]
    screens: dict[str, list[dict[str, Any]]]

    def __post_init__(self) -> None:
        wished = {wish.mark: wish for wish in [*self.posted, *self.in_doubt]}
        stored = self.stored = {mark_of(view["payloadJson"]): view for view in self.views}
        promised = [*self.posted, *(wish for wish in self.in_doubt if wish.mark in stored)]
        self.lost = [wish for wish in promised if wish.mark not in stored or len(self._calls(wish)) < _owed(wish)]
        self.doubled = [mark for mark, ids in self.accepted.items() if len(ids) > 1]
        marks = Counter(mark_of(view["payloadJson"]) for view in self.views)
        self.doubled += [mark for mark, count in marks.items() if count > 1]
        self.refused_but_sent = [wish for wish in promised if len(self._calls(wish)) > _owed(wish)]
        self.strangers = sorted((self.accepted.keys() | stored.keys()) - wished.keys())
        self.wrong_end = [
            (wish.mark, view["status"], view["errorCode"], view["providerMessageId"], self._calls(wish))
            for wish in promised
            if (view := stored.get(wish.mark)) and not self._ended_well(wish, view)
        ]
        expected = messages_by_phone(self.posted)
        seen = {phone: [shown["text"] for shown in screen] for phone, screen in self.screens.items()}
        self.reordered = [(phone, expected[phone], seen[phone]) for phone in expected if seen[phone] != expected[phone]]
        self.parked = [view["id"] for view in self.views if view["status"] == "SENDING"]

    def _calls(self, wish: Wish) -> list[str]:
        return self.accepted.get(wish.mark, [])

    def _ended_well(self, wish: Wish, view: dict[str, Any]) -> bool:
        if wish.kind in ("fatal", "reported"):
            return (view["status"], view["errorCode"]) == ("FAILED", "131026")
        delivered = view["status"] == "DELIVERED" and [view["providerMessageId"]] == self._calls(wish)
        # Accepted, the answer lost with a killed process, and no echo to tell whose status it is: left to a person.
        unknowable = wish.kind == "nameless" and (view["status"], view["errorCode"]) == ("SENDING", "UNSURE")
        return delivered or unknowable

    def __str__(self) -> str:
        return (
            f"strikes {self.strikes}, messages {len(self.posted)}, in doubt {len(self.in_doubt)}, "
            f"parked {len(self.parked)}, lost {len(self.lost)}, doubled {len(self.doubled)}, "
            f"reordered {len(self.reordered)}"
        )

    def check(self) -> None:
        assert not self.lost, [(wish, self.stored.get(wish.mark)) for wish in self.lost[:10]]
        assert not self.doubled, self.doubled[:10]
        assert not self.refused_but_sent, self.refused_but_sent[:10]
        assert not self.reordered, self.reordered[:1]
        assert not self.strangers, self.strangers[:10]
        assert not self.wrong_end, self.wrong_end[:10]


def _owed(wish: Wish) -> int:
    """Calls that the provider must have accepted."""
    return 0 if wish.kind == "fatal" else 1
