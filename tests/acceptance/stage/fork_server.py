"""Runs `waypost …` commands as forks of one process that has imported everything: no command imports it all again.

An import costs a command most of its time. What a fork runs is the same `main`, with its own arguments, folder,
environment and output. Each connection is one command: it receives the request with the two output files, and answers
with the process id, then with the exit code.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import sys
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

PRELOADED = ("waypost.runtime", "waypost.http", "waypost.adapters", "waypost.sandbox", "waypost.flow")
LARGEST_REQUEST = 1 << 20


def preload() -> None:
    for name in PRELOADED:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    importlib.import_module("uvloop")
    build_once()
    gc.collect()
    gc.freeze()  # so that no fork copies the pages by counting


def build_once() -> None:
    """The commands of `waypost admin` take longer to build than most of them take to run."""
    admin = importlib.import_module("waypost.runtime.cli.admin.app")
    typer = importlib.import_module("typer.main")
    whole = admin.whole()
    vars(admin)["whole"] = lambda: whole
    vars(typer)["get_command"] = cache(typer.get_command)
    typer.get_command(whole)


def serve(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen(128)
        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [], 1)
            reap()
            if sys.stdin in ready:  # it says nothing: the test process is gone
                return
            if door in ready:
                connection, _ = door.accept()
                if os.fork() == 0:
                    door.close()
                    watch(connection)
                connection.close()


def reap() -> None:
    """Watchers that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def watch(connection: socket.socket) -> NoReturn:
    """Start the command and report its end. Its own parent, so that the exit code is never lost to another."""
    request, files, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 2)
    wanted = json.loads(request)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(wanted, files)
    for file in files:
        os.close(file)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def become(wanted: dict[str, Any], files: list[int]) -> NoReturn:
    os.setsid()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # what is wanted is its number
        for number, file in enumerate([nothing.fileno(), *files]):
            os.dup2(file, number)
    for file in files:
        os.close(file)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = wanted["arguments"]
    from waypost.runtime.cli.app import main  # noqa: PLC0415

    code = 1
    try:
        main()  # ends the process itself, unless it fails
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # as the interpreter would
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    preload()
    serve(sys.argv[1])
