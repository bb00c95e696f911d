"""The pages about Cassandra name every option of its address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from waypost.adapters.cassandra.address import OPTIONS, Consistency, Tls

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_name_every_option_and_each_of_its_choices() -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*) \| .* \|$", (DOCS / "how-to" / "add-cassandra.md").read_text(), re.MULTILINE)
    told = {name: about for names, about in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(OPTIONS) <= set(told)
    for name, choices in (("consistency", get_args(Consistency)), ("tls", get_args(Tls))):
        assert set(choices) == set(re.findall(r"`(\w+)`", told[name]))
    settings = (DOCS / "reference" / "settings.md").read_text().splitlines()
    (setting,) = [line for line in settings if "_HISTORY_URL`" in line]
    assert all(f"{name}=" in setting for name in OPTIONS)
    assert all(choice in setting for choice in get_args(Tls))
