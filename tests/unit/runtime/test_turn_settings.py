"""The turn timings of a server are consistent, or it refuses to start and names those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.runtime.settings.definitions import SettingsError, load

NONE = Path("no-such-file.toml")


def test_a_burst_that_could_never_be_quiet_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError) as refused:
        load({"WAYPOST_TURN_QUIET_SEC": "70"}, NONE)
    assert str(refused.value) == "WAYPOST_TURN_QUIET_SEC must be at most WAYPOST_TURN_MAX_WAIT_SEC, which is 65, not 70"


def test_a_burst_may_wait_as_long_as_it_is_quiet() -> None:
    times = load({"WAYPOST_TURN_QUIET_SEC": "70", "WAYPOST_TURN_MAX_WAIT_SEC": "70"}, NONE).tuning().turns
    assert times.quiet == times.max_wait == 70_000_000
