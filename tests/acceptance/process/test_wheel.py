"""The wheel works without the tools of development: its modules import, and its commands say what they lack."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
UV = shutil.which("uv", path=f"{os.environ['PATH']}:{Path(sys.prefix) / 'bootstrap' / 'bin'}")
"""On PATH, or where `make` installs it."""
IMPORT_ALL = """
import importlib, json, pkgutil, waypost

def unusable(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        return error.name or str(error)
    return None

names = sorted(found.name for found in pkgutil.walk_packages(waypost.__path__, "waypost."))
print(json.dumps({name: unusable(name) for name in names}))
"""
OPTIONAL = {"waypost.adapters.cassandra.": "acsylla", "waypost.adapters.redis.": "redis"}
"""The driver that each package needs; an extra installs it."""


class Installed(NamedTuple):
    environment: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, outside the repository and without its modules on the path."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WAYPOST_"))}
        return subprocess.run(
            [self.environment / "bin" / program, *arguments],
            cwd=self.environment,
            env={**variables, "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )


def uv(*arguments: str | Path) -> None:
    assert UV is not None
    variables = os.environ | {"WAYPOST_WITHOUT_PAGE": "1"}
    done = subprocess.run([UV, *arguments], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"no package index is reachable: {done.stderr}")
    assert done.returncode == 0, done.stderr


def optional_driver(module: str) -> str | None:
    return next((driver for package, driver in OPTIONAL.items() if module.startswith(package)), None)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a fresh environment, with no extra and no development dependency."""
    if UV is None:
        pytest.skip("uv is neither on PATH nor in .venv/bootstrap, where make installs it")
    folder = tmp_path_factory.mktemp("wheel")
    environment = folder / "environment"
    uv("build", "--wheel", "--out-dir", folder)
    (wheel,) = folder.glob("*.whl")
    uv("venv", "--python", sys.executable, environment)
    uv("pip", "install", "--python", environment / "bin" / "python", "--constraints", "constraints.txt", wheel)
    return Installed(environment)


def test_every_module_imports_except_those_of_an_optional_driver(installed: Installed) -> None:
    done = installed.run("python", "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    missing: dict[str, str | None] = json.loads(done.stdout)
    source = ROOT / "src" / "waypost"
    assert len(missing) == len(list(source.rglob("*.py"))) - 1, "every module but `waypost` itself is tried"
    unexplained = {name: needed for name, needed in missing.items() if needed not in (None, optional_driver(name))}
    assert not unexplained


def test_simulate_works_without_an_extra_and_says_what_to_install_without_the_test_kit(installed: Installed) -> None:
    described = installed.run("waypost", "simulate", "--help")
    assert described.returncode == 0, described.stderr
    assert "--seeds" in described.stdout
    simulated = installed.run("waypost", "simulate", "--seed", "1", "--hours", "0.01", "--story", "sending")
    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
    (kit,) = installed.environment.glob("lib/python*/site-packages/waypost_testing")
    shutil.move(kit, installed.environment / "kit")
    refused = installed.run("waypost", "simulate")
    assert refused.returncode == 1
    assert "needs the test kit: install Waypost with the extra `testing`" in refused.stderr
