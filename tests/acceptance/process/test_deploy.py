"""The steps of the Dockerfile without an engine: build, install into a fresh environment, start, be healthy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.acceptance.conftest import Place
from tests.acceptance.stage.harness import PATIENCE, free_port
from tests.acceptance.stage.surroundings import environment

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
LEFT_OUT = [
    line.removeprefix("**/")
    for line in (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    if line != "*" and not line.startswith(("#", "!"))
]
NEXT = "99.0.0"
WITH_UV = f"{os.environ['PATH']}:{ROOT / '.venv' / 'bootstrap' / 'bin'}"
"""Where `make` leaves uv if there was none."""


def copied(target: Path) -> None:
    """What the first stage copies, and nothing else: above all no page that was built here."""
    for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE):
        *names, where = line.split()
        for name in names:
            place = target / (name if where in ("./", name) else where)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=left_out)
            else:
                shutil.copy(ROOT / name, place)


def left_out(folder: str, names: list[str]) -> set[str]:
    within = Path(folder).relative_to(ROOT)
    return {name for name in names if any((within / name).match(pattern) for pattern in LEFT_OUT)}


def build(source: Path, target: Path, **extra: str) -> None:
    command = ["sh", "deploy/build.sh", str(target)]
    variables = os.environ | {"PATH": WITH_UV} | extra
    done = subprocess.run(command, cwd=source, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("waypost ")


def upgrade(source: Path, target: Path) -> None:
    """Another version of the same, built over the first; without bytecode, which is most of the time it takes."""
    about = source / "src" / "waypost" / "__init__.py"
    about.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{NEXT}"', about.read_text()))
    build(source, target, UV_COMPILE_BYTECODE="0")


def docker_command(pattern: str) -> list[str]:
    """One of the Dockerfile's commands, in its JSON form."""
    (found,) = re.findall(pattern, DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


class Installed(NamedTuple):
    folder: Path
    variables: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=90, check=False
        )

    @contextmanager
    def running(self, *command: str) -> Iterator[None]:
        with subprocess.Popen(command, cwd=self.folder, env=self.variables, stderr=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.terminate()
        assert process.returncode == 0


@pytest.mark.timeout(900)  # it builds the wheel and the page twice, beside others
def test_the_steps_of_the_image_give_a_server_that_is_healthy_and_can_be_upgraded(place: Place, tmp_path: Path) -> None:
    if shutil.which("uv", path=WITH_UV) is None:
        pytest.skip("uv is neither on PATH nor in .venv/bootstrap, where make puts it")
    settings = {"WAYPOST_DATABASE_URL": place("sqlite").database_url, "WAYPOST_SECRET_KEY": "k" * 40}
    source, target = tmp_path / "source", tmp_path / "opt"
    copied(source)
    build(source, target)
    path = {"PATH": f"{target / 'bin'}:{os.environ['PATH']}"}
    installed = Installed(tmp_path, {**environment({}), **path, **settings})
    run = installed.run
    drivers = run("python", "-c", "import acsylla, redis, hiredis")
    assert drivers.returncode == 0, drivers.stderr
    assert list(target.glob("lib/python*/site-packages/waypost/http/page/index.html")), "the page is in the package"
    entry = docker_command(r"^ENTRYPOINT (\[.*\])$")
    assert "messaging server" in run(*entry, "--help").stdout
    assert run(*entry, "migrate").returncode == 0
    assert run(*entry, "admin", "create-org", "acme").returncode == 0
    doctor = run(*entry, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    port = str(free_port())
    serve = [port if word == "8080" else word for word in docker_command(r"^CMD (\[.*\])$")]
    check = [word.replace("8080", port) for word in docker_command(r"^HEALTHCHECK .* CMD (\[.*\])$")]
    assert run(*check).returncode != 0, "nobody is there yet"
    with installed.running(*entry, *serve):
        deadline = time.monotonic() + PATIENCE
        while run(*check).returncode != 0:
            assert time.monotonic() < deadline, "the image's own check is never content"
        upgrade(source, target)
        assert run(*check).returncode == 0, "the server that runs goes on"
        assert run(*entry, "--version").stdout == f"waypost {NEXT}\n"
