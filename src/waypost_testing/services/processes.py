"""Real services for tests: child processes on 127.0.0.1, in a temporary folder, that cannot outlive the test process.

    with Postgres() as postgres:
        url = postgres.create_database()

Starting and stopping block: call them from a plain fixture or test, or through a thread.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Literal, Self, TypedDict

ShutdownMode = Literal["fast", "immediate"]
"""fast: clean up, then exit. immediate: exit now, recover at the next start."""

DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian installs PostgreSQL's programs, a folder per version."""

_PATIENCE = 30.0
_PAUSE = 0.01

_WATCHDOG = """
cat                                     # returns when the test process is gone, however it went
kill -QUIT "$1"
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" || break; sleep 0.1; done
kill -KILL "$1"
rm -rf -- "$2"
"""


class ServiceMissing(Exception):
    """The service cannot run on this machine; the message gives the reason."""


class ServiceFailed(Exception):
    """The service is installed but failed; the message ends with its log."""


def find_program(name: str) -> Path | None:
    """The program on PATH, else in the folders of PostgreSQL's packages, which are not on PATH."""
    found = shutil.which(name)
    if found:
        return Path(found)
    return next((folder / name for folder in _postgres_folders() if (folder / name).is_file()), None)


class Service(ABC):
    """One service: entering starts it, leaving ends its process and removes its folder."""

    _signals: ClassVar[Mapping[ShutdownMode, signal.Signals]]
    _patience: ClassVar[float] = _PATIENCE
    """How long a start may take, in seconds."""

    def __init__(self, place: Path | None = None) -> None:
        """`place`: the parent of its folder, if not the system's temporary folder."""
        self.port = 0
        self._place = place
        self._child: ServiceProcess | None = None
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        self._require()
        self._folder = Path(tempfile.mkdtemp(prefix=f"waypost-{type(self).__name__.lower()}-", dir=self._place))
        try:
            self._prepare()
            self.port = self.port or free_port()
            self.start()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the running service; the same after every restart."""

    @property
    def folder(self) -> Path:
        if self._folder is None:
            raise ServiceFailed(f"{type(self).__name__} has not been started: enter it with `with`")
        return self._folder

    @property
    def pid(self) -> int:
        if self._child is None:
            raise ServiceFailed(f"{type(self).__name__} is not running")
        return self._child.pid

    def start(self) -> None:
        """Start it again on the same port and data; returns when it accepts connections."""
        if self._child is None:
            self._child = self._started()

    def stop(self, ending: ShutdownMode = "fast") -> None:
        self._end(self._signals[ending])

    def kill(self) -> None:
        """SIGKILL: the process cannot clean up."""
        self._end(signal.SIGKILL)

    def restart(self, ending: ShutdownMode = "fast") -> None:
        self.stop(ending)
        self.start()

    def _end(self, sign: signal.Signals) -> None:
        if self._child is not None:
            self._child.end(sign)
            self._child = None

    def _clear(self) -> None:
        self.stop("immediate")
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _started(self) -> ServiceProcess:
        child = self._spawn()
        try:
            _wait_until(lambda: child.exited or self._ready(child), self._patience)
        except TimeoutError:
            child.end(signal.SIGKILL)
            raise ServiceFailed(
                f"{type(self).__name__} was not ready in {self._patience:.0f} s:\n{child.log}"
            ) from None
        if child.exited:
            child.end(signal.SIGKILL)
            raise ServiceFailed(f"{type(self).__name__} did not start:\n{child.log}")
        return child

    @abstractmethod
    def _require(self) -> None:
        """Raise ServiceMissing if the service cannot run here."""

    @abstractmethod
    def _prepare(self) -> None:
        """Runs once, in the new folder, before the first start."""

    @abstractmethod
    def _spawn(self) -> ServiceProcess: ...

    @abstractmethod
    def _ready(self, child: ServiceProcess) -> bool: ...


class Postgres(Service):
    """PostgreSQL with fsync on, as in production; only initdb skips it."""

    _signals: ClassVar[Mapping[ShutdownMode, signal.Signals]] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    def __init__(self, settings: Mapping[str, str] | None = None, place: Path | None = None) -> None:
        super().__init__(place)
        self._settings = {"max_connections": "200", **(settings or {})}
        self._numbers = itertools.count(1)
        self._owner = Owner()
        self._programs = Path()

    @property
    def url(self) -> str:
        return self._url("postgres")

    def create_database(self, template: str = "template1") -> str:
        """The address of a fresh copy of a template (a database without connections)."""
        name = f"test_{next(self._numbers)}"
        self.command(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database, and cut the connections to it."""
        name = url.rpartition("/")[2]
        self.command(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def command(self, sql: str, database: str = "postgres") -> str:
        """Run it and return its output."""
        where = (f"--host={self.folder}", f"--port={self.port}", "--username=postgres", f"--dbname={database}")
        asked = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align", *where, f"--command={sql}")
        return self._call("psql", *asked).strip()

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _require(self) -> None:
        self._owner = unprivileged()
        self._programs = _postgres_programs()

    def _prepare(self) -> None:
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        local = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        self._call("initdb", f"--pgdata={self.folder}/data", "--no-sync", *local)

    def _spawn(self) -> ServiceProcess:
        here = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
        }
        options = [f"--{name}={value}" for name, value in {**self._settings, **here}.items()]
        argv = [str(self._programs / "postgres"), "-D", f"{self.folder}/data", *options]
        return ServiceProcess(argv, self.folder, self._owner)

    def _ready(self, child: ServiceProcess) -> bool:
        # Its first line is the process, its eighth the state; a file left by a killed server names another process.
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return lines[:1] == [str(child.pid)] and [line.strip() for line in lines[7:]] == ["ready"]

    def _started(self) -> ServiceProcess:
        # The backends of a killed server notice within milliseconds, and hold its shared memory until then.
        for _ in range(100):
            try:
                return super()._started()
            except ServiceFailed as failure:
                if "shared memory" not in str(failure):
                    raise
                time.sleep(_PAUSE)
        return super()._started()

    def _call(self, program: str, *arguments: str) -> str:
        argv = [str(self._programs / program), *arguments]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False, **self._owner)
        if done.returncode:
            raise ServiceFailed(f"{program} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


class Redis(Service):
    """Redis without persistence, unless the options enable it ("--appendonly", "yes")."""

    _signals: ClassVar[Mapping[ShutdownMode, signal.Signals]] = {"fast": signal.SIGTERM, "immediate": signal.SIGKILL}

    def __init__(self, *options: str) -> None:
        super().__init__()
        self._options = options
        self._program = Path()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def flush(self) -> None:
        """Delete every key."""
        if not self._answers(b"FLUSHALL", b"+OK"):
            raise ServiceFailed("Redis did not flush")

    def _require(self) -> None:
        found = find_program("redis-server")
        if found is None:
            raise ServiceMissing("Redis: redis-server is not on PATH")
        self._program = found

    def _prepare(self) -> None:
        pass

    def _spawn(self) -> ServiceProcess:
        here = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        memory = ("--save", "", "--appendonly", "no")
        return ServiceProcess([str(self._program), *here, *memory, *self._options], self.folder)

    def _ready(self, _child: ServiceProcess) -> bool:
        try:
            return self._answers(b"PING", b"+PONG")
        except OSError:
            return False

    def _answers(self, command: bytes, expected: bytes) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE) as connection:
            connection.sendall(command + b"\r\n")
            return connection.recv(64).startswith(expected)


