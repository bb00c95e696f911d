"""How long `waypost serve` takes to its first 200, and what it weighs when nothing happens."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from tests.acceptance.conftest import Place, Report
from tests.acceptance.harness import PATIENCE, Program, Site, environment

FLOOR = (
    "import apsw, cryptography, litestar, msgspec, prometheus_client, pyreqwest, rich.table, structlog, typer, "
    "uvicorn, uvloop"
)
"""What a process must import that stands on these, before a line of ours runs."""
ROUNDS = 5
LIMIT = 1.0
HEAVIEST = 160.0
"""Megabytes."""


def imported() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", FLOOR], env=environment({}), check=True)
    return time.perf_counter() - started


def first_200(here: Site) -> tuple[float, Program]:
    started = time.perf_counter()
    running = here.serve()
    while time.perf_counter() - started < PATIENCE:
        with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", here.port, timeout=5)) as asked:
            asked.request("GET", "/readyz")
            if asked.getresponse().status == 200:
                return time.perf_counter() - started, running
        time.sleep(0.002)
    raise AssertionError("it did not start")


def resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def test_a_server_starts_within_a_second_beyond_its_imports_and_is_light(place: Place, report: Report) -> None:
    """The quickest of several rounds: what others do on the machine is not ours to measure."""
    here = place("sqlite")
    floors, starts, weights = [], [], []
    imported()  # compiles what was never compiled
    for _ in range(ROUNDS):
        floors.append(imported())
        took, running = first_200(here)
        starts.append(took)
        weights.append(resident(running.pid))
        running.kill()
    beyond = min(starts) - min(floors)
    report(
        f"first 200 after {min(starts):.2f} s, imports alone {min(floors):.2f} s, beyond them {beyond:.2f} s; "
        f"idle it weighs {min(weights):.0f} MB"
    )
    assert beyond <= LIMIT
    assert min(weights) < HEAVIEST
