"""A database of its own for every run, so that no peer inherits another's bloat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg


@asynccontextmanager
async def fresh(url: str, name: str) -> AsyncIterator[str]:
    """Creates database `name` on the server of `url`, gives its URL, and drops it afterwards."""
    admin = await asyncpg.connect(url)
    try:
        await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await admin.execute(f'CREATE DATABASE "{name}"')
        await admin.execute("CHECKPOINT")  # the last run's dirty pages are not this run's cost
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
        await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    finally:
        await admin.close()
