"""The page about upgrades gives the steps that `waypost doctor` asks for."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "deploy.md"


def test_a_migration_comes_before_the_renewal_as_the_doctor_asks() -> None:
    assert "`waypost migrate`, then renew" in PAGE.read_text()
