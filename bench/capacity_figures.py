"""The measured figures that the capacity page counts on, and what is assumed until a part was measured."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from bench import results
from bench.results import Measured

CORE = "a server's core"


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    unit: str
    part: str
    names: tuple[str, ...]
    """Of the line in its results, `*` for any letters; the first that is there."""
    assumed: float
    why: str
    """Where the assumption comes from."""


@dataclass(frozen=True)
class Known:
    figure: Figure
    value: float
    source: str


_BUSY = "a first run on a busy machine"


DECISIONS = "decisions"
KINDS = {
    "submitted": "a message is submitted",
    "sent": "a message is claimed and settled",
    "status": "a status is taken",
    "line": "a customer's line is taken",
    "exchange": "a line is taken, its turn answered, the reply stored",
    "posted": "somebody posts to somebody",
}


def _decision(key: str, rate: float, cpu: float, wal: float, disk: float) -> list[Figure]:
    """A decision is known by four figures; the fleet is computed from the last three."""
    what = KINDS[key]
    return [
        Figure(f"{key}_rate", what, "per second", DECISIONS, (what,), rate, _BUSY),
        Figure(f"{key}_cpu", what, "µs", DECISIONS, (f"{what}, PostgreSQL's core",), cpu, _BUSY),
        Figure(f"{key}_wal", what, "bytes", DECISIONS, (f"{what}, WAL",), wal, _BUSY),
        Figure(f"{key}_disk", what, "bytes", DECISIONS, (f"{what}, on disk",), disk, _BUSY),
    ]


FIGURES: tuple[Figure, ...] = (
    Figure("ingest", "ingest: customers' messages, webhook to commit, a server's core", "per second", "ingest",
           (f"Waypost, PostgreSQL, {CORE}", "Waypost, PostgreSQL"), 1_000, _BUSY),
    Figure("statuses", "ingest: statuses, webhook to commit, a server's core", "per second", "webhooks",
           (f"Waypost, PostgreSQL, {CORE}", "Waypost, PostgreSQL"), 4_000, _BUSY),
    Figure("send", "send: claim, HTTP call, settle, a server's core", "per second", "sending",
           (f"Waypost on PostgreSQL, {CORE}", "Waypost on PostgreSQL"), 3_000, _BUSY),
    Figure("create", "send: a message posted by the API, one process", "per second", "rules",
           ("creates, one by one, PostgreSQL",), 800, "a cautious guess"),
    Figure("turn", "turns: one process with all roles", "per second", "turn_latency",
           ("one process with all roles, PostgreSQL",), 190, _BUSY),
    Figure("post", "posts among people, by WebSocket, a server's core", "per second", "posting",
           (f"Waypost, PostgreSQL, by WebSocket, {CORE}",), 2_000, _BUSY),
    Figure("fanout", "fan-out: items written to sockets, 4 posts in flight, a server's core", "per second", "fanout",
           (f"Waypost, PostgreSQL, 4 in flight, {CORE}",), 100_000, _BUSY),
    Figure("socket", "an idle socket with its device", "KiB", "idle",
           ("Waypost, PostgreSQL, each of 20,000 idle sockets",), 25, "the goal of `python -m bench idle`"),
    Figure("append", "Cassandra: appends of one process to one node", "per second", "log",
           ("history, append",), 4_000, "one node on 2 cores that it shares with the process"),
    *_decision("submitted", 1_390, 65, 1_230, 790),
    *_decision("sent", 930, 130, 1_970, 960),
    *_decision("status", 980, 55, 1_630, 1_050),
    *_decision("line", 750, 107, 2_290, 1_200),
    *_decision("exchange", 180, 985, 5_350, 2_540),
    *_decision("posted", 660, 170, 2_040, 1_010),
)  # fmt: skip


def look_up(figures: Sequence[Figure]) -> dict[str, Known]:
    found = results.read()
    return {figure.key: _known(figure, found.get(figure.part)) for figure in figures}


def source(measured: Measured) -> str:
    return f"`{measured.part}`, {measured.date}, {measured.commit}, {measured.how}"


def _known(figure: Figure, measured: Measured | None) -> Known:
    lines = (
        {line.name: line for line in measured.lines if "/s" in line.unit or "*" not in figure.names[0]}
        if measured
        else {}
    )
    for wanted in figure.names:
        found = fnmatch.filter(lines, wanted)
        if measured and found:
            return Known(figure, lines[found[0]].figure, source(measured))
    return Known(figure, figure.assumed, f"**assumed**, `bench {figure.part}` has not said it yet: {figure.why}")
