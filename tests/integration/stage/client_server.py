"""One real server process, for tests that meet it as a client does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.stage.harness import ORG, site, until
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.ports.platform.http_transport import ConnectFailed, ConnectionCut


@dataclass(frozen=True)
class Served:
    url: str
    port: int
    admin_key: str


@contextmanager
def a_server(folder: Path) -> Iterator[Served]:
    """On SQLite; each test has users and conversations of its own."""
    with site(folder, f"sqlite:///{folder / 'waypost.db'}") as here:
        assert here.run("migrate").code == 0
        key = here.run("admin", "create-org", ORG, "--json").fields["api_key"]
        here.serve()
        asyncio.run(until(lambda: _ready(here.url), "the server is ready"))
        yield Served(here.url, here.port, key)


async def _ready(url: str) -> bool:
    wire = ReqwestTransport("cases")
    try:
        return (await wire.request("GET", f"{url}/readyz", headers={}, timeout=20)).status == 200
    except (ConnectFailed, ConnectionCut):
        return False
    finally:
        await wire.close()
