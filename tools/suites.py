"""Run the tests. `make fast`: without a service. `make test`: all of them, what waits beside what computes.

The acceptance tests mostly wait for processes that they started, so more of them run at once than there are cores.
What computes runs in two processes beside them, and its output follows theirs. Acceptance tests that measure time (the
mark `alone`) run last, one after the other. With other arguments it is plain pytest.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import ServiceMissing

PYTEST = [sys.executable, "-m", "pytest"]
SLOWEST = ["--durations=25", "--durations-min=4"]
COMPUTING = ["tests/unit", "tests/repository", "tests/conformance", "tests/integration", "tests/simulation"]
WITHOUT_SERVICES = [
    "tests/unit",
    "tests/repository",
    *(f"tests/conformance/{part}" for part in ("bots", "local", "reqwest", "smtp", "sqlite", "webpush")),
    "tests/conformance/sql/test_inline_ledger.py",
]
WAITING = ["tests/acceptance"]
CORES = os.cpu_count() or 2
WAIT_AT_ONCE = 2 * CORES
MEMORY = Path("/dev/shm")  # noqa: S108  # what is made there has a name that nobody can guess
ENOUGH_MEMORY = 3 * 1024**3
"""Bytes."""
NO_TESTS = 5
"""What pytest returns when it found none."""


def main(arguments: list[str]) -> int:
    if arguments == ["fast"]:
        with _in_memory() as memory:
            command = [*PYTEST, *_workers(CORES), "--dist=worksteal", *_base(memory), *WITHOUT_SERVICES]
            return subprocess.call(command, env={**_environment(), **memory})
    if arguments:
        return subprocess.call([*PYTEST, *arguments])
    compileall.compile_dir("src", quiet=1)  # servers and commands are started by the thousand
    started = time.monotonic()
    with _cassandra() as shared, _in_memory() as memory:
        together = _together({**_environment(), **shared}, memory)
    alone = subprocess.call([*PYTEST, *SLOWEST, "-m", "alone", *WAITING], env=_environment())
    _print(f"tests: {time.monotonic() - started:.0f} s")
    return together or (0 if alone == NO_TESTS else alone)


def _together(environment: Mapping[str, str], memory: Mapping[str, str]) -> int:
    waiting = [*PYTEST, *SLOWEST, "-m", "not alone", *_workers(WAIT_AT_ONCE), "--maxschedchunk=1", *WAITING]
    computing = [*PYTEST, *SLOWEST, *_workers(CORES), "--dist=worksteal", *_base(memory), *COMPUTING]
    with tempfile.TemporaryFile("w+") as output:
        beside = subprocess.Popen(computing, stdout=output, stderr=subprocess.STDOUT, env={**environment, **memory})
        try:
            here = subprocess.call(waiting, env=environment)
            there = beside.wait()
        finally:
            beside.terminate()
        output.seek(0)
        sys.stdout.writelines(output)
    return here or there


def _workers(count: int) -> list[str]:
    return ["--numprocesses", str(count)]


@contextmanager
def _cassandra() -> Iterator[Mapping[str, str]]:
    """One node for all workers; where there cannot be one, its tests skip and say why."""
    try:
        with Cassandra() as node:
            yield {"WAYPOST_TEST_CASSANDRA_PORT": str(node.port)}
    except ServiceMissing:
        yield {}


@contextmanager
def _in_memory() -> Iterator[Mapping[str, str]]:
    """A folder for temporary files where writing to the disk costs nothing: what computes does not test the disk."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH_MEMORY:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="w", dir=MEMORY) as folder:
        Path(folder).chmod(0o755)  # PostgreSQL does not run as root, and must come by
        yield {"TMPDIR": folder}


def _base(memory: Mapping[str, str]) -> list[str]:
    """Where tests get their folders: a short name, since that of a Unix socket may have 107 characters."""
    return [f"--basetemp={folder}/b" for folder in memory.values()] + ["-p", "no:cacheprovider"]


def _environment() -> dict[str, str]:
    """Compiled tests are kept, also where Python is told to write no bytecode: every worker imports them."""
    kept = Path(tempfile.gettempdir()) / f"waypost-pycache-{os.getuid()}"
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPYCACHEPREFIX": str(kept)}


def _print(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
