"""How many examples a fuzz test tries: few in `make test`, many in `make proof`."""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("WAYPOST_TEST_FUZZ") or 1)


def examples(count: int) -> int:
    return max(1, round(count * FACTOR))
