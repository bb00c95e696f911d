"""Docs that run: the commands of a page, as a reader would type them, in order, in one shell; and what they print."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
TUTORIALS = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
DEADLINE = 600.0
"""Seconds that a whole page may take."""

LINKED = ("Makefile", "docs", "pyproject.toml", "constraints.txt", "src", "tests", "tools")
"""What a reader has in the project's folder; the data folder and the logs are the test's own."""

_PIECE = re.compile(
    r"^```(?P<language>\w+)\n(?P<content>.*?)^```$|^<!-- (?P<key>Ctrl-C) -->$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)[^)]*\)")
_MARK = "--- 8< --- block "


class Block(NamedTuple):
    commands: str
    expected: str | None
    """What they print, with … for whatever may differ."""


def blocks(page: Path) -> list[Block]:
    """The shell blocks of a page; a text block right behind one is what it prints."""
    found: list[Block] = []
    for piece in _PIECE.finditer(page.read_text()):
        if piece["key"]:
            found.append(Block(piece["key"], None))
        elif piece["language"] == "sh":
            found.append(Block(piece["content"], None))
        elif piece["language"] == "text" and found and found[-1].expected is None:
            found[-1] = Block(found[-1].commands, piece["content"])
    return found


class Reader:
    """Types a page into one shell, in a folder that looks like the project's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.sandbox_port = free_port(), free_port()
        self.places = {"127.0.0.1:8080": f"127.0.0.1:{self.port}", "127.0.0.1:8081": f"127.0.0.1:{self.sandbox_port}"}
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(sys.prefix)

    def follow(self, page: Path) -> None:
        todo = blocks(page)
        assert todo, f"{page.name} has no commands"
        script = "".join(f"echo; echo {shlex.quote(_MARK)}{n}\n{self.typed(b)}\n" for n, b in enumerate(todo))
        told, complaints, code = self.run(f"set -eo pipefail\n{script}")
        shown = [part.partition("\n")[2] for part in told.split(f"\n{_MARK}")[1:]]
        last = todo[len(shown) - 1].commands if shown else ""
        assert code == 0, f"{page.name}: exit code {code} in\n{last}\n{shown[-1:]}\n{complaints}"
        for block, output in zip(todo, shown, strict=True):
            if block.expected is not None and not matches(self.placed(block.expected), output):
                said = f"should print\n{block.expected}\nbut printed\n{output}\n{complaints}"
                raise AssertionError(f"{page.name}:\n{block.commands}\n{said}")

    def typed(self, block: Block) -> str:
        """The commands as they stand, but for how the demo is started and stopped, and where it listens."""
        commands = self.placed(block.commands)
        if block.commands.startswith("make run"):  # in the first terminal: another shell's work goes on beside this one
            own = block.commands.removeprefix("make run").strip().removeprefix("ARGS=").strip('"')
            where = f"--port {self.port} --sandbox-port {self.sandbox_port} {own}"
            return (
                f"make -o .venv/.ready run ARGS='{where}' > first-terminal 2>&1 & FIRST=$!\n"
                f"until curl -sf http://127.0.0.1:{self.port}/readyz > /dev/null; do kill -0 $FIRST; sleep 0.1; done\n"
                "until grep -q Ctrl-C first-terminal; do kill -0 $FIRST; sleep 0.1; done\n"
                "cat first-terminal"
            )
        if block.commands == "Ctrl-C":
            return "pkill -INT -P $FIRST; wait $FIRST"
        if block.commands == "make test\n":  # all of it would run this test again
            return "make -o .venv/.ready test ARGS='tests/repository/test_layers_drawing.py -p no:cacheprovider'"
        for command, option in (("serve", self.port), ("sandbox", self.sandbox_port)):
            commands = commands.replace(f"waypost {command} ", f"waypost {command} --port {option} ")
        return commands

    def placed(self, text: str) -> str:
        for written, actual in self.places.items():
            text = text.replace(written, actual)
        return text

    def run(self, script: str) -> tuple[str, str, int]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "WHATSAPP_"))}
        told, complaints = self.folder / "told", self.folder / "complaints"
        with told.open("w") as stdout, complaints.open("w") as stderr:
            shell = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env={**own, "COLUMNS": "120"},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                code = shell.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                end_with_its_jobs(shell)
        return told.read_text(), complaints.read_text(), code


def end_with_its_jobs(shell: subprocess.Popen[bytes]) -> None:
    """The background jobs share the shell's process group, and nobody else is in it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def matches(expected: str, output: str) -> bool:
    """Line by line without trailing space; … stands for anything, also for several lines."""
    wanted, got = ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (expected, output)]
    pattern = ".*?".join(re.escape(piece) for piece in wanted.split("…"))
    return re.fullmatch(pattern, got, re.DOTALL) is not None


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/tutorial/first-message.md",
        "docs/tutorial/first-bot.md",
        "docs/tutorial/live-conversation.md",
        "docs/how-to/test-your-integration.md",
    ],
)
def test_a_reader_who_types_this_page_sees_what_it_says(page: str, reader: Reader) -> None:
    reader.follow(ROOT / page)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_meets_nothing_that_another_has_set_in_the_same_terminal(page: Path) -> None:
    left = {name for each in TUTORIALS for block in blocks(each) for name in named(block, "export")}
    before = itertools.takewhile(lambda block: not block.commands.startswith("make run"), blocks(page))
    decided = {name for block in before for word in ("unset", "export") for name in named(block, word)}
    assert left
    assert left <= decided, f"{page.name} starts the demo with what another page has left"


def named(block: Block, word: str) -> list[str]:
    """The settings that its lines with this command name."""
    lines = [line for line in block.commands.splitlines() if line.startswith(f"{word} ")]
    return [name for line in lines for name in re.findall(r"\b(WAYPOST_[A-Z_]+)(?:=|\s|$)", line)]


@pytest.mark.parametrize("page", ["run-on-postgresql", "back-up-and-restore", "move-to-postgresql"])
def test_a_reader_can_run_it_on_postgresql(page: str, reader: Reader, postgres_url: str) -> None:
    reader.places["postgresql://USER:PASSWORD@HOST:5432/DATABASE"] = postgres_url
    reader.follow(ROOT / f"docs/how-to/{page}.md")


def test_every_shell_block_is_at_least_shell() -> None:
    for page in PAGES:
        for block in blocks(page):
            done = subprocess.run(["bash", "-n"], input=block.commands, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{page.relative_to(ROOT)}:\n{block.commands}\n{done.stderr}"


def test_nobody_is_told_to_install_from_a_registry_what_is_in_none() -> None:
    told = [*PAGES, *(ROOT / "src").rglob("*.py")]
    assert [page.relative_to(ROOT) for page in told if "waypost[" in page.read_text()] == []


def test_every_link_between_the_pages_leads_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)} -> {link}"
        for page in PAGES
        for link in _LINK.findall(page.read_text())
        if not (page.parent / link).exists()
    ]
    assert not dead


@pytest.mark.parametrize(
    ("commands", "expected"),
    [("false", None), ("false; echo", None), ("echo 2", "1"), ("echo 1; echo 2", "1"), ("echo", "1…")],
)
def test_a_page_that_is_wrong_fails(commands: str, expected: str | None, reader: Reader, tmp_path: Path) -> None:
    printed = "" if expected is None else f"```text\n{expected}\n```\n"
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n```sh\n{commands}\n```\n\n{printed}")
    with pytest.raises(AssertionError, match=r"page\.md"):
        reader.follow(page)
