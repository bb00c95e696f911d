"""Waypost beside its peers: every figure of one table comes from one run, interleaved; what counts is the ratio.

`python -m bench` runs everything (about ten minutes); `python -m bench sending webhooks` only what is named. The table
is printed, and each part's figures are written to bench/results/ and into the page that is computed from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median

import uvloop

from bench import (
    backlog,
    capacity,
    decisions,
    fairness,
    fanout,
    hints,
    idle,
    ingest,
    log,
    pace,
    page,
    paging,
    posting,
    results,
    rules,
    stack,
    startup,
    turn_latency,
    turns,
    waypost_send,
    waypost_webhook,
    workers,
)
from bench.peers import naive_webhook, pgqueuer_send, procrastinate_send, provider, raw_webhook
from bench.peers.serving import WebhookResult, compared
from bench.table import Line, by_core, shown
from waypost_testing.services.processes import Postgres


def sending(url: str, rounds: int, count: int) -> list[Line]:
    """Preloaded messages to a local HTTP provider, claimed, called and settled."""
    rates: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
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
                cores.setdefault(run.name, []).append(run.per_core)
    base = median(rates["pgqueuer"])
    goals = {"Waypost on PostgreSQL": 2.0}
    lines = [
        Line("sending", name, median(values), "messages/s", median(values) / base, "pgqueuer", goals.get(name))
        for name, values in rates.items()
    ]
    return lines + by_core("sending", cores, "messages/s")


def webhooks(url: str, rounds: int, count: int) -> list[Line]:
    """Signed status webhooks, answered 200 after a durable commit, 64 connections, one server process."""
    measured: list[WebhookResult] = []
    for _ in range(rounds):
        runs = [
            uvloop.run(waypost_webhook.run_postgres(url, count)),
            uvloop.run(raw_webhook.run_postgres(url, count)),
            uvloop.run(waypost_webhook.run_sqlite(count)),
            raw_webhook.run_sqlite(count),
            uvloop.run(naive_webhook.run(url, max(500, count // 20))),
        ]
        print(*runs, sep="\n", flush=True)
        measured += runs
    return compared("webhooks", measured)


PARTS: dict[str, Callable[[str, int, int], list[Line]]] = {
    "sending": sending,
    "webhooks": webhooks,
    "ingest": ingest.measure,
    "decisions": decisions.measure,
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
    "hints": hints.measure,
    "log": log.measure,
    "stack": stack.measure,
    "workers": workers.measure,
    "startup": startup.measure,
    "page": page.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all when none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument(
        "--only-print", action="store_true", help="keep no figures: the machine is busy, or it is a try"
    )
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}: choose from {', '.join(PARTS)}")
    lines: list[Line] = []
    with Postgres() as postgres:
        for part in options.parts or PARTS:
            print(f"--- {part}", flush=True)
            found = PARTS[part](postgres.url, options.rounds, options.count)
            lines += found
            if not options.only_print:
                results.save(part, found, f"--rounds {options.rounds} --count {options.count}")
    print(shown(lines))
    if not options.only_print:
        results.write_table()
        capacity.update()


if __name__ == "__main__":
    main()
