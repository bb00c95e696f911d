"""How many examples a fuzz test tries, few in `make test`, many in `make proof`; and how many it has tried."""

from __future__ import annotations

import os
from collections import Counter

FACTOR = float(os.environ.get("WAYPOST_TEST_FUZZ") or 1)

TRIED: Counter[str] = Counter()
"""Requests and frames that fuzz tests have sent, by kind."""


def examples(count: int) -> int:
    return max(1, round(count * FACTOR))
