"""The contracts of hints and whereabouts on Redis, and what only Redis has: keys that others know, and trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis as Library

from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.whereabouts import LocalWhereabouts
from waypost.adapters.redis.line import Line
from waypost.adapters.redis.whereabouts import RedisWhereabouts
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, seconds
from waypost.ports.hints import OUTBOX
from waypost.ports.whereabouts import Presence
from waypost.runtime.reaching import open_hints
from waypost.runtime.settings import Settings
from waypost.testing.clock import ManualClock
from waypost.testing.contracts.hints import NOW, SOON, HintsContract, NeighbourContract, TwoHints
from waypost.testing.contracts.whereabouts import WhereaboutsContract

ORG, ANN, PHONE, LAPTOP = OrgId("acme"), UserId("ann"), DeviceId("phone"), DeviceId("laptop")


class Machine:
    """One process as the server has it: its hints, and the line by which they go further."""

    def __init__(self, settings: Settings) -> None:
        self.hints, line = open_hints(settings)
        assert line is not None
        self.line: Line = line

    async def close(self) -> None:
        self.hints.close()
        assert self.line._task is not None
        await asyncio.wait_for(asyncio.gather(self.line._task, return_exceptions=True), 10)


@pytest.fixture
async def machines(redis_url: str) -> AsyncIterator[Callable[..., Any]]:
    made: list[Machine] = []

    async def machine(url: str = redis_url, folder: str = "") -> Machine:
        made.append(Machine(replace(Settings(), redis_url=url, hints_dir=folder)))
        await asyncio.wait_for(made[-1].line.until(up=True), 10)
        return made[-1]

    yield machine
    for each in made:
        await each.close()


@pytest.fixture
async def library(redis_url: str) -> AsyncIterator[Library]:
    async with Library.from_url(redis_url, decode_responses=True) as client:
        yield client


async def told(line: Line) -> None:
    """Everything that waited has gone to Redis."""
    while line._topics or line._writes or line._busy:
        await asyncio.sleep(0.001)


class TestRedisHints(HintsContract, NeighbourContract):
    @pytest.fixture
    async def two_hints(self, machines: Callable[..., Any]) -> TwoHints:
        return (await machines()).hints, (await machines()).hints

    @pytest.fixture
    def hints(self, two_hints: TwoHints) -> ProcessHints:
        return two_hints[0]  # type: ignore[return-value]  # made above

    @pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
    async def test_neighbours_are_told_once_and_other_machines_too(
        self, machines: Callable[..., Any], tmp_path: Path
    ) -> None:
        folder = str(tmp_path / "hints")
        here, beside, far = await machines(folder=folder), await machines(folder=folder), await machines()
        heard: list[list[str]] = []
        listen, beside.hints.hear = beside.hints.hear, heard.append
        beside.line._hear = heard.append
        with far.hints.listen(OUTBOX) as there, beside.hints.listen("answer"):
            here.hints.give([OUTBOX])
            assert await there.wait(SOON)
            far.hints.give(["answer"])
            while ["answer"] not in heard:
                await asyncio.sleep(0.001)
        assert heard in ([["answer"]], [[OUTBOX], ["answer"]])  # by datagram or not at all, never by Redis

    async def test_another_database_of_the_same_server_hears_nothing(
        self, machines: Callable[..., Any], redis_url: str
    ) -> None:
        here, there, other = await machines(), await machines(), await machines(url=redis_url.replace("/0", "/1"))
        with there.hints.listen(OUTBOX) as ear, other.hints.listen(OUTBOX) as deaf:
            here.hints.give([OUTBOX])
            assert await ear.wait(SOON)
            assert not await deaf.wait(NOW)
