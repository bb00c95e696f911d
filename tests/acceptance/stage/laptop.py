"""The demo on somebody's laptop: nothing is set, it makes what it needs."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.acceptance.conftest import POLICY
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.harness import UNSET, Program, Site, until


def bare(here: Site) -> Site:
    here.settings |= {"WAYPOST_SECRET_KEY": UNSET, "WAYPOST_DATABASE_URL": UNSET, "WAYPOST_LOG_LEVEL": UNSET}
    here.settings |= dict.fromkeys(POLICY, UNSET)
    return here


def start(here: Site, *arguments: str, **settings: str) -> Program:
    ports = ["--port", str(here.port), "--sandbox-port", str(here.sandbox_port)]
    return here.start("demo", *ports, "--data", "data", *arguments, **settings)


async def first_line(running: Program) -> Any:
    async def written() -> str | None:
        line, end, _ = running.output.partition("\n")
        return line if end else None

    return json.loads(await until(written, "the demo prints its first line"))


@asynccontextmanager
async def demo(here: Site, **settings: str) -> AsyncIterator[tuple[dict[str, str], Api, Sandbox]]:
    """The demo while it runs; then it is stopped as Ctrl-C does, and must end well."""
    running = start(here, "--json", **settings)
    facts = await first_line(running)
    async with clients(here, api_key=facts["api_key"]) as (api, sandbox):
        await api.ready()
        yield facts, api, sandbox
    running.signal(signal.SIGINT)
    assert await asyncio.to_thread(running.ended) == 0, running.output
