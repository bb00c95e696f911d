"""Servers that share nothing but the database and Redis, as on machines of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import pytest

import waypost.adapters.redis.counters  # noqa: F401  # reads its script, once
from tests.integration.harness import Stage
from tests.integration.live_devices import House, house
from waypost.adapters.redis.line import Line
from waypost.runtime.reaching import open_hints
from waypost.runtime.server import ALL_ROLES, Role, Server
from waypost.runtime.settings import Settings

ON_POSTGRES = pytest.mark.parametrize("ledger", ["postgres"], indirect=True)


class Machine(NamedTuple):
    house: House
    line: Line

    @property
    def server(self) -> Server:
        return self.house.server


@asynccontextmanager
async def machines(
    stage: Stage, *urls: str, roles: frozenset[Role] = ALL_ROLES, **changed: Any
) -> AsyncIterator[list[Machine]]:
    """One for each address of a Redis."""
    async with AsyncExitStack() as stack:
        made = []
        for url in urls:
            hints, line = open_hints(Settings(redis_url=url))
            assert line is not None
            server = await stage.add_server(roles, hints=hints, redis=line, **changed)
            await asyncio.wait_for(line.until(up=True), 15)
            made.append(Machine(await stack.enter_async_context(house(stage, server)), line))
        yield made
