"""`make proof`: the long evidence, each part bounded in time, and one table at the end.

Storms (processes killed and frozen under load), outages (one trouble at a time, under a flow of messages), three nodes
of Cassandra, simulated seeds, a soak, and fuzzing. `--short` runs only what `make test` does not: small storms on the
full stack, and the command that runs seeds. `--write` puts the table into docs/explanation/proof.md.
A part that did not run on every footprint is "incomplete", not "holds".
Exits with 1 when a part found a violation, failed, did not get through in its time, or is incomplete;
`--short` accepts incomplete parts, as `make test` accepts tests that skip for want of a service.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import ServiceMissing

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import proof_page  # needs the line above

PYTEST = [sys.executable, "-m", "pytest", "-q"]
STORMS = [
    "tests/acceptance/sending/test_kill_nine.py",
    "tests/acceptance/conversations/test_turn_storm.py",
    "tests/acceptance/live/test_live.py",
]
OUTAGES = "tests/acceptance/outages"
RING = f"{OUTAGES}/test_degraded_cassandra_ring.py"
RING_FAULTS = 4
SOAK = "tests/acceptance/process/test_soak.py"
FUZZ = [
    "tests/integration/receiving/test_webhook_fuzz.py",
    "tests/integration/edge/test_openapi.py",
    "tests/integration/live/test_live_frames.py",
    "tests/integration/live/test_websocket_refusals.py",
]
STORIES = ("sending", "talking", "following")
FOOTPRINTS = ("sqlite", "stack")
"""One file, and PostgreSQL with Redis and Cassandra."""
TREND_SEC = 60.0
"""Seconds of a soak from which on a slope is one, and not the warming up."""
GRACE = 20.0
"""Seconds that a part has to end by itself once its time is up."""


@dataclass(frozen=True, kw_only=True)
class Size:
    parts: Sequence[str]
    """Those that run unless others are named."""
    footprints: Sequence[str] = FOOTPRINTS
    strikes: int
    storm: float
    """Of one round; 1 is 5,000 messages and 22 kills of the whole server."""
    storm_sec: float
    outages: str
    """Which of them, as pytest's -k."""
    pause_sec: float
    """A process stands still; after 12 s its messages count as stale."""
    seeds: int
    soak_sec: float
    fuzz: float
    """Of one round, times the examples of make test."""
    fuzzed: int
    """Requests and frames, at least."""
    limits: Mapping[str, float]
    """Seconds, by part: twice what it takes on two quiet cores, and more."""


WHOLE = Size(
    parts=("storms", "outages", "soak", "seeds", "fuzz", "cassandra"),
    strikes=200,
    storm=1.0,
    storm_sec=60,
    outages="",
    pause_sec=15,
    seeds=500,
    soak_sec=1800,
    fuzz=15,
    fuzzed=50_000,
    limits={"storms": 2400, "outages": 1200, "soak": 2700, "seeds": 3600, "fuzz": 3600, "cassandra": 1500},
)
SHORT = Size(
    parts=("storms", "seeds"),
    footprints=("stack",),
    strikes=8,
    storm=0.1,
    storm_sec=6,
    outages="process_is_paused or fails_over or ahead",
    pause_sec=4,
    seeds=4,
    soak_sec=6,
    fuzz=1,
    fuzzed=1_000,
    limits={"storms": 300, "outages": 420, "soak": 180, "seeds": 240, "fuzz": 240, "cassandra": 1500},
)


@dataclass
class Part:
    """One row of the table."""

    name: str
    what: str
    count: str = ""
    violations: int = 0
    seconds: float = 0.0
    trouble: str = ""
    skipped: Sequence[str] = ()
    """The footprints that it did not run on."""

    @property
    def verdict(self) -> str:
        if self.trouble:
            return self.trouble
        if self.violations:
            return "broken"
        return f"incomplete: {', '.join(self.skipped)} skipped" if self.skipped else "holds"

    def is_good(self, *, may_skip: bool) -> bool:
        return not self.trouble and not self.violations and (may_skip or not self.skipped)


