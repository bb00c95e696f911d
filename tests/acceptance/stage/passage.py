"""One trouble, met by a steady flow of messages: what callers saw, how long it took, and whether anything is amiss."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.acceptance.stage.clients import OUTAGE, Answer, Api, Sandbox, clients
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.inside import violations
from tests.acceptance.stage.storm import FAULTS, Callers, Storm, Verdict, Wish, wishes
from tests.acceptance.stage.talking import say
from tests.recording import recorded

PER_SECOND = 100
AT_FIRST = 60
"""Messages that were acknowledged before the trouble begins."""
CUSTOMER = "15557000001"

Trouble = Callable[[], Awaitable[None]]
"""Begins, lasts, and returns when its cause is gone."""


class Seen(NamedTuple):
    """An answer to a caller, or none."""

    at: float
    status: int
    code: str
    retry_after: str

    def __str__(self) -> str:
        if not self.status:
            return "no answer"
        return f"{self.status} {self.code}".strip() + (f", Retry-After {self.retry_after}" if self.retry_after else "")


@dataclass(frozen=True)
class Witness(Api):
    """The API, and every answer that it gave."""

    seen: list[Seen] = field(default_factory=list)

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        try:
            sent = self.headers | headers
            async with self.session.request(method, self.url + path, json=body, headers=sent) as reply:
                is_json = reply.content_type.endswith("json")
                content: Any = await reply.json() if is_json else await reply.text()
                retry_after = reply.headers.get("retry-after", "")
        except OUTAGE:
            self.seen.append(Seen(time.monotonic(), 0, "", ""))
            raise
        code = content.get("code", "") if reply.status >= 400 and isinstance(content, dict) else ""
        self.seen.append(Seen(time.monotonic(), reply.status, code, retry_after))
        return Answer(reply.status, content)


@dataclass(frozen=True)
class PassageResult:
    """How it went."""

    verdict: Verdict
    lasted: float
    refused: Sequence[Seen]
    normal_after: float
    """Seconds from the end of the cause to a message that was posted after it and is DELIVERED."""
    lines: int
    """Of a customer, each once in the log."""

    @property
    def refusals(self) -> set[str]:
        return {str(seen) for seen in self.refused}

    @property
    def refused_for(self) -> float:
        return self.refused[-1].at - self.refused[0].at if self.refused else 0.0

    def __str__(self) -> str:
        counts = Counter(map(str, self.refused))
        answers = "; ".join(f"{count} times {answer}" for answer, count in counts.items()) or "nothing"
        return (
            f"lasted {self.lasted:.1f} s; callers saw: {answers}; refused for {self.refused_for:.1f} s; "
            f"normal {self.normal_after:.1f} s after its end; {self.verdict}; customer's lines {self.lines}"
        )


@dataclass
class Passage:
    here: Site
    api: Witness
    sandbox: Sandbox
    seed: int
    faults: Sequence[dict[str, Any]] = tuple(FAULTS)
    per_second: float = PER_SECOND

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._storm = Storm(self.api, self.sandbox, _nothing, self.seed, messages=0, strikes=1)
        self.callers = Callers(self.api)
        self._over = asyncio.Event()
        self._lines: list[str] = []
        self._in_doubt: set[str] = set()

    async def through(self, trouble: Trouble) -> PassageResult:
        for fault in self.faults:
            await self.sandbox.fault(**fault)
        self.callers.start()
        flowing = [asyncio.ensure_future(self._feed()), asyncio.ensure_future(self._complain())]
        await self._acknowledged(AT_FIRST)
        began = time.monotonic()
        await trouble()
        ended = time.monotonic()
        normal = await self._normal_since(ended)
        self._over.set()
        await asyncio.gather(*flowing)
        await self.callers.finish()
        await self._storm.come_to_rest()
        lines = await self._all_lines()
        refused = [seen for seen in self.api.seen if seen.at > began and not 0 < seen.status < 500]
        return PassageResult(await self._storm.judged(self.callers), ended - began, refused, normal, lines)

    async def _feed(self) -> None:
        some = wishes(100_000, self._dice)
        for wish in some:
            if self._over.is_set():
                return
            self.callers.hand_over([wish])
            await asyncio.sleep(1 / self.per_second)

    async def _complain(self) -> None:
        """The sandbox posts a line again until it is taken, as Meta does."""
        for number in itertools.count():
            if self._over.is_set():
                return
            line = f"line {number}"
            try:
                await say(self.sandbox, CUSTOMER, text=line)
                self._lines.append(line)
            except OUTAGE:  # the sandbox's own answer was lost: it may have taken the line, or not
                self._in_doubt.add(line)
            await asyncio.sleep(0.1)

    async def _acknowledged(self, count: int) -> list[Wish]:
        async def as_many() -> list[Wish]:
            return self.callers.posted[count - 1 :]

        found: list[Wish] = await until(as_many, f"{count} messages are acknowledged")
        return found

    async def _normal_since(self, ended: float) -> float:
        """Whichever of the first few is first: some of them meet a fault of the provider."""
        known = len(self.callers.posted)
        await self._acknowledged(known + 1)

        async def one_is_delivered() -> bool:
            fresh = [wish.id for wish in self.callers.posted[known:] if wish.kind in ("plain", "keyed")][:5]
            views = [await self.api.message(id_) for id_ in fresh if id_ is not None]
            return any(view["status"] == "DELIVERED" for view in views)

        await until(one_is_delivered, "a message that was posted after the trouble is delivered")
        return time.monotonic() - ended

    async def conversation(self) -> str:
        """The customer's."""
        found = (await self.api.get(f"/api/v1/conversations?phone={CUSTOMER}"))["conversations"]
        assert len(found) == 1, found
        return str(found[0]["conversation_id"])

    async def _all_lines(self) -> int:
        where = await self.conversation()

        async def all_there() -> bool:
            texts, whole = await self.history(where)
            assert len(set(texts)) == len(texts), "no line is there twice"
            return whole and set(self._lines) <= set(texts) <= {*self._lines, *self._in_doubt}

        await until(all_there, "every line of the customer is in the log, once")
        return len(self._lines)

    async def history(self, conversation: str) -> tuple[list[str], bool]:
        """Newest first, and whether it could be read to its beginning."""
        texts: list[str] = []
        cursor = ""
        while True:
            answer = await self.api.ask("GET", f"/api/v1/conversations/{conversation}/messages?limit=200{cursor}")
            if answer.status == 503:
                return texts, False
            assert answer.status == 200, answer
            contents = [each["content"] for each in answer.body["messages"]]
            lost = sum(content["type"] == "unavailable" for content in contents)
            assert not lost, f"{lost} messages lost their text"
            texts += [content["text"] for content in contents]
            if not answer.body["has_more"]:
                return texts, True
            cursor = f"&cursor={answer.body['next_cursor']}"


async def _nothing() -> None: ...


@asynccontextmanager
async def passage(here: Site, seed: int, **more: Any) -> AsyncIterator[Passage]:
    """On a site that is connected and served."""
    async with clients(here) as (api, sandbox):
        await api.ready()
        yield Passage(here, Witness(api.session, api.url, api.headers), sandbox, seed, **more)


def _ids(wishes: Sequence[Wish]) -> set[int | None]:
    return {wish.id for wish in wishes}


async def check(told: PassageResult, here: Site, strikes: int = 1) -> None:
    """Nothing lost, doubled or reordered; the loss detector finds nothing; no bug in the logs, and no secret."""
    with recorded(here.footprint, strikes):
        assert not told.verdict.lost, [each for each in told.verdict.views if each["id"] in _ids(told.verdict.lost)]
        told.verdict.check()
        assert not await violations(here)
        logs = here.logs()
        assert "Traceback" not in logs, logs[logs.index("Traceback") - 300 :][:3000]
        secrets = (here.token, here.app_secret, here.verify_token, here.api_key)
        assert not [secret for secret in secrets if secret in logs]
