"""The steps of the Dockerfile without an engine: build, install into a fresh environment, start, be healthy, be upgraded."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.conftest import Place
from tests.acceptance.harness import PATIENCE, environment, free_port

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
NEXT = "99.0.0"


def copied(target: Path) -> None:
    """What the first stage copies, and nothing else."""
    for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE):
        *names, where = line.split()
        for name in names:
            place = target / (name if where in ("./", name) else where)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)


def build(source: Path, target: Path) -> None:
    command = ["sh", "deploy/build.sh", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("waypost ")


def upgraded(source: Path, target: Path) -> None:
    """Another version of the same, built over the first."""
    about = source / "src" / "waypost" / "__init__.py"
    about.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{NEXT}"', about.read_text()))
    build(source, target)


def told(pattern: str) -> list[str]:
    """One of the Dockerfile's commands, in its JSON form."""
    (found,) = re.findall(pattern, DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


def test_the_steps_of_the_image_give_a_server_that_is_healthy(place: Place, tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv is not on PATH")
    here = place("sqlite")
    target = tmp_path / "opt"
    copied(tmp_path / "source")
    build(tmp_path / "source", target)
    installed = {**environment({}), "PATH": f"{target / 'bin'}:{os.environ['PATH']}"}
    settings = {"WAYPOST_DATABASE_URL": here.database_url, "WAYPOST_SECRET_KEY": "k" * 40}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        shared = {"cwd": tmp_path, "env": installed | settings, "capture_output": True, "text": True}
        return subprocess.run(command, timeout=90, check=False, **shared)  # type: ignore[call-overload,no-any-return]

    drivers = run("python", "-c", "import acsylla, redis, hiredis")
    assert drivers.returncode == 0, drivers.stderr
    entry = told(r"^ENTRYPOINT (\[.*\])$")
    assert "messaging server" in run(*entry, "--help").stdout
    assert run(*entry, "migrate").returncode == 0
    assert run(*entry, "admin", "create-org", "acme").returncode == 0
    doctor = run(*entry, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    port = str(free_port())
    serve = [port if word == "8080" else word for word in told(r"^CMD (\[.*\])$")]
    check = [word.replace("8080", port) for word in told(r"^HEALTHCHECK .* CMD (\[.*\])$")]
    assert run(*check).returncode != 0, "nobody is there yet"
    with subprocess.Popen(
        [*entry, *serve], cwd=tmp_path, env=installed | settings, stderr=subprocess.DEVNULL
    ) as running:
        try:
            deadline = time.monotonic() + PATIENCE
            while run(*check).returncode != 0:
                assert time.monotonic() < deadline, "the image's own check is never content"
            upgraded(tmp_path / "source", target)
            assert run(*check).returncode == 0, "the server that runs does not notice"
            assert run(*entry, "--version").stdout == f"waypost {NEXT}\n"
        finally:
            running.terminate()
    assert running.returncode == 0
