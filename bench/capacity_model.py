"""From measured figures and inputs to cells, nodes, bytes and money; nothing is read and nothing is written here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bench.capacity_inputs import Inputs

MONTH = 365 / 12
KIB = 1024


class Limit(NamedTuple):
    name: str
    per_second: float
    """Messages of one cell at which it is full."""
    why: str


class Row(NamedTuple):
    name: str
    value: float
    unit: str
    how: str


@dataclass(frozen=True)
class Fleet:
    inputs: Inputs
    limits: list[Limit]
    """The first bottleneck first."""
    rows: list[Row]
    costs: list[Row]

    def per_million(self, usd_a_month: float) -> float:
        return usd_a_month / (self.inputs.per_day * MONTH) * 1e6


def decisions(inputs: Inputs) -> dict[str, float]:
    """How many of each kind one message of the average costs the Ledger."""
    return {
        "submitted": inputs.share_submitted,
        "sent": inputs.going_out,
        "status": inputs.going_out * inputs.statuses,
        "line": max(0.0, inputs.share_lines - inputs.share_replies),
        "exchange": inputs.share_replies,
        "posted": inputs.share_posts,
    }


def each(kind: str, figures: Mapping[str, float], inputs: Inputs) -> float:
    """Of one message of the average: PostgreSQL's `cpu` in µs, `wal` or `disk` in bytes."""
    return math.fsum(count * figures[f"{name}_{kind}"] for name, count in decisions(inputs).items())


def limits(figures: Mapping[str, float], inputs: Inputs) -> list[Limit]:
    cpu, wal, disk = (each(kind, figures, inputs) for kind in ("cpu", "wal", "disk"))
    cores = inputs.db_cores * inputs.db_busy * inputs.db_scaling
    room = inputs.db_disk * inputs.disk_fill / inputs.outbox_days / 86_400 * inputs.peak_factor
    found = [
        Limit(
            "PostgreSQL's cores", cores * 1e6 / cpu, f"{cpu:,.0f} µs of a core for a message, {cores:.1f} cores' worth"
        ),
        Limit(
            "PostgreSQL's WAL: one stream, replayed by one process",
            inputs.wal_stream / wal,
            f"{wal:,.0f} bytes of WAL for a message",
        ),
        Limit(
            "PostgreSQL's disk: it fills by the average, not by the peak",
            room / disk,
            f"{disk:,.0f} bytes of rows and indexes for a message, kept for {inputs.outbox_days:g} days",
        ),
    ]
    return sorted(found, key=lambda limit: limit.per_second)


def plan(figures: Mapping[str, float], inputs: Inputs) -> Fleet:
    found = limits(figures, inputs)
    given = found[0].per_second * inputs.cell_fill
    cells = math.ceil(inputs.peak / given)
    cores = server_cores(figures, inputs)
    log = history_nodes(figures, inputs)
    rows = [*_load(inputs), *_cells(found[0], given, cells, figures, inputs), *_servers(cores, cells, figures, inputs)]
    return Fleet(
        inputs, found, [*rows, *_log(log, inputs), *_storage(cells, figures, inputs)], _costs(cells, cores, log, inputs)
    )


def server_cores(figures: Mapping[str, float], inputs: Inputs) -> dict[str, float]:
    """Cores of our own processes at the peak, by what they do."""
    peak, busy = inputs.peak, inputs.app_busy
    shown = inputs.share_lines + inputs.share_replies + inputs.share_posts
    return {
        "webhooks": peak
        * (inputs.share_lines / figures["ingest"] + inputs.going_out * inputs.statuses / figures["statuses"])
        / inputs.per_webhook
        / busy,
        "API": peak * inputs.share_submitted / figures["create"] / busy,
        "sending": peak * inputs.going_out / figures["send"] / busy,
        "turns": peak * inputs.share_replies / figures["turn"] / busy,
        "gateways": peak * (inputs.share_posts / figures["post"] + shown * inputs.screens / figures["fanout"]) / busy,
    }


class LogNodes(NamedTuple):
    writes: float
    for_writes: int
    for_disk: int

    @property
    def nodes(self) -> int:
        return max(self.for_writes, self.for_disk)


def history_nodes(figures: Mapping[str, float], inputs: Inputs) -> LogNodes:
    writes = inputs.peak * (1 + inputs.going_out * inputs.statuses) * inputs.history_copies
    node = figures["append"] * inputs.history_cores * inputs.history_scaling
    stored = yearly_log(inputs) * inputs.history_years * (1 + inputs.growth)
    return LogNodes(writes, math.ceil(writes / node), math.ceil(stored / (inputs.history_disk * inputs.disk_fill)))


