"""A database that comes back from a backup: what was there is there, nobody is deceived, nothing goes out twice."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.cli.test_admin import refused
from tests.acceptance.process.test_stop import stopped
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.desk import Desk, desk
from tests.acceptance.stage.harness import ORG, Program, Site, until
from tests.acceptance.stage.talking import say

CUSTOMER, OTHER = "15550001111", "15550002222"
BOT = {"WAYPOST_BOT": "echo", "WAYPOST_TURN_QUIET_SEC": "0.1"}


class Vault:
    """Where the backup is; taken and brought back as the how-to says."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self._copy = here.folder / "copy"

    @property
    def _path(self) -> Path:
        return Path(self._here.database_url.removeprefix("sqlite:///"))

    def take(self) -> None:
        if self._here.database_url.startswith("sqlite"):
            told = self._here.run("admin", "backup", str(self._copy))
            assert told.code == 0, told
            assert "also keep" in told.out
            return
        subprocess.run(["pg_dump", "-Fc", "-f", str(self._copy), self._here.database_url], check=True)

    def bring_back(self) -> None:
        if self._here.database_url.startswith("sqlite"):
            for part in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + part).unlink(missing_ok=True)
            shutil.copy(self._copy, self._path)
            return
        clean = ["--clean", "--if-exists", "--no-owner", "--exit-on-error"]
        subprocess.run(["pg_restore", *clean, "-d", self._here.database_url, str(self._copy)], check=True)


async def end(*programs: Program) -> None:
    for program in programs:
        program.signal(signal.SIGTERM)
    for program in programs:
        await stopped(program)


async def sent_to(sandbox: Sandbox, phone: str) -> int:
    return len([call for call in await sandbox.calls() if call["to"].lstrip("+") == phone])


async def post(api: Api, phone: str) -> int:
    answer = await api.post({"to": f"+{phone}", "payloadJson": {"text": "Hello"}})
    assert answer.status == 201, answer
    message_id: int = answer.body["id"]
    return message_id


async def lived(here: Site, api: Api, sandbox: Sandbox, vault: Vault) -> tuple[Desk, int, int]:
    """A backup is taken while a message waits and a customer has asked; then both go out, and more is said."""
    edge = here.serve("--roles", "api,gateway")
    await api.ready()
    at = await desk(here, api)
    await at.screen.catch_up()
    await at.write("one", "two")
    assert await at.screen.catch_up() == ["one", "two"]
    waits = await post(api, OTHER)
    await say(sandbox, CUSTOMER, text="Where is my order?")
    vault.take()
    worker = here.start("serve", "--port", "0", "--roles", "worker")
    await api.settled(waits)

    async def answered() -> bool:
        return await sent_to(sandbox, CUSTOMER) == 1

    await until(answered, "the bot has answered")
    lost = await post(api, OTHER)
    await api.settled(lost)
    await at.write("three", "four", "five")
    assert await at.screen.catch_up() == ["three", "four", "five"]
    refused(here.run("admin", "restored"), r"another program has .* open|pg_stat_activity")
    await end(worker, edge)
    return at, waits, lost


@pytest.mark.skipif(not shutil.which("pg_restore"), reason="needs pg_dump and pg_restore")
async def test_after_a_restore_devices_read_anew_and_nothing_is_sent_twice(here: Site) -> None:
    here.settings |= BOT
    here.connect()
    vault = Vault(here)
    async with clients(here, reuse=False) as (api, sandbox):  # commands run meanwhile
        at, waits, lost = await lived(here, api, sandbox, vault)
        vault.bring_back()
        told = here.run("admin", "restored", "--hold", "--json")
        assert told.code == 0, told
        assert told.fields == {
            "devices": "1",
            "ids_left_out": "1000000",
            "messages_held": "1",
            "sends_parked": "0",
            "turns_handed_over": "1",
        }
        running = here.serve()
        await api.ready()
        await devices_read_anew(at)
        await nothing_is_sent_twice(api, sandbox, waits, lost)
        ran = here.run("doctor")
        assert ran.code == 0, ran.out
        assert here.run("admin", "replay", ORG, "--error-code", "RESTORED").out == "replayed 1\n"
        await api.settled(waits)
        assert await sent_to(sandbox, OTHER) == 4, "somebody asked for it"
        assert await api.figure("invariant_violation_total") == 0
        await end(running)


async def devices_read_anew(at: Desk) -> None:
    """Also when as many items came since as the device had seen, and also one that names no epoch."""
    await at.write("three again", "six", "seven", "eight", "nine")
    for epoch in (True, False):
        assert (await at.screen.ask(epoch=epoch))["resync_required"]
    assert await at.history() == ["one", "two", "three again", "six", "seven", "eight", "nine"]
    at.screen.epoch, at.screen.cursors = None, (await at.screen.ask())["heads"]
    await at.write("ten")
    assert await at.screen.catch_up() == ["ten"], "and goes on from there"
    await until(lambda: at.finds("ten"), "what is said is found")


async def nothing_is_sent_twice(api: Api, sandbox: Sandbox, waits: int, lost: int) -> None:
    held = await api.message(waits)
    assert (held["status"], held["errorCode"]) == ("FAILED", "RESTORED")
    fresh = await post(api, OTHER)
    assert fresh > lost, "a status of the message that is lost must not be taken for one of another"
    await api.settled(fresh)
    assert await sent_to(sandbox, OTHER) == 3, "before the backup's loss two, and the fresh one"
    (talk,) = (await api.get(f"/api/v1/conversations?phone={CUSTOMER}"))["conversations"]
    assert talk["floor"] == "human"
    assert await sent_to(sandbox, CUSTOMER) == 1, "the bot answers no burst a second time"


def test_a_backup_that_was_copied_back_starts_only_once_that_was_said(here: Site) -> None:
    if not here.database_url.startswith("sqlite"):
        refused(here.run("admin", "backup", "copy"), "pg_dump")
        return
    refused(here.run("admin", "backup", "copy"), "there is no database at")
    assert here.run("migrate").code == 0
    vault = Vault(here)
    vault.take()
    refused(here.run("admin", "backup", "copy"), "copy exists already")
    assert (here.folder / "copy").stat().st_mode & 0o077 == 0, "nobody else reads it"
    vault.bring_back()
    assert here.serve().ended() == 1
    assert "`waypost admin restored --hold`" in here.logs()
    ill = here.run("doctor")
    assert ill.code == 1
    assert "`waypost admin restored --hold`" in ill.out
    assert here.run("admin", "restored").code == 0
    assert "there is no org yet" in here.run("doctor").out
