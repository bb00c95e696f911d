"""Sockets that say nothing, 20,000 at a time: what each costs the server; and 5,000 that come back all at once."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import uvloop

from bench.fanout import BARE, OURS, Side
from bench.fanout_crowd import Crowd
from bench.peers.serving import cpu_seconds, running
from bench.table import Line

HELD = {OURS.name: 20_000, BARE.name: 5_000}
STORM = 5_000
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


@contextmanager
def held(port: int, count: int, source: str) -> Iterator[None]:
    """A process that holds so many sockets and does nothing with them, from an address of its own: ports are scarce."""
    command = [sys.executable, "-m", "bench.idle", "--hold", str(count), "--port", str(port), "--source", source]
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
        grown = 0
        for place, share in enumerate(shares(count, room())):
            pid, port = stack.enter_context(running(side.module, list(side.arguments)))
            with held(port, 100, "127.0.0.1"):  # whatever is loaded with the first
                pass
            before = resident(pid)
            stack.enter_context(held(port, share, f"127.0.0.{place + 2}"))
            grown += resident(pid) - before
        return grown / count


async def _storm(port: int, count: int) -> float:
    """Seconds until all are connected again, after all were cut at once."""
    crowd = Crowd(port)
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
        seconds = uvloop.run(_storm(port, count))
        return seconds, cpu_seconds(pid) - before


def measure(_url: str, rounds: int, _count: int) -> list[Line]:
    lines = []
    for side, times, goals in ((OURS, rounds, (25.0, 5.0)), (BARE, 1, (None, None))):
        count = HELD[side.name]
        size = hold(side, count) / 1024
        print(f"{side.name}: {size:.1f} KiB for each of {count:,} idle sockets", flush=True)
        back = [storm(side, STORM) for _ in range(times)]
        for seconds, cpu in back:
            each = cpu / 2 / STORM * 1e6
            print(f"{side.name}: {STORM:,} back within {seconds:.2f} s, server {each:.0f} µs of CPU each", flush=True)
        lines += [
            Line("idle", f"{side.name}, each of {count:,} idle sockets", size, "KiB", goal=goals[0]),
            Line("idle", f"{side.name}, {STORM:,} reconnect at once", median(s for s, _ in back), "s", goal=goals[1]),
        ]
    return lines


async def _hold(port: int, count: int, source: str) -> None:
    crowd = Crowd(port)
    await crowd.join(count, source=source)
    print("held", flush=True)
    sys.stdin.read()  # until the parent closes it; nothing else happens here
    await crowd.leave()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold sockets until the input ends.")
    parser.add_argument("--hold", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--source", default="127.0.0.1")
    options = parser.parse_args()
    room()
    uvloop.run(_hold(options.port, options.hold, options.source))