def yearly_log(inputs: Inputs) -> float:
    return inputs.per_day * 365 * inputs.history_bytes * inputs.history_copies


def _load(inputs: Inputs) -> list[Row]:
    grown = f"{inputs.peak_factor:g} times the average, and {inputs.growth:.0%} of growth"
    return [
        Row("average", inputs.per_second, "messages/s", f"{inputs.per_day:,.0f} a day"),
        Row("peak", inputs.peak, "messages/s", grown),
    ]


def _cells(first: Limit, given: float, cells: int, figures: Mapping[str, float], inputs: Inputs) -> list[Row]:
    a_message = math.fsum(decisions(inputs).values())
    wal = each("wal", figures, inputs) * given
    return [
        Row("decisions for one message", a_message, "", "submit, claim and settle, statuses, lines, turns, posts"),
        Row("one cell is given", given, "messages/s", f"{inputs.cell_fill:.0%} of its first limit: {first.name}"),
        Row("one cell decides", given * a_message, "decisions/s", "that, times the decisions for one message"),
        Row("cells", cells, "", "peak / what one is given"),
        Row("machines for PostgreSQL", cells * (1 + inputs.standbys), "", f"each with {inputs.standbys:g} standbys"),
        Row("WAL of one cell at its peak", wal, "bytes/s", "to each standby and to the archive"),
        Row("one cell's failure stops", 100 / cells, "% of the load", "until a standby is promoted; the others go on"),
    ]


def _servers(cores: Mapping[str, float], cells: int, figures: Mapping[str, float], inputs: Inputs) -> list[Row]:
    rows = [
        Row(f"cores for {name}", count, "", f"of all cells, {inputs.app_busy:.0%} busy at the peak")
        for name, count in cores.items()
    ]
    memory = inputs.sockets * figures["socket"] * KIB
    redis = math.ceil(inputs.peak / cells * inputs.hints / inputs.redis_rate)
    return [
        *rows,
        Row("cores for our processes in one cell", sum(cores.values()) / cells, "", "their sum / cells"),
        Row("memory for sockets", memory, "bytes", f"{inputs.sockets:,.0f} sockets"),
        Row("sockets in a GiB", 2**20 / figures["socket"], "", "of a gateway's memory"),
        Row("Redis in one cell", redis, "", f"{inputs.hints:g} commands a message; nothing that matters is in it"),
    ]


def _log(log: LogNodes, inputs: Inputs) -> list[Row]:
    return [
        Row(
            "Cassandra writes at the peak",
            log.writes,
            "writes/s",
            f"a body and its statuses, {inputs.history_copies:g} copies",
        ),
        Row("Cassandra nodes for writing", log.for_writes, "", f"of {inputs.history_cores:g} cores"),
        Row("Cassandra nodes for keeping", log.for_disk, "", "what `history_years` says, and a year of growth"),
    ]


def _storage(cells: int, figures: Mapping[str, float], inputs: Inputs) -> list[Row]:
    ledger = each("disk", figures, inputs) * inputs.per_day * (1 + inputs.growth)
    full = inputs.db_disk * inputs.disk_fill / (ledger / cells)
    return [
        Row(
            "history, a year",
            yearly_log(inputs),
            "bytes",
            f"{inputs.history_bytes:g} bytes a message, {inputs.history_copies:g} copies",
        ),
        Row("Ledgers, a day", ledger, "bytes", "rows and indexes, one copy"),
        Row("Ledgers, kept", ledger * inputs.outbox_days, "bytes", f"{inputs.outbox_days:g} days, one copy"),
        Row("a cell's disk is full after", full, "days", "if nothing were removed, as it is today: see below"),
    ]


def _costs(cells: int, cores: Mapping[str, float], log: LogNodes, inputs: Inputs) -> list[Row]:
    databases = cells * (1 + inputs.standbys)
    core, disk = inputs.usd_core, inputs.usd_terabyte / 1e12
    return [
        Row(
            "PostgreSQL", databases * (inputs.db_cores * core + inputs.db_disk * disk), "", f"{databases:,.0f} machines"
        ),
        Row("our processes", sum(cores.values()) * core, "", f"{sum(cores.values()):,.0f} cores"),
        Row(
            "Cassandra",
            log.nodes * (inputs.history_cores * core + inputs.history_disk * disk),
            "",
            f"{log.nodes:,} nodes",
        ),
        Row("Redis", cells * 3 * core, "", "three cores in each cell"),
    ]
