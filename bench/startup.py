"""`waypost serve` from nothing to its first 200, beyond what importing its dependencies costs; its weight when idle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median

from bench.table import Line

_IMPORTS = (
    "import litestar, uvicorn, uvloop, apsw, asyncpg, msgspec, pyreqwest, prometheus_client, structlog, typer, rich"
)
_ROUNDS = 5


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def _floor() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", _IMPORTS], check=True)
    return time.perf_counter() - started


def _first_answer(folder: str) -> tuple[float, float]:
    """Seconds to the first 200, and resident megabytes a second later."""
    port = _free_port()
    environment = os.environ | {"WAYPOST_ENV": "local", "WAYPOST_DATABASE_URL": f"sqlite:///{folder}/waypost.db"}
    started = time.perf_counter()
    waypost = str(Path(sys.executable).with_name("waypost"))
    child = subprocess.Popen([waypost, "serve", "--port", str(port)], env=environment, stderr=subprocess.DEVNULL)
    try:
        seconds = _until_ready(f"http://127.0.0.1:{port}/healthz", started)
        time.sleep(1)
        return seconds, _resident(child.pid)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(10)


def _until_ready(url: str, started: float) -> float:
    while time.perf_counter() - started < 30:
        try:
            with urllib.request.urlopen(url, timeout=1) as reply:
                if reply.status == 200:
                    return time.perf_counter() - started
        except OSError:
            time.sleep(0.01)
    raise TimeoutError(f"{url} did not answer within 30 s")


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def measure(_url: str, _rounds: int, _count: int) -> list[Line]:
    floors, answers, sizes = [], [], []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            floors.append(_floor())
            seconds, size = _first_answer(folder)
            answers.append(seconds)
            sizes.append(size)
    beyond = median(answers) - median(floors)
    return [
        Line("startup", "import floor", median(floors), "s"),
        Line("startup", "serve to its first 200", median(answers), "s"),
        Line("startup", "beyond the floor", beyond, "s", goal=1.0),
        Line("startup", "idle server, resident", median(sizes), "MB"),
    ]