class Owner(TypedDict, total=False):
    """The user to run a process as; empty: the user of the test process."""

    user: int
    group: int
    extra_groups: list[int]


class ServiceProcess:
    """A process, and the watchdog that ends it and clears its folder should the test process die first."""

    def __init__(self, argv: list[str], folder: Path, owner: Owner | None = None) -> None:
        self._log = folder / "log"
        with self._log.open("ab") as log:
            self._start = log.tell()
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the test process
                **(owner or {}),
            )
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(self.pid), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exited(self) -> bool:
        return self._process.poll() is not None

    @property
    def log(self) -> str:
        """Its output since this start."""
        return self._log.read_bytes()[self._start :].decode(errors="replace")

    def end(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._watchdog.kill()
        self._watchdog.communicate()


def _wait_until(done: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_PAUSE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def unprivileged() -> Owner:
    """PostgreSQL refuses to run as root: the user that runs it instead."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise ServiceMissing("PostgreSQL: it refuses to run as root, and there is no user named postgres or nobody")


def _postgres_programs() -> Path:
    needed = ("initdb", "postgres", "psql")
    for folder in _postgres_folders():
        if all((folder / name).is_file() for name in needed):
            return folder
    raise ServiceMissing(f"PostgreSQL: no folder holds all of {', '.join(needed)}")


def _postgres_folders() -> list[Path]:
    """Where PostgreSQL may be: on PATH, where pg_config says, then Debian's, newest first."""
    folders = []
    if on_path := shutil.which("postgres"):
        folders.append(Path(on_path).resolve().parent)
    if config := shutil.which("pg_config"):
        folders.append(Path(subprocess.check_output([config, "--bindir"], text=True).strip()))
    return [*folders, *sorted(DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)]
