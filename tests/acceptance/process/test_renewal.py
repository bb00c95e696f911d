"""SIGHUP renews a server's processes one by one: no request fails, nothing is lost, and a bad start changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.harness import Program, Site, until

RENEWALS = int(os.environ.get("WAYPOST_TEST_RENEWALS", "1"))
CALLERS = 8
GOING_AWAY = 4001
MOST_CONNECTIONS = 11
"""Of one process, as docs/how-to/run-on-postgresql.md says."""


def events(running: Program, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in running.output.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


async def happened(running: Program, name: str, times: int) -> None:
    async def so_often() -> bool:
        return len(events(running, name)) >= times

    await until(so_often, f"{name} {times} times")


class Hammer:
    """Callers who never wait: some keep their connection, some open one for each request, some read."""

    def __init__(self, keeping: Api, opening: Api) -> None:
        self.failures: list[str] = []
        self.ids: list[int] = []
        self.requests = 0
        self._stopping = False
        self._jobs: list[Callable[[int], Awaitable[None]]] = [
            lambda n: self._post(keeping, n),
            lambda n: self._post(opening, n),
            lambda _: self._look(keeping),
            lambda _: self._look(opening),
        ]

    async def strike(self) -> None:
        await asyncio.gather(*(self._one(caller) for caller in range(CALLERS)))

    def stop(self) -> None:
        self._stopping = True

    async def _one(self, caller: int) -> None:
        number = 0
        while not self._stopping:
            number += 1
            self.requests += 1
            try:
                await self._jobs[caller % len(self._jobs)](caller * 1_000_000 + number)
            except (TimeoutError, aiohttp.ClientError, OSError) as failure:
                self.failures.append(repr(failure))

    async def _post(self, api: Api, mark: int) -> None:
        answer = await api.post({"to": f"+1556{mark:09}", "payloadJson": {"text": str(mark)}})
        if answer.status == 201:
            self.ids.append(answer.body["id"])
        else:
            self.failures.append(f"{answer.status} {answer.body}")
        await asyncio.sleep(0.02)  # a caller, not a flood: the provider is to keep up

    async def _look(self, api: Api) -> None:
        answer = await api.ask("GET", "/readyz")
        if answer.status != 200:
            self.failures.append(f"{answer.status} {answer.body}")
        await asyncio.sleep(0.005)


async def connections(url: str) -> int:
    own = await asyncpg.connect(url)
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    held: int = await own.fetchval(sql)
    await own.close()
    return held


async def sent_once(api: Api, sandbox: Sandbox, ids: list[int]) -> None:
    assert len(set(ids)) == len(ids)
    for message in ids:
        await api.settled(message)
    calls = Counter(call["body"]["text"]["body"] for call in await sandbox.calls() if call["wamid"])
    assert len(calls) == len(ids)
    assert set(calls.values()) == {1}


async def test_renewals_under_load_fail_no_request_and_lose_and_double_nothing(here: Site, report: Report) -> None:
    here.connect()
    running = here.serve("--roles", "api,gateway=1", "--roles", "worker=1")
    async with clients(here) as (api, sandbox), clients(here, reuse=False) as (opening, _):
        await api.ready()
        await happened(running, "working", 1)
        first = set(running.children())
        hammer = Hammer(api, opening)
        striking = asyncio.ensure_future(hammer.strike())
        started = time.monotonic()
        for number in range(RENEWALS):
            running.signal(signal.SIGHUP)
            await happened(running, "renewal_done", number + 1)
        took = time.monotonic() - started
        hammer.stop()
        await striking
        report(
            f"{hammer.requests} requests, {len(hammer.ids)} messages, {RENEWALS} renewals of 2 in {took:.1f} s, "
            f"{len(hammer.failures)} failed"
        )
        assert not hammer.failures, hammer.failures[:5]
        assert not first & set(running.children()), "none of the old ones is left"
        assert len(running.children()) == 2
        await sent_once(api, sandbox, hammer.ids)
        assert not events(running, "child_died")
        if here.database_url.startswith("postgresql"):
            held = await connections(here.database_url)
            report(f"2 processes hold {held} connections to PostgreSQL")
            assert held <= 2 * MOST_CONNECTIONS


async def test_a_websocket_is_told_to_come_back_when_its_process_is_renewed(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    token = here.run("admin", "create-user", "acme", "Ada", "--json").fields["token"]
    running = here.serve("--workers", "1")
    async with clients(here) as (api, _):
        await api.ready()
        async with api.session.ws_connect(f"{here.url}/api/v1/ws") as socket:
            await socket.send_json({"type": "hello", "device_id": "desk", "token": token})
            assert (await socket.receive_json())["type"] == "welcome"
            running.signal(signal.SIGHUP)
            while (frame := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
            assert socket.close_code == GOING_AWAY, frame
        async with api.session.ws_connect(f"{here.url}/api/v1/ws") as socket:
            await socket.send_json({"type": "hello", "device_id": "desk", "token": token})
            assert (await socket.receive_json())["type"] == "welcome", "there is a process to come back to at once"


@pytest.mark.parametrize("written", ["outbound_jitter = 7\n", 'database_url = "postgresql://me@127.0.0.1:1/x"\n'])
async def test_a_renewal_that_cannot_start_changes_nothing(place: Place, written: str) -> None:
    here = place("sqlite")
    here.connect()
    own = {"WAYPOST_DATABASE_URL": "unset"} if "database_url" in written else {}
    good = f'database_url = "{here.database_url}"\n' if own else ""
    (here.folder / "waypost.toml").write_text(good)
    running = here.serve("--workers", "2", **own)
    async with clients(here) as (api, _):
        await api.ready()
        await happened(running, "listening", 2)
        before = set(running.children())
        (here.folder / "waypost.toml").write_text(written)
        running.signal(signal.SIGHUP)
        await happened(running, "renewal_stopped", 1)
        (said,) = events(running, "cannot_start")
        assert "WAYPOST_OUTBOUND_JITTER" in said["error"] or "cannot be reached" in said["error"]
        await until(lambda: only(running, before), "the old ones stay, and nobody else")
        assert await api.answers()
        (here.folder / "waypost.toml").write_text(good)
        running.signal(signal.SIGHUP)
        await happened(running, "renewal_done", 1)
        assert not before & set(running.children())


async def only(running: Program, children: set[int]) -> bool:
    return set(running.children()) == children


async def test_a_stop_in_the_middle_of_a_renewal_is_a_stop(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    running = here.serve("--workers", "2")
    async with clients(here) as (api, _):
        await api.ready()
        running.signal(signal.SIGHUP)
        await happened(running, "renewal_began", 1)
        running.signal(signal.SIGTERM)
        assert await asyncio.to_thread(running.ended, 20) == 0