def skipped_footprints(recorded: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> list[str]:
    """A test whose service is missing skips and records nothing."""
    ran = {line["footprint"] for line in recorded}
    return [footprint for footprint in wanted if footprint not in ran]


@dataclass
class Run:
    """Programs within the time of a part, and what their tests recorded."""

    deadline: float
    recorded: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""

    def call(self, command: list[str], **settings: str) -> int | None:
        """Its exit code; None when the time was up."""
        with tempfile.TemporaryDirectory() as folder:
            record, printed = Path(folder) / "record", Path(folder) / "output"
            environment = {**os.environ, "WAYPOST_TEST_RECORD": str(record), "WAYPOST_TEST_FORK": "0", **settings}
            with printed.open("wb") as written:
                program = subprocess.Popen(command, env=environment, stdout=written, stderr=subprocess.STDOUT)
                code = self._wait(program)
            if record.exists():
                self.recorded += [json.loads(line) for line in record.read_text().splitlines()]
            self.output = printed.read_text(errors="replace")
        if code:
            print(self.output[-6000:], flush=True)
        return code

    def _wait(self, program: subprocess.Popen[bytes]) -> int | None:
        try:
            return program.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGINT)
        try:
            program.wait(GRACE)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        return None


def storms(size: Size, run: Run) -> Part:
    """Rounds until there were enough strikes; each draws its own moments."""
    part = Part("storms", "processes killed and frozen under load")
    settings = {
        "WAYPOST_TEST_STORM": str(size.storm),
        "WAYPOST_TEST_STORM_SEC": str(size.storm_sec),
        "WAYPOST_TEST_LEDGERS": ",".join(size.footprints),
    }
    before = -1
    while before < _strikes(run) < size.strikes and not part.trouble:
        before = _strikes(run)
        part.trouble = _trouble(run.call([*PYTEST, *_together(1200), *STORMS], **settings))
    part.count = f"{_strikes(run)} strikes in {len(run.recorded)} storms on {_footprints(run)}"
    part.violations = _violations(run)
    part.skipped = skipped_footprints(run.recorded, size.footprints)
    part.trouble = part.trouble or ("" if _strikes(run) >= size.strikes else "too few")
    return part


def outages(size: Size, run: Run) -> Part:
    what = (
        "under load: a suspended process, a wrong clock, a full disk, PostgreSQL failed over, Redis or Cassandra lost"
    )
    part = Part("outages", what)
    settings = {"WAYPOST_TEST_PAUSE_SEC": str(size.pause_sec), "WAYPOST_TEST_LEDGERS": ",".join(size.footprints)}
    chosen = ["-k", size.outages] if size.outages else []
    part.trouble = _trouble(run.call([*PYTEST, *_together(600), OUTAGES, *chosen], **settings))
    kinds = Counter(line["test"].rpartition("::test_")[2].replace("_", " ") for line in run.recorded)
    for kind, count in kinds.items():
        print(f"    {kind}: {count}", flush=True)
    part.count = f"{_strikes(run)} strikes of {len(kinds)} kinds on {_footprints(run)}"
    part.violations = _violations(run)
    part.skipped = skipped_footprints(run.recorded, size.footprints)
    return part


def cassandra(_size: Size, run: Run) -> Part:
    part = Part("cassandra", "three nodes, three copies, quorum: one node killed, paused, slow, lost and replaced")
    command = [*PYTEST, "-p", "no:cacheprovider", "-o", "timeout=0", RING]
    part.trouble = _trouble(run.call(command, WAYPOST_TEST_RING="1"))
    for line in run.recorded:
        if "fault" in line:
            print(f"    {line['fault']}", flush=True)
    requests, failed = (sum(line.get(name, 0) for line in run.recorded) for name in ("requests", "failed"))
    part.count = f"{_strikes(run)} strikes, {requests} requests meanwhile, {failed} of them failed"
    part.violations = _violations(run)
    part.skipped = [] if run.recorded else ["three nodes"]
    part.trouble = part.trouble or ("too few" if 0 < _strikes(run) < RING_FAULTS else "")
    return part


def _together(timeout: int) -> list[str]:
    return ["-p", "no:cacheprovider", "-o", f"timeout={timeout}", "--numprocesses=2", "--maxschedchunk=1"]


def _strikes(run: Run) -> int:
    return sum(int(line["strikes"]) for line in run.recorded)


def _violations(run: Run) -> int:
    return sum(int(line["violations"]) for line in run.recorded)


def _footprints(run: Run) -> str:
    return ", ".join(sorted({line["footprint"] for line in run.recorded}))


def seeds(size: Size, run: Run) -> Part:
    part = Part("seeds", "the whole server in simulated time under faults")
    waypost = str(Path(sys.executable).with_name("waypost"))
    done = []
    for story in STORIES:
        code = run.call([waypost, "simulate", "--seeds", str(size.seeds), "--story", story])
        if code is None:
            part.trouble = _trouble(code)
            break
        part.violations += 1 if code else 0
        done.append(story)
    part.count = f"{size.seeds} seeds each of {', '.join(done)}"
    return part


