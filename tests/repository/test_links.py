"""Every link between the pages leads to a file, and to a heading of it; pages have one sentence per line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ELSEWHERE = ("settings.md", "cli.md", "statements.md", "layers.md")
"""Written by tools/reference.py, or compared line by line with pyproject.toml."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WIDEST = 125
"""Columns of a line of prose that has no link in it."""


def without_code(text: str) -> str:
    return re.sub(r"^\s*```.*?^\s*```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """As GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    dead = []
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", without_code(page.read_text())):
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (heading and file.suffix == ".md" and heading not in headings(file)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: str(page.relative_to(ROOT))
)
def test_prose_is_not_wider_than_a_diff(page: Path) -> None:
    prose = [line for line in without_code(page.read_text()).splitlines() if line[:1] not in ("|", "#", "!", "<")]
    assert [line for line in prose if len(line) > WIDEST and "](" not in line] == []
