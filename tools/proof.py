"""`make proof`: the long evidence, each part bounded in time, and one table at the end.

Storms (processes killed and frozen under load), simulated seeds, a soak, and fuzzing. `--short` runs a little of each.
A part that did not run on every footprint is "incomplete", not "holds".
Exits with 1 when a part found a violation, failed, did not get through in its time, or is incomplete;
`--short` accepts incomplete parts, as `make test` accepts tests that skip for want of a service.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import ServiceMissing

PYTEST = [sys.executable, "-m", "pytest", "-q"]
STORMS = [
    "tests/acceptance/sending/test_kill_nine.py",
    "tests/acceptance/conversations/test_turn_storm.py",
    "tests/acceptance/live/test_live.py",
]
SOAK = ["tests/acceptance/process/test_soak.py"]
FUZZ = [
    "tests/integration/receiving/test_webhook_fuzz.py",
    "tests/integration/edge/test_openapi.py",
    "tests/integration/live/test_live_frames.py",
    "tests/integration/live/test_websocket_refusals.py",
]
STORIES = ("sending", "talking", "following")
FOOTPRINTS = ("sqlite", "stack")
"""One file, and PostgreSQL with Redis and Cassandra."""
GRACE = 20.0
"""Seconds that a part has to end by itself once its time is up."""


@dataclass(frozen=True)
class Size:
    strikes: int
    storm: float
    """Of one round; 1 is 5,000 messages and 22 kills of the whole server."""
    storm_sec: float
    seeds: int
    soak_sec: float
    fuzz: float
    limits: Mapping[str, float]
    """Seconds, by part: twice what it takes on two quiet cores, and more."""


WHOLE = Size(200, 1.0, 60, 500, 300, 20, {"storms": 2400, "seeds": 3600, "soak": 900, "fuzz": 1800})
SHORT = Size(8, 0.1, 6, 4, 6, 1, {"storms": 300, "seeds": 240, "soak": 180, "fuzz": 240})


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
    part = Part("storms", "processes killed and frozen under load, one file and full stack")
    settings = {
        "WAYPOST_TEST_STORM": str(size.storm),
        "WAYPOST_TEST_STORM_SEC": str(size.storm_sec),
        "WAYPOST_TEST_LEDGERS": ",".join(FOOTPRINTS),
    }
    timeout = ["-p", "no:cacheprovider", "-o", "timeout=1200"]
    before = -1
    while before < _strikes(run) < size.strikes and not part.trouble:
        before = _strikes(run)
        part.trouble = _trouble(
            run.call([*PYTEST, *timeout, "--numprocesses=2", "--maxschedchunk=1", *STORMS], **settings)
        )
    by_footprint = sorted({line["footprint"] for line in run.recorded})
    part.count = f"{_strikes(run)} strikes in {len(run.recorded)} storms on {', '.join(by_footprint)}"
    part.violations = sum(line["violations"] for line in run.recorded)
    part.skipped = skipped_footprints(run.recorded, [*FOOTPRINTS, "postgres"])  # some storms choose PostgreSQL alone
    part.trouble = part.trouble or ("" if _strikes(run) >= size.strikes else "too few")
    return part


def _strikes(run: Run) -> int:
    return sum(int(line["strikes"]) for line in run.recorded)


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
    part = Part("soak", "memory, latency and rows under steady load")
    settings = {"WAYPOST_TEST_SOAK_SEC": str(size.soak_sec), "WAYPOST_TEST_LEDGERS": ",".join(FOOTPRINTS)}
    command = [*PYTEST, "-p", "no:cacheprovider", "-o", "timeout=0", "--numprocesses=2", *SOAK]
    part.trouble = _trouble(run.call(command, **settings))
    messages = sum(line["messages"] for line in run.recorded)
    footprints = ", ".join(sorted(line["footprint"] for line in run.recorded))
    part.count = f"{messages} messages in {size.soak_sec:.0f} s on each of {footprints}"
    part.skipped = skipped_footprints(run.recorded, FOOTPRINTS)
    return part


def fuzz(size: Size, run: Run) -> Part:
    part = Part("fuzz", "webhooks, the HTTP API, live frames, WebSocket handshakes")
    settings = {"WAYPOST_TEST_FUZZ": str(size.fuzz), "WAYPOST_TEST_EXPLORE": "1"}
    command = [*PYTEST, "-p", "no:cacheprovider", "-o", "timeout=0", "--numprocesses=2", *FUZZ]
    part.trouble = _trouble(run.call(command, **settings))
    passed = re.search(r"(\d+) passed", run.output)
    part.count = f"{passed[1] if passed else 0} tests, {size.fuzz:g} times the examples of make test"
    return part


def _trouble(code: int | None) -> str:
    if code is None:
        return "out of time"
    return f"failed ({code})" if code else ""


PARTS: dict[str, Callable[[Size, Run], Part]] = {"storms": storms, "seeds": seeds, "soak": soak, "fuzz": fuzz}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--short", action="store_true", help="a little of each, in about three minutes")
    asked.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which of them; else all")
    given = asked.parse_args()
    size = SHORT if given.short else WHOLE
    with _cassandra() as shared:
        os.environ.update(shared)
        done = [_timed(name, size) for name in given.parts or PARTS]
    _print_table(done)
    return 0 if all(part.is_good(may_skip=given.short) for part in done) else 1


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


def _print_table(parts: list[Part]) -> None:
    rows = [("part", "what", "count", "violations", "seconds", "verdict")]
    rows += [(p.name, p.what, p.count, str(p.violations), f"{p.seconds:.0f}", p.verdict) for p in parts]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
