"""A webhook server as a child process under load: how many requests, how fast, at what cost."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn

from bench import load
from bench.table import Line, by_core

Application = Callable[..., Any]
"""ASGI's own types differ between frameworks; uvicorn takes any."""
Scope = MutableMapping[str, Any]


@dataclass(frozen=True)
class WebhookResult:
    """`cpu` is what the server process spent on the `served` requests, in seconds, warm-up included."""

    name: str
    load: load.LoadResult
    served: int
    cpu: float

    @property
    def per_core(self) -> float:
        """Requests that a server's core answers in a second: a figure that a busy machine does not spoil."""
        return self.served / self.cpu

    def __str__(self) -> str:
        return f"{self.name}: {self.load}, server {self.cpu / self.served * 1e6:.0f} µs of CPU each"


def compared(part: str, results: Sequence[WebhookResult]) -> list[Line]:
    """Medians of every server's runs beside the least that could be done on the same database."""
    rates: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    for result in results:
        rates.setdefault(result.name, []).append(result.load.per_second)
        cores.setdefault(result.name, []).append(result.per_core)
    return [_line(part, name, rates) for name in rates] + by_core(part, cores)


def _line(part: str, name: str, rates: Mapping[str, list[float]]) -> Line:
    base = "raw ASGI, SQLite" if "SQLite" in name else "raw ASGI, PostgreSQL"
    rate = median(rates[name])
    return Line(
        part, name, rate, "requests/s", rate / median(rates[base]), base, 0.6 if name.startswith("Waypost") else None
    )


def serve(application: Application) -> None:
    """Under uvicorn, on a free port that it prints, until terminated."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        application, loop="uvloop", http="httptools", ws="none", lifespan="on", access_log=False, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listening])


def measure(
    name: str,
    module: str,
    arguments: list[str],
    count: int,
    kind: str = "status",
    path: str = "/webhook",
    bodies: Path | None = None,
) -> WebhookResult:
    """Run `module` with `--serve` in a process of its own and `count` webhooks against it, of `kind` or from a file."""
    with running(module, arguments) as (pid, port):
        _answers(port)
        before = cpu_seconds(pid)
        result = load.run(f"http://127.0.0.1:{port}{path}", count, kind=kind, bodies=bodies)
        return WebhookResult(name, result, count, cpu_seconds(pid) - before)


@contextmanager
def running(module: str, arguments: list[str]) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its process id and its port."""
    command = [sys.executable, "-m", module, "--serve", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield child.pid, int(child.stdout.readline())
    finally:
        child.terminate()
        child.wait()


def _answers(port: int) -> None:
    """Wait until it does, whatever it says: what it costs to start is no request's."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", "/", body=b"")
    connection.getresponse().read()
    connection.close()


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time, all threads, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
