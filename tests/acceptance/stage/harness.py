"""Real processes: started on free ports, watched by what they answer, killed by their id, always gone at the end."""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.acceptance.stage.forking import Forked
from tests.acceptance.stage.surroundings import environment
from tests.started import WORKER

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of whatever a script starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that programs started here hear of it

WAYPOST = Path(sys.executable).with_name("waypost")
PATIENCE = 90.0
"""Seconds for anything that should take one: other tests may share the machine."""

ORG, NUMBER, WABA = "acme", "106540352242922", "102290129340398"
GRAPH_VERSION = "v25.0"

SHARES = [range(first, first + 1200) for first in range(20_000, 32_000, 1200)]
"""Ports, by worker."""

FORK = os.environ.get("WAYPOST_TEST_FORK") != "0"
"""0: every process is a new interpreter, as outside the tests. It takes twice as long."""
AS_INSTALLED = {"PYTHONNOUSERSITE": "1"}
"""Settings of a process that must be a new interpreter: the test measures its start."""

UNSET = "unset"
"""A setting that is not in the environment."""

_WATCHDOG = 'cat; kill -s KILL -- "-$1"'  # `cat` returns when the test process is gone, however it went


def free_port() -> int:
    """Below the range from which outgoing connections take theirs, so that it is still free after a restart.

    Each worker of pytest-xdist has a share of its own, so that none takes a port whose server another restarts.
    """
    worker = int(WORKER.removeprefix("gw") or 0) % len(SHARES)
    for _ in range(1000):
        port = random.choice(SHARES[worker])
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


def started(
    arguments: list[str], folder: Path, settings: Mapping[str, str], output: int, errors: int
) -> Forked | subprocess.Popen[bytes]:
    """A fork of a process that has imported everything, unless a setting is one that only a new interpreter reads."""
    surroundings = environment(settings)
    if not FORK or any(name.startswith(("LD_", "PYTHON")) for name in settings):
        return subprocess.Popen(
            [str(WAYPOST), *arguments],
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    return Forked(arguments, folder, surroundings, output, errors)


class Program:
    """One `waypost …` that runs until it is told otherwise."""

    def __init__(self, arguments: list[str], folder: Path, settings: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as written:
            self._start = written.tell()
            self._process = started(arguments, folder, settings, written.fileno(), written.fileno())
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # its children too
        self._process.wait()
        self._watchdog.kill()
        self._watchdog.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def output(self) -> str:
        """What it wrote since it started."""
        return self.log.read_bytes()[self._start :].decode()

    def signal(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)

    def kill(self) -> None:
        """kill -9 of this one process, not of its children."""
        self._process.kill()
        self._process.wait()

    def ended(self, within: float = PATIENCE) -> int:
        """Its exit code, when it has ended by itself."""
        return self._process.wait(within)

    def children(self) -> list[int]:
        return children_of(self.pid)


@dataclass(frozen=True)
class Ran:
    """A command that came to its end."""

    code: int
    out: str
    err: str

    @property
    def fields(self) -> Any:
        return json.loads(self.out)


SECRET_KEY = "a key for tests, as long as it must be"


@dataclass
class Site:
    """One installation of Waypost: a folder, a database, settings, and the processes on it."""

    folder: Path
    database_url: str
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    sandbox_port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: "token-" + secrets.token_hex(16))
    app_secret: str = field(default_factory=lambda: "secret-" + secrets.token_hex(16))
    verify_token: str = field(default_factory=lambda: "verify-" + secrets.token_hex(8))
    api_key: str = ""
    programs: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sandbox_url(self) -> str:
        return f"http://127.0.0.1:{self.sandbox_port}"

    @property
    def footprint(self) -> str:
        """What it runs on."""
        if "WAYPOST_REDIS_URL" in self.settings:
            return "stack"
        return "sqlite" if self.database_url.startswith("sqlite:") else "postgres"

    @property
    def environment(self) -> dict[str, str]:
        return self._environment({})

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        base = {"WAYPOST_DATABASE_URL": self.database_url, "WAYPOST_SECRET_KEY": SECRET_KEY}
        return {name: value for name, value in {**base, **self.settings, **extra}.items() if value != UNSET}

    def run(self, *arguments: str, **settings: str) -> Ran:
        """A command to its end."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            surroundings = self._environment(settings)
            running = started([*arguments], self.folder, surroundings, output.fileno(), errors.fileno())
            try:
                code = running.wait(PATIENCE)
            finally:
                running.kill()
            for file in (output, errors):
                file.seek(0)
            return Ran(code, output.read().decode(), errors.read().decode())

    def start(self, *arguments: str, **settings: str) -> Program:
        log = self.folder / f"{arguments[0]}.log"
        program = Program(list(arguments), self.folder, self._environment(settings), log)
        return self.programs.enter_context(program)

    def serve(self, *arguments: str, **settings: str) -> Program:
        return self.start("serve", "--port", str(self.port), *arguments, **settings)

    def connect(self, webhook_url: str | None = None) -> None:
        """A schema, an org, and a number at a sandbox of its own."""
        _succeeded(self.run("migrate"))
        self.api_key = _succeeded(self.run("admin", "create-org", ORG, "--json")).fields["api_key"]
        number = self._number()
        graph = ["--graph-url", f"{self.sandbox_url}/{GRAPH_VERSION}"]
        _succeeded(self.run("admin", "connect-whatsapp", ORG, *number, *graph))
        self.start_sandbox(webhook_url)

    def start_sandbox(self, webhook_url: str | None = None) -> Program:
        door = webhook_url or f"{self.url}/api/v1/webhooks/whatsapp/inbound"
        return self.start("sandbox", "--port", str(self.sandbox_port), *self._number(), "--webhook-url", door)

    def _number(self) -> list[str]:
        number = ["--phone-number-id", NUMBER, "--waba-id", WABA, "--token", self.token]
        return [*number, "--app-secret", self.app_secret, "--verify-token", self.verify_token]

    def logs(self) -> str:
        return "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))


def _succeeded(ran: Ran) -> Ran:
    assert ran.code == 0, ran.err
    return ran


@contextmanager
def site(folder: Path, database_url: str, **settings: str) -> Iterator[Site]:
    here = Site(folder, database_url, settings)
    with here.programs:
        yield here


async def until(condition: Callable[[], Awaitable[Any]], what: str, within: float = PATIENCE) -> Any:
    """The condition's first true answer; an error that says what did not come true."""
    deadline = time.monotonic() + within
    while True:
        answer = await condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {within:.0f} s: {what}"
        await asyncio.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """Processes that it started and that live."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    """Neither gone nor a zombie that nobody asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second when it goes while it is looked at
        return False