def soak(size: Size, run: Run) -> Part:
    part = Part("soak", "slopes of memory and latency under steady load, rows and log per message")
    settings = {"WAYPOST_TEST_SOAK_SEC": str(size.soak_sec), "WAYPOST_TEST_LEDGERS": ",".join(size.footprints)}
    command = [*PYTEST, "-p", "no:cacheprovider", "-o", "timeout=0", "--numprocesses=2", SOAK]
    part.trouble = _trouble(run.call(command, **settings))
    part.count = f"{size.soak_sec / 60:g} min; " + "; ".join(_slopes(line, size.soak_sec) for line in run.recorded)
    part.skipped = skipped_footprints(run.recorded, size.footprints)
    return part


def _slopes(line: Mapping[str, Any], seconds: float) -> str:
    log = "written to disk" if line["footprint"] == "sqlite" else "of WAL"
    costs = f"{line['rows_per_message']:.1f} rows and {line['wal_bytes_per_message'] / 1000:.1f} kB {log} per message"
    slopes = f"memory {line['memory_mb_per_hour']:+.1f} MB/h, latency {line['latency_ms_per_hour']:+.1f} ms/h, "
    return f"{line['footprint']}: {line['messages']} messages, {slopes if seconds >= TREND_SEC else ''}{costs}"


def fuzz(size: Size, run: Run) -> Part:
    """Rounds until enough was tried; each draws its own examples."""
    part = Part("fuzz", "webhooks, the HTTP API, live frames, WebSocket connections")
    settings = {"WAYPOST_TEST_FUZZ": str(size.fuzz), "WAYPOST_TEST_EXPLORE": "1"}
    command = [*PYTEST, "-p", "no:cacheprovider", "-o", "timeout=0", "--numprocesses=2", *FUZZ]
    before = -1
    while before < _tried(run).total() < size.fuzzed and not part.trouble:
        before = _tried(run).total()
        part.trouble = _trouble(run.call(command, **settings))
    tried = _tried(run)
    kinds = ", ".join(f"{count} {kind}" for kind, count in tried.most_common())
    part.count = f"{tried.total()} tried: {kinds}"
    part.trouble = part.trouble or ("" if tried.total() >= size.fuzzed else "too few")
    return part


def _tried(run: Run) -> Counter[str]:
    tried: Counter[str] = Counter()
    for line in run.recorded:
        tried.update(line["fuzzed"])
    return tried


def _trouble(code: int | None) -> str:
    if code is None:
        return "out of time"
    return f"failed ({code})" if code else ""


PARTS: dict[str, Callable[[Size, Run], Part]] = {
    "storms": storms,
    "outages": outages,
    "soak": soak,
    "seeds": seeds,
    "fuzz": fuzz,
    "cassandra": cassandra,
}
ON_STACK = ("storms", "outages", "soak")
"""They share a node of Cassandra."""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--short", action="store_true", help="only what make test leaves out, in about two minutes")
    asked.add_argument("--write", action="store_true", help=f"put the table into {proof_page.PAGE.name}")
    asked.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which of them; else the usual ones")
    given = asked.parse_args()
    if given.short and given.write:
        asked.error("--write shows what the whole proof found: leave --short out")
    size = SHORT if given.short else WHOLE
    done = _run(given.parts or size.parts, size)
    _print_table(done)
    if given.write:
        proof_page.write({part.name: _cells(part) for part in done}, list(PARTS))
    return 0 if all(part.is_good(may_skip=given.short) for part in done) else 1


def _run(names: Sequence[str], size: Size) -> list[Part]:
    done = []
    together = [name for name in names if name in ON_STACK]
    if together:
        with _cassandra() as shared:
            os.environ.update(shared)
            done = [_timed(name, size) for name in together]
    return done + [_timed(name, size) for name in names if name not in ON_STACK]


@contextmanager
def _cassandra() -> Iterator[Mapping[str, str]]:
    """One node for all of them; without it the full stack is skipped."""
    try:
        with Cassandra() as node:
            yield {"WAYPOST_TEST_CASSANDRA_PORT": str(node.port)}
    except ServiceMissing:
        yield {}


def _timed(name: str, size: Size) -> Part:
    print(f"proof: {name}, at most {size.limits[name]:.0f} s", flush=True)
    started = time.monotonic()
    part = PARTS[name](size, Run(started + size.limits[name]))
    part.seconds = time.monotonic() - started
    return part


def _cells(part: Part) -> tuple[str, ...]:
    return part.name, part.what, part.count, str(part.violations), part.verdict, f"{part.seconds:.0f}"


def _print_table(parts: list[Part]) -> None:
    rows = [proof_page.COLUMNS, *map(_cells, parts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
