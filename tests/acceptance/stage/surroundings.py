"""The environment of every process that the acceptance tests start."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Ours without what a developer's shell may hold; compiled modules are kept aside, since we start often."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("WAYPOST_", "WHATSAPP_", "PYTHON"))}
    kept = Path(tempfile.gettempdir()) / f"waypost-pycache-{os.getuid()}"
    return inherited | {"PYTHONPYCACHEPREFIX": str(kept), "NO_COLOR": "1", "COLUMNS": "200", **settings}
