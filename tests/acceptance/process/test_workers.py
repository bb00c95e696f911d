"""Several processes on one Ledger: they wake each other, add up, replace each other, and end together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import statistics
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.multiprocess import MultiProcessCollector

from tests.acceptance.conftest import Place, Report
from tests.acceptance.stage.clients import OUTAGE, Api, Sandbox, clients
from tests.acceptance.stage.harness import UNSET, Program, Site, alive, free_port, until

HELLO: dict[str, Any] = {"to": "+15550001111", "payloadJson": {"text": "Hello"}}
RECHECK = 1.0
"""Seconds after which a caller who waits looks for himself: an answer before that was brought by a hint."""


async def timed(post: Awaitable[Any]) -> tuple[Any, float]:
    started = time.monotonic()
    return await post, time.monotonic() - started


def environment_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(pair.decode().split("=", 1) for pair in pairs if b"=" in pair)


def figures_of(pid: int, name: str) -> float:
    """What one of several processes has counted by itself."""
    folder = Path(environment_of(pid)["PROMETHEUS_MULTIPROC_DIR"])
    files = [str(file) for file in folder.glob(f"*_{pid}.db")]
    merged = MultiProcessCollector.merge(files, accumulate=True)  # type: ignore[no-untyped-call]  # has no types
    return float(sum(sample.value for metric in merged for sample in metric.samples if sample.name == name))


async def test_a_caller_is_answered_when_the_status_arrives_at_another_process(here: Site, tmp_path: Path) -> None:
    """The first process takes the posts and nothing else; the second sends, and every status comes to it."""
    here.settings["WAYPOST_HINTS_DIR"] = "hints"
    first, second = here.port, free_port()
    here.connect(f"http://127.0.0.1:{second}/api/v1/webhooks/whatsapp/inbound")
    here.serve("--roles", "api")
    here.start("serve", "--port", str(second))
    async with clients(here) as (api, _):
        other = Api(api.session, f"http://127.0.0.1:{second}", api.headers)
        await api.ready()
        await other.ready()
        answers = [await timed(api.post(HELLO, "?wait=delivered")) for _ in range(20)]
        assert {(answer.status, answer.body["status"]) for answer, _ in answers} == {(201, "DELIVERED")}
        assert statistics.median(took for _, took in answers) < RECHECK, "hints cross from process to process"
        assert await api.figure("status_arrival_total") == 0, "no status came to the process that was asked"
        assert await api.figure("status_sync_wait_seconds_count") == 20
        assert await other.figure("outbound_message_send_success_total") == 20
        assert await other.figure("status_sync_wait_seconds_count") == 0
    assert first != second
    assert len(list((tmp_path / "hints").glob("*.hint"))) == 2


@asynccontextmanager
async def three_workers(here: Site) -> AsyncIterator[tuple[Program, Api, Sandbox]]:
    here.connect()
    running = here.serve("--workers", "3")
    async with clients(here, reuse=False) as (api, sandbox):
        await all_up(running)
        yield running, api, sandbox


async def all_up(running: Program, count: int = 3) -> None:
    async def as_many() -> bool:
        return len(running.children()) == len(listening(running)) == count

    await until(as_many, f"{count} workers are up")


def listening(running: Program) -> set[int]:
    """Its children that take work."""
    lines = [json.loads(line) for line in running.output.splitlines() if line.startswith("{")]
    return {line["pid"] for line in lines if line["event"] == "listening"} & set(running.children())


async def test_figures_of_all_processes_add_up_and_whoever_waits_is_answered(here: Site) -> None:
    async with three_workers(here) as (running, api, _):
        for _ in range(6):
            batch = [timed(api.post(HELLO, "?wait=delivered")) for _ in range(10)]
            answers = await asyncio.gather(*batch)
            assert {(answer.status, answer.body["status"]) for answer, _ in answers} == {(201, "DELIVERED")}
        waits = {pid: figures_of(pid, "status_sync_wait_seconds_count") for pid in running.children()}
        assert sum(waits.values()) == 60
        assert sum(1 for count in waits.values() if count) > 1, "more than one process took callers"
        for _ in range(9):  # whichever process is asked
            assert await api.figure("outbound_message_send_success_total") == 60
            assert await api.figure("status_sync_wait_seconds_count") == 60
        victim = running.children()[0]
        os.kill(victim, signal.SIGKILL)
        await until(lambda: gone(victim), "the child is dead")
        await all_up(running)
        assert await api.figure("outbound_message_send_success_total") == 60, "what a dead process counted stays"


async def gone(pid: int) -> bool:
    return not alive(pid)


def holder_of(lock: Path) -> int | None:
    """Which process holds a file lock, by the kernel's own list."""
    inode = str(lock.stat().st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
            return int(words[4])
    return None


async def stop_with_the_turn(running: Program, lock: Path) -> int:
    """SIGSTOP one child at a moment when it holds the right to write."""
    for _ in range(10_000):
        pid = holder_of(lock)
        if pid not in running.children():
            await asyncio.sleep(0)
            continue
        os.kill(pid, signal.SIGSTOP)
        if holder_of(lock) == pid:
            return pid
        os.kill(pid, signal.SIGCONT)
    raise AssertionError("no child was caught while it wrote")


async def insist(api: Api, number: int) -> int:
    """Post until it is taken, as a caller with a key does."""
    while True:
        with suppress(*OUTAGE):
            async with asyncio.timeout(3):
                answer = await api.post({**HELLO, "idempotencyKey": f"key-{number}"})
                if answer.status < 500:
                    return int(answer.body["id"])


@pytest.mark.alone("the supervisor knows a hang by the clock: on a crowded machine every child seems to hang")
async def test_a_child_that_hangs_is_killed_and_replaced_and_the_others_go_on(here: Site, report: Report) -> None:
    async with three_workers(here) as (running, api, sandbox):
        posting = [asyncio.ensure_future(insist(api, number)) for number in range(300)]
        if here.database_url.startswith("sqlite"):
            victim = await stop_with_the_turn(running, here.folder / "waypost.db-turn")
        else:
            victim = running.children()[0]
            os.kill(victim, signal.SIGSTOP)
        stopped_at = time.monotonic()
        await until(lambda: gone(victim), "the child that hangs is killed")
        report(f"killed after {time.monotonic() - stopped_at:.1f} s")
        ids = await asyncio.gather(*posting)
        await all_up(running)
        for message in ids:
            await api.settled(message)
        accepted = [call["wamid"] for call in await sandbox.calls() if call["wamid"]]
        assert len(set(ids)) == len(accepted) == 300
    assert '"child_hangs"' in running.output


async def test_a_supervisor_that_is_killed_leaves_no_children_and_no_folder_behind(place: Place) -> None:
    here = place("sqlite")
    async with three_workers(here) as (running, api, _):
        children = running.children()
        shared = Path(environment_of(children[0])["WAYPOST_HINTS_DIR"]).parent
        running.kill()

        async def all_gone() -> bool:
            return not any(alive(pid) for pid in children)

        await until(all_gone, "no child outlives its supervisor", within=30)
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", here.port))
        again = here.serve("--workers", "2")
        await api.ready()
        assert not shared.exists(), "the next supervisor clears what the killed one left"
        shared = Path(environment_of(again.children()[0])["WAYPOST_HINTS_DIR"]).parent
        again.signal(signal.SIGTERM)
        assert await asyncio.to_thread(again.ended, 15) == 0
        assert not shared.exists()


async def test_the_port_answers_ready_while_one_child_after_another_is_replaced(here: Site) -> None:
    async with three_workers(here) as (running, api, _):
        answers: list[int] = []
        for _ in range(3):
            victim = running.children()[0]
            os.kill(victim, signal.SIGKILL)

            async def replaced(victim: int = victim) -> bool:
                with suppress(*OUTAGE):  # a connection that the victim had taken is cut
                    answers.append((await api.ask("GET", "/readyz")).status)
                return not alive(victim) and len(running.children()) == 3

            await until(replaced, "the child is replaced")
        assert answers
        assert set(answers) == {200}


async def test_a_child_that_cannot_start_is_tried_again_without_spinning(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    running = here.serve("--workers", "2")
    async with clients(here) as (api, _):
        await api.ready()
        database = here.folder / "waypost.db"
        aside = database.rename(here.folder / "aside.db")
        database.mkdir()
        os.kill(running.children()[0], signal.SIGKILL)

        async def tried_again() -> bool:
            return running.output.count('"child_died"') >= 3

        started = time.monotonic()
        await until(tried_again, "the supervisor goes on trying")
        assert time.monotonic() - started > 1.0
        database.rmdir()
        aside.rename(database)
        await all_up(running, 2)


async def test_a_stop_of_the_supervisor_is_a_clean_stop_of_all(here: Site) -> None:
    async with three_workers(here) as (running, api, sandbox):
        await sandbox.fault(delay_ms=500)
        ids = [(await api.post(HELLO)).body["id"] for _ in range(30)]
        children = running.children()
        running.signal(signal.SIGTERM)
        running.signal(signal.SIGTERM)
        assert await asyncio.to_thread(running.ended, 15) == 0
        assert not any(alive(pid) for pid in children)
        here.serve()
        await api.ready()
        for message in ids:
            await api.settled(message)
        assert len([call for call in await sandbox.calls() if call["wamid"]]) == 30


@pytest.mark.parametrize(
    ("arguments", "enabled"), [(["--roles", "api"], UNSET), ([], "false")], ids=["role api", "worker disabled"]
)
async def test_a_process_that_must_not_send_leaves_it_to_one_that_may(
    place: Place, arguments: list[str], enabled: str
) -> None:
    here = place("sqlite")
    here.connect()
    here.serve(*arguments, WAYPOST_OUTBOUND_WORKER_ENABLED=enabled, WAYPOST_OUTBOUND_WORKER_POLL_INTERVAL_MS="10")
    async with clients(here) as (api, _):
        await api.ready()
        message = (await api.post(HELLO)).body["id"]
        before = [await api.message(message) for _ in range(20)][-1]  # it would have polled meanwhile
        sender = free_port()
        here.start("serve", "--port", str(sender), "--roles", "worker", "--host", "127.0.0.1")
        worker = Api(api.session, f"http://127.0.0.1:{sender}", api.headers)
        await worker.ready()
        assert (before["status"], before["attemptCount"]) == ("QUEUED", 0)
        await api.settled(message)
        assert await api.figure("outbound_message_send_success_total") <= 1

        async def counted() -> bool:
            figure = "outbound_message_delivery_latency_seconds_count"
            return await worker.figure(figure) + await api.figure(figure) == 1  # its status may come before its answer

        await until(counted, "one of them has counted what was sent")


async def test_a_process_with_only_the_role_worker_can_be_looked_at_and_takes_no_work(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    here.serve("--roles", "worker")
    async with clients(here) as (api, _):
        await api.ready()
        assert await api.answers("/healthz")
        assert await api.answers("/metrics")
        refused = await api.post(HELLO)
        assert (refused.status, refused.body["code"]) == (503, "role_missing")
        assert "the role api" in refused.body["detail"]
        assert await api.answers("/api/v1/webhooks/whatsapp/inbound", 503)
        assert (await api.get("/readyz"))["roles"] == {"worker": []}


async def test_doors_of_two_processes_each_refuse_what_the_other_takes(place: Place) -> None:
    here = place("sqlite")
    here.settings["WAYPOST_HINTS_DIR"] = "hints"
    here.connect()
    ada = here.run("admin", "create-user", "acme", "Ada", "--json").fields
    token = ada["token"]
    here.serve("--roles", "api")
    port = free_port()
    here.start("serve", "--port", str(port), "--roles", "gateway")
    async with clients(here) as (api, _):
        gateway = Api(api.session, f"http://127.0.0.1:{port}", {"authorization": f"Bearer {token}"})
        await api.ready()
        await gateway.ready()
        assert (await api.get("/readyz"))["roles"] == {"api": []}
        assert (await gateway.get("/readyz"))["roles"] == {"gateway": []}
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        for refused in (
            await api.ask("GET", "/api/v1/sync?device_id=desk"),
            await api.ask("GET", "/api/v1/ws"),
            await api.ask("GET", "/api/v1/ws", **upgrade),
        ):
            assert (refused.status, refused.body["code"]) == (503, "role_missing")
            assert "the role gateway" in refused.body["detail"]
        assert (await gateway.ask("GET", "/api/v1/conversations")).body["code"] == "role_missing"
        assert (await gateway.ask("GET", "/api/v1/sync?device_id=phone&wait=0")).status == 200
        async with api.session.ws_connect(f"{gateway.url}/api/v1/ws") as socket:
            await socket.send_json({"type": "hello", "device_id": "desk", "token": token})
            assert (await socket.receive_json())["type"] == "welcome"

            async def is_here() -> bool:
                return bool((await api.get(f"/api/v1/presence?user_id={ada['user_id']}"))["state"] != "offline")

            await until(is_here, "the process without a gateway knows who is connected to the other")
