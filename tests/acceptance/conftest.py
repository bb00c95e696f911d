"""A place for each test's processes, on SQLite or PostgreSQL; what runs there is gone when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from tests.acceptance.harness import Site, site
from waypost.testing.services import Postgres, ServiceMissing

Ledger: TypeAlias = Literal["sqlite", "postgres"]
Place: TypeAlias = Callable[[Ledger], Site]
Report: TypeAlias = Callable[[str], None]

POLICY = {
    "WAYPOST_OUTBOUND_WINDOW": "ignore",
    "WAYPOST_OUTBOUND_QUOTA": "0",
    "WAYPOST_OUTBOUND_PACE": "1000",
    "WAYPOST_OUTBOUND_PAIR_BURST": "1000000",
}
"""None, so that a storm meets nothing but the storm."""

FAST = {
    "WAYPOST_OUTBOUND_STALE_MINUTES": "0.2",
    "WAYPOST_OUTBOUND_BACKOFF_MINUTES": "0.003,0.01,0.02",
    "WAYPOST_OUTBOUND_WORKER_POLL_INTERVAL_MS": "300",
    "WAYPOST_LOG_LEVEL": "info",
    **POLICY,
}


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    chosen: Ledger = request.param
    return chosen


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:

        def on(ledger: Ledger) -> Site:
            url = f"sqlite:///{tmp_path / 'waypost.db'}"
            if ledger == "postgres":
                url = request.getfixturevalue("postgres_url")
            return stack.enter_context(site(tmp_path, url, **FAST))

        yield on


@pytest.fixture
def here(place: Place, ledger: Ledger) -> Site:
    """An installation on each kind of Ledger."""
    return place(ledger)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """One that may be stopped."""
    try:
        with Postgres() as server:
            yield server
    except ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Report:
    """Figures are printed, whether or not output is captured."""

    def print_it(text: str) -> None:
        with capsys.disabled():
            print(f"\n    {request.node.name}: {text}")  # noqa: T201  # the figures are what the run is for

    return print_it
