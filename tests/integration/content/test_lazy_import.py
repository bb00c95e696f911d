"""What a server does not need it does not load."""

from __future__ import annotations

import subprocess
import sys


def test_without_a_region_the_numbering_plans_are_not_loaded() -> None:
    code = "import sys, waypost.runtime.wiring.wiring, waypost.rules.content.recipient as r; r.phone('030 1234567')"
    check = "; sys.exit('phonenumbers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code + check], check=False).returncode == 0
