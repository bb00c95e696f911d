"""Sockets that say nothing, 20,000 at a time: what each costs the server; and 5,000 that come back all at once.

Waypost's are people's devices that said hello and are live; they ping as clients do, or they would be closed.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvloop

from bench import waypost_live
from bench.fanout import BARE, DOOR, Side
from bench.fanout_crowd import HEARTBEAT, Crowd, SocketScript
from bench.peers.serving import cpu_seconds, running
from bench.table import Line

HELD = 20_000
HELD_BY_PEERS = 5_000
STORM = 5_000
PEOPLE = HELD // waypost_live.DEVICES_EACH
_SPARE = 500
"""Files that a process may need beside its sockets."""


def room() -> int:
    """Sockets that one process here may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard - _SPARE


def shares(count: int, largest: int) -> list[int]:
    """As few processes as the limit on open files allows, filled alike."""
    parts = -(-count // largest)
    return [count // parts + (place < count % parts) for place in range(parts)]


def resident(pid: int) -> int:
    """Bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def script(offset: int = 0) -> SocketScript:
    """Of everybody's devices, beginning with connection number `offset`."""
    return SocketScript(
        hello=lambda number: waypost_live.hello(offset + number, PEOPLE),
        ready=waypost_live.LIVE,
        ping=waypost_live.PING,
    )


@contextmanager
def held(side: Side, port: int, count: int, source: str, offset: int = 0) -> Iterator[None]:
    """A process that holds so many sockets and does nothing with them, from an address of its own: ports are scarce."""
    command = [sys.executable, "-m", "bench.idle", "--hold", str(count), "--port", str(port), "--source", source]
    command += ["--offset", str(offset)] if side.talk is not None else []
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline().strip() == "held"
        yield
    finally:
        child.stdin.close()
        child.wait()


def hold(side: Side, count: int) -> float:
    """Bytes of the server's memory for each of `count` sockets."""
    with ExitStack() as stack:
        grown = offset = 0
        parts = shares(count, room())
        print(f"{side.name}: {count:,} sockets in {len(parts)} server processes: a process has {room():,} files here")
        for place, share in enumerate(parts):
            pid, port = stack.enter_context(running(side.module, list(side.arguments)))
            with held(side, port, 100, "127.0.0.1"):  # whatever is loaded with the first
                pass
            before = resident(pid)
            stack.enter_context(held(side, port, share, f"127.0.0.{place + 2}", offset))
            grown += resident(pid) - before
            offset += share
        return grown / count


async def _storm(side: Side, port: int, count: int) -> float:
    """Seconds until all are live again, after all were cut at once."""
    crowd = Crowd(port, side.talk)
    await crowd.join(count)
    await crowd.leave()
    started = time.perf_counter()
    await crowd.join(count, at_once=count, source="127.0.0.9")
    seconds = time.perf_counter() - started
    await crowd.leave()
    return seconds


def storm(side: Side, count: int) -> tuple[float, float]:
    """Those seconds, and the server's processor time for them and for the first arrival."""
    room()
    with running(side.module, list(side.arguments)) as (pid, port):
        before = cpu_seconds(pid)
        seconds = uvloop.run(_storm(side, port, count))
        return seconds, cpu_seconds(pid) - before


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    lines = []
    with waypost_live.ledgers(url) as ledgers:
        for name, own in ledgers:
            uvloop.run(waypost_live.prepare(own, PEOPLE))
            side = Side(name, "bench.waypost_live", {}, ["--url", own], script())
            lines += _lines(side, HELD, (25.0, 5.0))
    for side in (DOOR, BARE):
        lines += _lines(side, HELD_BY_PEERS, (None, None))
    return lines


def _lines(side: Side, count: int, goals: tuple[float | None, float | None]) -> list[Line]:
    size = hold(side, count) / 1024
    print(f"{side.name}: {size:.1f} KiB for each of {count:,} idle sockets", flush=True)
    seconds, cpu = storm(side, STORM)
    each = cpu / 2 / STORM * 1e6
    print(f"{side.name}: {STORM:,} back within {seconds:.2f} s, server {each:.0f} µs of CPU each", flush=True)
    return [
        Line("idle", f"{side.name}, each of {count:,} idle sockets", size, "KiB", goal=goals[0]),
        Line("idle", f"{side.name}, {STORM:,} reconnect at once", seconds, "s", goal=goals[1]),
        Line("idle", f"{side.name}, a reconnect, a server's core", each, "µs"),
    ]


async def _hold(port: int, count: int, source: str, spoken: SocketScript | None) -> None:
    crowd = Crowd(port, spoken)
    await crowd.join(count, source=source)
    pinging = asyncio.ensure_future(_ping(crowd))
    print("held", flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until the parent closes it
    pinging.cancel()
    await crowd.leave()


async def _ping(crowd: Crowd) -> None:
    while crowd.talk.ping is not None:
        await asyncio.sleep(HEARTBEAT)
        crowd.say(crowd.talk.ping)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold sockets until the input ends.")
    parser.add_argument("--hold", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--source", default="127.0.0.1")
    parser.add_argument("--offset", type=int, help="say hello, as connections from this number on")
    options = parser.parse_args()
    room()
    who = None if options.offset is None else script(options.offset)
    uvloop.run(_hold(options.port, options.hold, options.source, who))
