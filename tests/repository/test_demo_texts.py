"""The demo's initial data."""

from __future__ import annotations

import re
from pathlib import Path

from waypost.rules.accounts import quick_replies as rule
from waypost.runtime.wiring.demo_account import QUICK_REPLIES

TEXTS = Path(__file__).parents[2] / "web" / "src" / "texts.ts"


def test_its_quick_replies_are_those_that_the_page_suggests_to_an_org_without_any() -> None:
    (quick,) = re.findall(r"^  quick: \{\n(.*?)^  \},\n", TEXTS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (suggested,) = re.findall(r"^    first: \[\n(.*?)^    \],\n", quick, re.MULTILINE | re.DOTALL)
    found = re.findall(r'^ +\{ name: "([^"\\]+)", text: "([^"\\]+)" \},$', suggested, re.MULTILINE)
    assert len(found) == len(suggested.splitlines()), "a line of another shape than this test reads"
    assert dict(found) == QUICK_REPLIES


def test_they_are_ones_that_anybody_could_have_written() -> None:
    assert [rule.check(name, text) for name, text in QUICK_REPLIES.items()] == [None] * len(QUICK_REPLIES)
