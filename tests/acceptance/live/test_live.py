"""Two hundred devices write while servers are killed and links are cut; then every device shows exactly the log."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import runpy
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.process.test_workers import all_up, listening
from tests.acceptance.sending.test_kill_nine import seeded
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.following import Verdict, agrees, read_log
from tests.acceptance.stage.harness import Program, Site, free_port, until
from tests.acceptance.stage.relay import Relay
from tests.acceptance.stage.talking import DOOR
from tests.acceptance.stage.town import Rest, Size, Town, crowd, make_people
from tests.recording import check_and_record

ROOT = Path(__file__).parents[3]
SERVERS = 3
STORM = float(os.environ.get("WAYPOST_TEST_STORM_SEC") or 25)
"""Seconds of trouble."""
SHORT_STORM = STORM / 3
MANY = Size(people=130, devices=200, customers=6, node_processes=4)
FEW = Size(people=36, devices=48, customers=2, node_processes=1)
QUIET = {"WAYPOST_LOG_LEVEL": "warning", "WAYPOST_BOT": "none"}
CALM = 180.0
"""Seconds in which everything must have come to its end."""


@pytest.fixture(scope="module")
def driver() -> list[str]:
    node = runpy.run_path(str(ROOT / "tools" / "node.py"))
    try:
        found: list[str] = node["driver"]()
    except node["NodeMissing"] as missing:
        pytest.skip(str(missing))
    return found


class Servers:
    """Each a process of its own, killed and started again on its port."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self.ports = [free_port() for _ in range(SERVERS)]
        self._running: dict[int, Program] = {}
        self.kills = 0

    def start(self, port: int) -> None:
        self._running[port] = self._here.start("serve", "--port", str(port))

    async def ready(self, session: aiohttp.ClientSession) -> None:
        for port in self.ports:
            await Api(session, f"http://127.0.0.1:{port}", {}).ready()

    async def strike(self, dice: random.Random, session: aiohttp.ClientSession) -> None:
        """One of them, or two at once; back when they answer again."""
        victims = dice.sample(self.ports, 1 if dice.random() < 0.7 else 2)
        for port in victims:
            self._running[port].kill()
            self.kills += 1
        await asyncio.sleep(dice.uniform(0, 2))
        for port in victims:
            self.start(port)
        await self.ready(session)


async def break_links(relay: Relay, dice: random.Random, until_then: float) -> None:
    for strike in itertools.count():
        if time.monotonic() >= until_then:
            return
        await asyncio.sleep(dice.uniform(0.5, 3))  # the moment is drawn, not waited for
        if strike % 4 == 1:  # counted, not drawn: even a short storm has both
            relay.freeze(0.05)
        else:
            relay.cut(dice.choice([0.02, 0.1, 0.5]))


async def keep_striking(strike: Callable[[], Awaitable[None]], dice: random.Random, until_then: float) -> None:
    while time.monotonic() < until_then:
        await asyncio.sleep(dice.uniform(0.5, 3))
        await strike()


@asynccontextmanager
async def a_town(
    api: Api, sandbox: Sandbox, relay: Relay, size: Size, driver: list[str], folder: Path, dice: random.Random
) -> AsyncIterator[Town]:
    rest = Rest(api.session, relay.url)
    people = await make_people(rest, api.headers["authorization"].removeprefix("Bearer "), size.people)
    async with crowd(people, size, driver, folder, dice) as (devices, talks):
        town = Town(rest, sandbox, people, devices, dice, talks=talks)
        await town.build(size)
        for device in devices:
            device.store.mkdir()
            await device.start(relay.url)
        yield town


async def rage(town: Town, relay: Relay, strike: Callable[[], Awaitable[None]], seconds: float) -> None:
    async def all_have_read() -> bool:
        return all(device.resets for device in town.devices)

    await until(all_have_read, "every device has read its screen", CALM)
    end = time.monotonic() + seconds
    moments = random.Random(town.dice.random())
    async with asyncio.TaskGroup() as trouble:
        trouble.create_task(town.live(end))
        trouble.create_task(break_links(relay, moments, end))
        trouble.create_task(keep_striking(strike, random.Random(moments.random()), end))


