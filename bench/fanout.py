"""Posts of 200 bytes to 1,000 sockets: Waypost beside a bare uvicorn, 1, 4 and 64 posts in flight.

Waypost stores each post and hands it to the 1,000 members of a group; its door alone and the bare server store nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import uvloop

from bench import fanout_door, waypost_live
from bench.fanout_crowd import Crowd, Fanned, SocketScript, fan_out
from bench.peers import bare_fanout
from bench.peers.serving import cpu_seconds, running
from bench.table import Line
from waypost.model.conversation import ConversationId

SOCKETS = 1_000
_WARM_UP = 32


class Side(NamedTuple):
    """A server: what it is called, the module that serves with `--serve`, its arguments, and how to talk to it."""

    name: str
    module: str
    posts: dict[int, int]
    """By how many are in flight: so many that a run takes seconds."""
    arguments: Sequence[str] = ()
    talk: SocketScript | None = None


DOOR = Side(fanout_door.NAME, "bench.fanout_door", {1: 100, 4: 200, 64: 1_280})
BARE = Side(bare_fanout.NAME, "bench.peers.bare_fanout", {1: 50, 4: 50, 64: 64})


@contextmanager
def ours(postgres: str) -> Iterator[list[Side]]:
    """The whole server on each Ledger, with a group of everybody."""
    with waypost_live.ledgers(postgres) as ledgers:
        sides = []
        for name, url in ledgers:
            uvloop.run(waypost_live.prepare(url, SOCKETS))
            group = uvloop.run(waypost_live.open_group(url, SOCKETS))
            talk = SocketScript(
                hello=lambda number: waypost_live.hello(number, SOCKETS),
                ready=waypost_live.LIVE,
                post=_posts(group),
                marker=b'"status":"sent"}}',
                ping=waypost_live.PING,
                numbered=True,
            )
            sides.append(Side(name, "bench.waypost_live", {1: 100, 4: 200, 64: 1_280}, ["--url", url], talk))
        yield sides


def _posts(group: ConversationId) -> Callable[[int], bytes]:
    names = itertools.count()
    return lambda _: waypost_live.a_send(f"post-{next(names)}", group)


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
        await crowd.ping()
        before = cpu_seconds(pid)
        fanned = await fan_out(crowd, posts, in_flight)
        runs.append(Run(side.name, in_flight, fanned, cpu_seconds(pid) - before))
    await crowd.leave()
    return runs


def run(side: Side) -> list[Run]:
    with running(side.module, list(side.arguments)) as (pid, port):
        return uvloop.run(_runs(side, pid, port))


def measure(url: str, rounds: int, _count: int) -> list[Line]:
    runs: dict[tuple[str, int], list[Run]] = {}
    with ours(url) as sides:
        for _ in range(rounds):
            for side in (*sides, DOOR, BARE):
                for each in run(side):
                    print(each, flush=True)
                    runs.setdefault((side.name, each.in_flight), []).append(each)
    everybody = [*sides, DOOR, BARE]
    return [line for in_flight in BARE.posts for side in everybody for line in _lines(side.name, in_flight, runs)]


def _lines(side: str, in_flight: int, runs: dict[tuple[str, int], list[Run]]) -> list[Line]:
    mine, base = runs[side, in_flight], runs[BARE.name, in_flight]
    rate, core = median(r.fanned.per_second for r in mine), median(r.per_core for r in mine)
    goal = None if side == BARE.name else 0.8
    name = f"{side}, {in_flight} in flight"
    against = median(r.fanned.per_second for r in base), median(r.per_core for r in base)
    return [
        Line("fanout", name, rate, "messages/s", rate / against[0], BARE.name, goal),
        Line("fanout", f"{name}, a server's core", core, "messages/s", core / against[1], BARE.name, goal),
    ]
