"""Posts of 200 bytes to 1,000 sockets: Waypost's door beside a bare uvicorn, 1, 4 and 64 posts in flight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import uvloop

from bench import fanout_door
from bench.fanout_crowd import Crowd, Fanned, Talk, fan_out
from bench.peers import bare_fanout
from bench.peers.serving import cpu_seconds, running
from bench.table import Line

SOCKETS = 1_000
_WARM_UP = 32


class Side(NamedTuple):
    """A server: what it is called, the module that serves with `--serve`, its arguments, and how to talk to it."""

    name: str
    module: str
    posts: dict[int, int]
    """By how many are in flight: so many that a run takes seconds."""
    arguments: Sequence[str] = ()
    talk: Talk | None = None


OURS = Side(fanout_door.NAME, "bench.fanout_door", {1: 300, 4: 800, 64: 3_200})
BARE = Side(bare_fanout.NAME, "bench.peers.bare_fanout", {1: 100, 4: 100, 64: 128})


@dataclass(frozen=True)
class Run:
    """`cpu` is what the server process spent, in seconds."""

    side: str
    in_flight: int
    fanned: Fanned
    cpu: float

    @property
    def per_core(self) -> float:
        return self.fanned.posts * self.fanned.crowd / self.cpu

    def __str__(self) -> str:
        rates = f"{self.fanned.per_second:,.0f} messages/s, {self.per_core:,.0f} per second of a server's core"
        times = (
            f"to the last socket p50 {self.fanned.percentile(0.5):.1f} ms, p99 {self.fanned.percentile(0.99):.1f} ms"
        )
        return f"{self.side}, {self.in_flight} in flight: {rates}, {times}, {self.fanned.together:.1f} in one read"


async def _runs(side: Side, pid: int, port: int) -> list[Run]:
    crowd = Crowd(port, side.talk)
    await crowd.join(SOCKETS)
    await fan_out(crowd, _WARM_UP, 8)
    runs = []
    for in_flight, posts in side.posts.items():
        before = cpu_seconds(pid)
        fanned = await fan_out(crowd, posts, in_flight)
        runs.append(Run(side.name, in_flight, fanned, cpu_seconds(pid) - before))
    await crowd.leave()
    return runs


def run(side: Side) -> list[Run]:
    with running(side.module, list(side.arguments)) as (pid, port):
        return uvloop.run(_runs(side, pid, port))


def measure(_url: str, rounds: int, _count: int) -> list[Line]:
    runs: dict[tuple[str, int], list[Run]] = {}
    for _ in range(rounds):
        for each in [*run(OURS), *run(BARE)]:
            print(each, flush=True)
            runs.setdefault((each.side, each.in_flight), []).append(each)
    return [line for in_flight in OURS.posts for side in (OURS, BARE) for line in _lines(side.name, in_flight, runs)]


def _lines(side: str, in_flight: int, runs: dict[tuple[str, int], list[Run]]) -> list[Line]:
    mine, base = runs[side, in_flight], runs[BARE.name, in_flight]
    rate, core = median(r.fanned.per_second for r in mine), median(r.per_core for r in mine)
    goal = 0.8 if side == OURS.name else None
    name = f"{side}, {in_flight} in flight"
    against = median(r.fanned.per_second for r in base), median(r.per_core for r in base)
    return [
        Line("fanout", name, rate, "messages/s", rate / against[0], BARE.name, goal),
        Line("fanout", f"{name}, a server's core", core, "messages/s", core / against[1], BARE.name, goal),
    ]
