"""Routes call the steps in `flow`; only a step uses the Ledger."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "waypost"
MODULES = sorted((SOURCE / "http").rglob("*.py"))
ALLOWED: dict[str, str] = {}
"""Module, as its path below `http`, and the reason why it uses the Ledger itself."""


def ledger_lines(text: str) -> list[int]:
    return [
        node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and node.attr == "ledger"
    ]


def test_a_use_is_found() -> None:
    assert ledger_lines("async def route(world):\n    return await world.ledger.accounts.users()") == [2]
    assert ledger_lines((SOURCE / "flow" / "accounts" / "access.py").read_text())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_http_does_not_use_the_ledger(module: Path) -> None:
    if str(module.relative_to(SOURCE / "http")) not in ALLOWED:
        assert ledger_lines(module.read_text()) == [], f"{module}: give it a step in flow/ and call that"


def test_no_exception_is_stale() -> None:
    for name in ALLOWED:
        assert ledger_lines((SOURCE / "http" / name).read_text()), f"{name} does not use the Ledger any more"
