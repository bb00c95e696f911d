"""The house rules hold: each ban and each import contract is shown to fail a breach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockingError

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "waypost"
BIN = Path(sys.executable).parent
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def ruff(code: str, path: str) -> str:
    command = [str(BIN / "ruff"), "check", "--output-format=concise", "--no-cache", "--stdin-filename", path, "-"]
    return subprocess.run(command, cwd=ROOT, input=code, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.time()\n",
        "from time import monotonic\n",
        "import datetime\ndatetime.datetime.now(datetime.UTC)\n",
        "from datetime import UTC, datetime\ndatetime.now(UTC)\n",
        "from datetime import date\ndate.today()\n",
        "import random\n",
        "import secrets\n",
        "from uuid import uuid4\n",
        "import os\nos.urandom(8)\n",
        "import asyncio\nasyncio.sleep(1)\n",
    ],
)
def test_steps_rules_and_model_read_no_clock_and_throw_no_dice(code: str) -> None:
    for place in ("flow/step.py", "rules/rule.py", "model/noun.py", "flow/deep/step.py"):
        assert "TID251" in ruff(code, f"src/waypost/{place}"), place
    assert "TID251" not in ruff(code, "src/waypost/adapters/local/clock.py")


def test_each_package_has_its_place_in_the_layers() -> None:
    assert packages(PACKAGE) <= listed("layers")


def test_each_adapter_is_listed_among_those_that_do_not_know_each_other() -> None:
    assert packages(PACKAGE / "adapters") <= listed("adapters")


def packages(folder: Path) -> set[str]:
    return {found.parent.name for found in folder.glob("*/__init__.py")}


def listed(contract: str) -> set[str]:
    (layers,) = (each["layers"] for each in CONTRACTS if each["id"] == contract)
    return {name.strip(" ()") for layer in layers for name in layer.split("|")}


BREACHES = {
    "layers": ("flow", "import waypost.adapters"),
    "adapters": ("adapters/sqlite", "import waypost.adapters.whatsapp"),
    "adapters-and-sandbox": ("adapters/whatsapp", "import waypost.flow"),
    "sandbox": ("sandbox", "import waypost.rules"),
    "test-kit": ("../waypost_testing/contracts", "import waypost.runtime"),
    "pure": ("rules", "import logging"),
    "rules": ("rules/limits", "import waypost.rules.live"),
    "ports": ("ports/platform", "import waypost.ports.ledger"),
    "flow": ("flow/sending", "import waypost.flow.live"),
    "sql": ("adapters/sql/engine", "import waypost.adapters.sql.kernel"),
    "http": ("http/edge", "import waypost.http.sending"),
    "runtime": ("runtime/settings", "import waypost.runtime.cli"),
    "sandbox-areas": ("sandbox/edge", "import waypost.sandbox.graph"),
    "kit": ("../waypost_testing/services", "import waypost_testing.contracts"),
    "contract-suites": ("../waypost_testing/contracts/limits", "import waypost_testing.contracts.live"),
    "product": ("model", "import waypost_testing"),
}


def test_each_import_contract_bites(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "page"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for place, breach in BREACHES.values():
        folder = tmp_path / "src" / "waypost" / place
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / "breach.py").write_text(f'"""A breach."""\n\n{breach}\n')
    done = subprocess.run(
        [BIN / "lint-imports", "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    broken = {each["id"] for each in CONTRACTS if f"{each['name']} BROKEN" in done.stdout}
    assert broken == {each["id"] for each in CONTRACTS} == set(BREACHES), done.stdout + done.stderr
    assert done.returncode == 1


async def test_an_async_test_that_blocks_its_loop_fails() -> None:
    with pytest.raises(BlockingError):
        time.sleep(0)  # noqa: ASYNC251 - the breach under test


@pytest.mark.may_block("shows the way out")
async def test_a_test_may_be_allowed_to_block() -> None:
    time.sleep(0)  # noqa: ASYNC251 - the breach under test


def test_an_old_python_is_refused_in_one_line(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("dirname", "id"):
        (programs / name).symlink_to(str(shutil.which(name)))
    (programs / "python3").write_text("#!/bin/sh\n[ $1 = --version ] && echo Python 3.9.2 || exit 1\n")
    (programs / "python3").chmod(0o755)
    script = Path(shutil.copy(ROOT / "tools" / "environment.sh", tmp_path / "bin"))
    done = subprocess.run(["/bin/sh", script], env={"PATH": str(programs)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: Python 3.11 or newer is needed, on PATH or named by PYTHON=; found Python 3.9.2\n"
