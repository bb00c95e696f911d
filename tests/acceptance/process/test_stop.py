"""A stop is an exit with 0 in seconds that loses nothing; a start that cannot work says why in one line."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.acceptance.conftest import FAST, Place, Report
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.harness import PATIENCE, UNSET, Program, Ran, Site, children_of, site, until
from tests.acceptance.stage.storm import Storm
from waypost_testing.services.processes import Postgres

SECONDS = 12.0
"""What a stop may take, with everything going wrong."""
PHONE = "+15550001111"
HELLO = {"to": PHONE, "payloadJson": {"text": "Hello"}}


async def stopped(running: Program, within: float = SECONDS) -> float:
    """How long the stop took; it must be clean."""
    started = time.monotonic()
    code = await asyncio.to_thread(running.ended, PATIENCE)
    took = time.monotonic() - started
    assert code == 0, running.output
    assert took < within, f"it took {took:.1f} s to stop"
    return took


async def test_a_stop_under_load_ends_with_0_and_loses_nothing(here: Site, report: Report) -> None:
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()
        slowest = 0.0

        async def stop_twice_and_restart() -> None:
            nonlocal running, slowest
            running.signal(signal.SIGTERM)
            running.signal(signal.SIGTERM)
            slowest = max(slowest, await stopped(running))
            running = here.serve()
            await api.ready()

        verdict = await Storm(api, sandbox, stop_twice_and_restart, seed=1, messages=500, strikes=5).rage()
        report(f"{verdict}, slowest stop {slowest:.1f} s")
        verdict.check()
        assert not verdict.parked, "a stop leaves no send unsettled that its grace was long enough for"
        again = [view["id"] for view in verdict.views if view["attemptCount"] != 1]
        left = [message for message in again if "requeued" in await api.timeline(message)]
        assert not left, "what was claimed and not sent is handed back, not left to go stale"


async def under_way(api: Api, sandbox: Sandbox) -> int:
    """A message that the provider has received and not answered."""
    message = (await api.post(HELLO)).body["id"]
    await until(sandbox.calls, "the provider was called")
    return int(message)


async def test_a_send_under_way_is_finished_while_readyz_says_stopping(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()
        await sandbox.fault(delay_ms=2000)
        message = await under_way(api, sandbox)
        running.signal(signal.SIGTERM)

        async def says_stopping() -> bool:
            answer = await api.ask("GET", "/readyz")
            return answer.status == 503 and answer.body["problems"] == ["stopping"]

        await until(says_stopping, "/readyz says that it is stopping", within=2)
        running.signal(signal.SIGTERM)
        await stopped(running)
        here.serve()
        await api.ready()
        await api.settled(message)
        attempts = await api.get(f"/api/v1/outbound/messages/{message}/attempts")
        assert [attempt["status"] for attempt in attempts] == ["SUCCESS"]
        assert attempts[0]["providerResponseJson"], "its own process heard the answer"


async def test_a_send_that_outlasts_the_grace_is_settled_by_its_status_after_the_restart(here: Site) -> None:
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()
        await sandbox.fault(delay_ms=8000, times=1)
        message = await under_way(api, sandbox)
        running.signal(signal.SIGTERM)
        await stopped(running)
        assert "stopped_with_sends_under_way" in running.output
        here.serve()
        await api.ready()
        await api.settled(message)
        assert [bool(call["wamid"]) for call in await sandbox.calls()] == [True], "one call, accepted"


async def test_a_caller_who_waits_is_answered_when_the_server_stops(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()
        await sandbox.fault(statuses="never")
        waiting = asyncio.ensure_future(api.post({**HELLO, "idempotencyKey": "one"}, "?wait=delivered"))
        await until(sandbox.calls, "the provider was called")
        running.signal(signal.SIGTERM)
        await stopped(running)
        assert (await waiting).status == 202, "he was answered before the door closed"
        here.serve()
        await api.ready()
        again = await api.post({**HELLO, "idempotencyKey": "one"})
        assert (again.status, again.body["status"]) == (200, "SENT")
        assert len(await sandbox.calls()) == 1


async def test_a_database_that_is_away_does_not_keep_it_from_stopping(own_postgres: Postgres, tmp_path: Path) -> None:
    with site(tmp_path, own_postgres.create_database(), **FAST) as here:
        here.connect()
        running = here.serve()
        async with clients(here) as (api, sandbox):
            await api.ready()
            await sandbox.fault(delay_ms=500)
            message = await under_way(api, sandbox)
            await asyncio.to_thread(own_postgres.stop, "immediate")
            running.signal(signal.SIGTERM)
            await stopped(running)
            await asyncio.to_thread(own_postgres.start)
            here.serve()
            await api.ready()
            await api.settled(message)
            assert [bool(call["wamid"]) for call in await sandbox.calls()] == [True]


@contextlib.contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


async def test_a_database_that_hangs_does_not_keep_it_from_stopping(own_postgres: Postgres, tmp_path: Path) -> None:
    with site(tmp_path, own_postgres.create_database(), **FAST) as here:
        here.connect()
        running = here.serve()
        async with clients(here) as (api, sandbox):
            await api.ready()
            await sandbox.fault(delay_ms=500)
            await under_way(api, sandbox)
            with paused([own_postgres.pid, *children_of(own_postgres.pid)]):
                running.signal(signal.SIGTERM)
                await stopped(running)
        assert "ledger_did_not_close" in running.output


async def test_a_file_that_another_process_holds_does_not_keep_it_from_stopping(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()
        await sandbox.fault(delay_ms=500)
        message = await under_way(api, sandbox)
        with (here.folder / "waypost.db-turn").open() as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            running.signal(signal.SIGTERM)
            await stopped(running)
        here.serve()
        await api.ready()
        await api.settled(message)


def refused(ran: Ran, said: str, code: int = 1) -> None:
    """One line that says what is wrong, and nothing of the inside."""
    assert ran.code == code, ran
    assert re.fullmatch(r"waypost: .*\n", ran.err), ran.err
    assert re.search(said, ran.err), ran.err
    assert not ran.out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_refuses_an_old_postgresql_schema(place: Place, workers: str) -> None:
    here = place("postgres")
    refused(here.run("serve", "--port", "0", "--workers", workers), "schema 0.* needs .*`waypost migrate`")


def test_serve_refuses_a_schema_from_the_future(place: Place) -> None:
    here = place("sqlite")
    assert here.run("migrate").code == 0
    store = apsw.Connection(str(here.folder / "waypost.db"))
    store.execute("PRAGMA user_version = 99")
    store.close()
    refused(here.run("serve", "--port", "0"), "schema 99.* newer Waypost")


def test_production_without_a_secret_key_does_not_start(place: Place) -> None:
    here = place("sqlite")
    refused(here.run("serve", "--port", "0", WAYPOST_SECRET_KEY=""), "WAYPOST_SECRET_KEY is not set: make one with")


@pytest.mark.parametrize("command", [["serve"], ["serve", "--workers", "2"], ["sandbox"], ["demo"]])
def test_a_port_that_is_taken_is_said(place: Place, command: list[str]) -> None:
    here = place("sqlite")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", here.port))
        taken.listen()
        ran = here.run(*command, "--port", str(here.port), WAYPOST_LOG_LEVEL="error")  # serve warns that it waits
        refused(ran, f"cannot listen on 127.0.0.1:{here.port}: .*--port")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "nowhere.invalid", "--port", "0"], "cannot listen on nowhere.invalid"),
        (["--roles", "boss"], "--roles takes any of api, worker, gateway"),
    ],
)
def test_a_server_that_cannot_be_asked_for_is_said(place: Place, arguments: list[str], said: str) -> None:
    refused(place("sqlite").run("serve", *arguments), said)


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("WAYPOST_ENV", "staging", "local|production"),
        ("WAYPOST_DATABASE_URL", "mysql://somewhere", "sqlite:/// or postgresql://"),
        ("WAYPOST_DATABASE_URL", "sqlite:///", "has no file name"),
        ("WAYPOST_DATABASE_URL", "sqlite:////tmp", "has no file name"),
        ("WAYPOST_DATABASE_URL", "sqlite:////etc/passwd/waypost.db", "cannot be made"),
        ("WAYPOST_DATABASE_URL", "postgresql://me:hush@127.0.0.1:port/x", "cannot be read"),
        ("WAYPOST_DATABASE_URL", "postgresql://me:hush@127.0.0.1:1/x", "PostgreSQL cannot be reached"),
        ("WAYPOST_DATABASE_URL", "postgresql://me:hush@nowhere.invalid/x", "PostgreSQL cannot be reached"),
        ("WAYPOST_OUTBOUND_STALE_MINUTES", "0.04", ">= 0.05"),
        ("WAYPOST_OUTBOUND_STALE_MINUTES", "inf", "<= 525600"),
        ("WAYPOST_OUTBOUND_BACKOFF_MINUTES", "1,soon", "minutes like 1,5,15,60,360"),
        ("WAYPOST_OUTBOUND_BACKOFF_MINUTES", "inf", "minutes like 1,5,15,60,360"),
        ("WAYPOST_OUTBOUND_WORKER_BATCH_SIZE", "many", "Expected `int`"),
        ("WAYPOST_OUTBOUND_WORKER_ENABLED", "maybe", "Expected `bool`"),
        ("WAYPOST_OUTBOUND_UNSURE", "shrug", "requeue|park"),
        ("WAYPOST_MESSAGE_STATUS_SYNC_TIMEOUT_SEC", "later", "seconds or `auto`"),
        ("WAYPOST_GRAPH_TIMEOUT_SEC", "-1", "> 0"),
        ("WAYPOST_HINTS_DIR", "/" + "x" * 200, "WAYPOST_HINTS_DIR cannot be used"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(place: Place, setting: str, value: str, said: str) -> None:
    ran = place("sqlite").run("serve", "--port", "0", **{setting: value})
    refused(ran, said)
    assert "hush" not in ran.err


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("secret_key = 'x\n", "waypost.toml is not valid TOML"),
        ("colour = 'red'\n", "does not exist: colour"),
        ("outbound_jitter = 7\n", "WAYPOST_OUTBOUND_JITTER cannot be"),
        ("secret_key = ['hush']\n", "WAYPOST_SECRET_KEY cannot be what it is"),
    ],
)
def test_a_settings_file_that_cannot_be_used_is_said(place: Place, written: str, said: str) -> None:
    here = place("sqlite")
    (here.folder / "waypost.toml").write_text(written)
    ran = here.run("serve", "--port", "0", WAYPOST_SECRET_KEY=UNSET)
    refused(ran, said)
    assert "hush" not in ran.err


def test_a_file_that_is_no_database_is_said(place: Place) -> None:
    here = place("sqlite")
    (here.folder / "waypost.db").write_text("Dear diary, " * 100)
    refused(here.run("serve", "--port", "0"), "not a database")
