"""Waypost beside its peers: every figure of one table comes from one run, interleaved; what counts is the ratio.

`python -m bench` runs everything (about ten minutes); `python -m bench sending webhooks` only what is named. The table
is printed and written to bench/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import uvloop

from bench import (
    backlog,
    fairness,
    fanout,
    idle,
    ingest,
    log,
    pace,
    paging,
    posting,
    rules,
    startup,
    turn_latency,
    turns,
    waypost_send,
    waypost_webhook,
)
from bench.peers import naive_webhook, pgqueuer_send, procrastinate_send, provider, raw_webhook
from bench.table import Line, shown
from waypost.testing.services import Postgres

RESULTS = Path(__file__).parent / "results"


def sending(url: str, rounds: int, count: int) -> list[Line]:
    """Preloaded messages to a local HTTP provider, claimed, called and settled."""
    rates: dict[str, list[float]] = {}
    with provider.running() as to:
        for _ in range(rounds):
            runs = [
                uvloop.run(waypost_send.run_postgres(url, to, count)),
                uvloop.run(pgqueuer_send.run(url, to, count)),
                uvloop.run(waypost_send.run_sqlite(to, count)),
                uvloop.run(procrastinate_send.run(url, to, max(500, count // 10))),
            ]
            for run in runs:
                print(run, flush=True)
                rates.setdefault(run.name, []).append(run.per_second)
    base = median(rates["pgqueuer"])
    goals = {"Waypost on PostgreSQL": 2.0}
    return [
        Line("sending", name, median(values), "messages/s", median(values) / base, "pgqueuer", goals.get(name))
        for name, values in rates.items()
    ]


def webhooks(url: str, rounds: int, count: int) -> list[Line]:
    """Signed status webhooks, answered 200 after a durable commit, 64 connections, one server process."""
    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        runs = [
            uvloop.run(waypost_webhook.run_postgres(url, count)),
            uvloop.run(raw_webhook.run_postgres(url, count)),
            uvloop.run(waypost_webhook.run_sqlite(count)),
            raw_webhook.run_sqlite(count),
            uvloop.run(naive_webhook.run(url, max(500, count // 20))),
        ]
        for run in runs:
            print(run, flush=True)
            rates.setdefault(run.name, []).append(run.load.per_second)
    lines = []
    for name, values in rates.items():
        base = "raw ASGI, SQLite" if "SQLite" in name else "raw ASGI, PostgreSQL"
        goal = 0.6 if name.startswith("Waypost") else None
        lines.append(
            Line("webhooks", name, median(values), "requests/s", median(values) / median(rates[base]), base, goal)
        )
    return lines


PARTS: dict[str, Callable[[str, int, int], list[Line]]] = {
    "sending": sending,
    "webhooks": webhooks,
    "ingest": ingest.measure,
    "turns": turns.measure,
    "turn_latency": turn_latency.measure,
    "pace": pace.measure,
    "backlog": backlog.measure,
    "fairness": fairness.measure,
    "rules": rules.measure,
    "fanout": fanout.measure,
    "posting": posting.measure,
    "idle": idle.measure,
    "paging": paging.measure,
    "log": log.measure,
    "startup": startup.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all when none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}: choose from {', '.join(PARTS)}")
    lines: list[Line] = []
    with Postgres() as postgres:
        for part in options.parts or PARTS:
            print(f"--- {part}", flush=True)
            lines += PARTS[part](postgres.url, options.rounds, options.count)
    table = shown(lines)
    print(table)
    write(table, lines)


def write(table: str, lines: list[Line]) -> None:
    RESULTS.mkdir(exist_ok=True)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    (RESULTS / "latest.md").write_text(f"{machine}\n\n{table}\n")
    (RESULTS / "latest.json").write_text(json.dumps([line._asdict() for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
