"""What the capacity page assumes: every input has a name, a value and a meaning, and may be set to another value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace


def _given(value: float, meaning: str) -> float:
    return field(default=value, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Inputs:
    per_day: float = _given(20e9, "messages a day, in and out together")
    peak_factor: float = _given(3, "the busiest second against the average one")
    growth: float = _given(0.3, "a year; the fleet is bought for the end of it")
    share_submitted: float = _given(0.60, "of the messages: posted by businesses over the API")
    share_lines: float = _given(0.20, "of the messages: written by customers")
    share_replies: float = _given(0.15, "of the messages: answers of bots, each to a burst of customers' lines")
    share_posts: float = _given(0.05, "of the messages: people among themselves")
    statuses: float = _given(2.7, "status webhooks for each message that goes out: sent, delivered, often read")
    per_webhook: float = _given(1, "updates in one webhook POST; the provider may send many, which is cheaper")
    screens: float = _given(3, "screens that show a line, a reply or a post at once")
    sockets: float = _given(5e6, "people's devices that are connected at once")
    db_cores: float = _given(32, "cores of a cell's PostgreSQL")
    db_busy: float = _given(0.6, "of them, what may be busy at the peak")
    db_scaling: float = _given(0.5, "of a core's measured work, what is left beside 31 others: not measured here")
    wal_stream: float = _given(
        120e6, "bytes of WAL a second that a standby replays, which is one process: not measured here"
    )
    db_disk: float = _given(32e12, "bytes of disk of a cell's PostgreSQL")
    disk_fill: float = _given(0.6, "of any disk, what may be full")
    outbox_days: float = _given(
        8, "days that the Ledger keeps the rows of a message: no less than its dedup needs; today, for ever"
    )
    cell_fill: float = _given(0.7, "of what a cell can, what it is given")
    standbys: float = _given(2, "of each PostgreSQL, in two other zones, one of them synchronous")
    app_busy: float = _given(0.6, "of a server's core, what may be busy at the peak")
    history_copies: float = _given(3, "copies of everything in Cassandra")
    history_cores: float = _given(16, "cores of a Cassandra node")
    history_scaling: float = _given(0.5, "of a core's measured work, what is left beside 15 others and compaction")
    history_bytes: float = _given(300, "bytes of a message in Cassandra, compressed, its statuses with it")
    history_disk: float = _given(16e12, "bytes of disk of a Cassandra node")
    history_years: float = _given(1, "years that Cassandra keeps them")
    hints: float = _given(2, "Redis commands for each message, after coalescing")
    redis_rate: float = _given(77_000, "commands a second of one Redis: INCR, measured here on a shared core")
    usd_core: float = _given(15, "USD a month for a core with its memory")
    usd_terabyte: float = _given(60, "USD a month for a TB of local NVMe")
    seed: float = _given(1, "of the simulation of the shard map")

    def explained(self) -> Iterator[tuple[str, float, str]]:
        for each in fields(self):
            yield each.name, getattr(self, each.name), each.metadata["meaning"]

    @property
    def per_second(self) -> float:
        return self.per_day / 86_400

    @property
    def peak(self) -> float:
        return self.per_second * self.peak_factor * (1 + self.growth)

    @property
    def going_out(self) -> float:
        """Of the messages, those that a provider takes and reports on."""
        return self.share_submitted + self.share_replies


def changed(inputs: Inputs, settings: Sequence[str]) -> Inputs:
    """With `name=value` set."""
    given = dict(setting.split("=", 1) for setting in settings)
    unknown = set(given) - {each.name for each in fields(inputs)}
    if unknown:
        raise SystemExit(f"there is no input {min(unknown)}")
    return replace(inputs, **{name: float(value) for name, value in given.items()})
