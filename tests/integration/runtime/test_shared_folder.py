"""A folder for sockets: refused at once where their names would be too long, instead of children that never start."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from waypost.runtime.process.shared_folder import LONGEST_PLACE, SharedFolder
from waypost.runtime.settings.definitions import SettingsError


def _folder_of(length: int, base: Path) -> Path:
    folder = base / ("x" * (length - len(str(base)) - 1))
    folder.mkdir()
    return folder


def test_a_folder_that_just_fits_holds_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="w", dir="/tmp") as base:
        monkeypatch.setattr(tempfile, "tempdir", str(_folder_of(LONGEST_PLACE, Path(base))))
        shared = SharedFolder()
        shared.hints.mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
            bound.bind(str(shared.hints / "0123456789abcdef.hint"))
        shared.remove()


def test_a_folder_whose_name_is_too_long_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="w", dir="/tmp") as base:
        monkeypatch.setattr(tempfile, "tempdir", str(_folder_of(LONGEST_PLACE + 1, Path(base))))
        with pytest.raises(SettingsError, match="TMPDIR"):
            SharedFolder()