async def calm(town: Town, api: Api) -> Verdict:
    """When everything was answered, delivered and shown, or nothing moves any more."""

    async def all_answered() -> bool:
        return not any(post.is_open for device in town.devices for post in device.posts.values())

    async def all_delivered() -> bool:
        return not await api.on_the_way() and set(town.said) <= await _customer_texts(town)

    with suppress(AssertionError):  # the verdict says what is missing
        await until(all_answered, "every post was answered", CALM)
        await until(all_delivered, "every message came to its end", CALM)
    log = await read_log(town)

    async def all_agree() -> bool:
        return all(agrees(device, log) for device in town.devices)

    with suppress(AssertionError):
        await until(all_agree, "every screen equals the log", CALM / 3)
    return Verdict(town, log)


async def _customer_texts(town: Town) -> set[str]:
    """By customers, as the API shows it."""
    logs = [await town.rest.log(talk, town.people[0].token) for talk in sorted(town.talks)]
    return {message["content"].get("text", "") for log in logs for message in log}


def conclude(verdict: Verdict, trouble: str, kills: int, started: float, report: Report, here: Site) -> None:
    report(f"{trouble}, {verdict} ({time.monotonic() - started:.0f} s)")
    check_and_record(verdict, here.footprint, kills)
    logs = here.logs()
    assert "Traceback" not in logs, logs[logs.index("Traceback") - 300 :][:3000]


@pytest.mark.timeout(900)
async def test_every_device_shows_the_log_after_servers_were_killed_and_links_cut(
    place: Place, report: Report, driver: list[str]
) -> None:
    started, here = time.monotonic(), place("postgres")
    dice = random.Random(seeded(report))
    here.settings |= {**QUIET, "WAYPOST_HINTS_DIR": "hints"}
    servers = Servers(here)
    async with Relay(servers.ports, random.Random(dice.random())) as relay:
        here.connect(relay.url + DOOR)
        here.port = relay.port
        for port in servers.ports:
            servers.start(port)
        async with clients(here, reuse=False) as (api, sandbox):
            await servers.ready(api.session)
            async with a_town(api, sandbox, relay, MANY, driver, here.folder, dice) as town:
                moments = random.Random(dice.random())
                await rage(town, relay, lambda: servers.strike(moments, api.session), STORM)
                verdict = await calm(town, api)
    assert min(servers.kills, relay.cuts, relay.freezes) > 0, "there was a storm"
    trouble = f"{STORM:.0f} s, servers {SERVERS}, kills {servers.kills}, cuts {relay.cuts}, frozen {relay.freezes}"
    conclude(verdict, trouble, servers.kills, started, report, here)


@pytest.mark.timeout(600)
async def test_every_device_shows_the_log_after_workers_on_one_file_were_killed(
    place: Place, report: Report, driver: list[str]
) -> None:
    started, here = time.monotonic(), place("sqlite")
    dice = random.Random(seeded(report))
    here.settings |= QUIET | {"WAYPOST_LOG_LEVEL": "info"}
    kills = 0
    async with Relay([here.port], random.Random(dice.random())) as relay:
        here.connect(relay.url + DOOR)
        running = here.serve("--workers", str(SERVERS))

        async def kill_one() -> None:
            nonlocal kills
            with suppress(ProcessLookupError):
                os.kill(dice.choice(sorted(listening(running)) or [2**30]), signal.SIGKILL)
                kills += 1
            await all_up(running, SERVERS)

        async with clients(here, reuse=False) as (api, sandbox):
            await all_up(running, SERVERS)
            async with a_town(api, sandbox, relay, FEW, driver, here.folder, dice) as town:
                await rage(town, relay, kill_one, SHORT_STORM)
                verdict = await calm(town, api)
    assert min(kills, relay.cuts) > 0, "there was a storm"
    trouble = f"{SHORT_STORM:.0f} s, workers {SERVERS}, kills {kills}, cuts {relay.cuts}, frozen {relay.freezes}"
    conclude(verdict, trouble, kills, started, report, here)
