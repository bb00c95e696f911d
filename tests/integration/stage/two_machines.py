"""Servers that share only the database and Redis, as on separate machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import pytest

import waypost.adapters.redis.counters  # noqa: F401  # reads its script, once
from tests.integration.stage.harness import Stage
from tests.integration.stage.live_devices import House, house
from waypost.adapters.redis.connection import RedisConnection
from waypost.runtime.process.server import ALL_ROLES, ProcessRole, Server
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.hint_transports import open_hints

ON_POSTGRES = pytest.mark.parametrize("ledger", ["postgres"], indirect=True)


class Machine(NamedTuple):
    house: House
    line: RedisConnection

    @property
    def server(self) -> Server:
        return self.house.server


@asynccontextmanager
async def machines(
    stage: Stage, *urls: str, roles: frozenset[ProcessRole] = ALL_ROLES, **changed: Any
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
