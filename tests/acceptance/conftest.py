"""A place for each test's processes: on SQLite, PostgreSQL or the full stack; what runs there is gone afterwards."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from tests.acceptance.stage.harness import Site, site
from tests.conftest import FIGURE
from tests.started import WORKER, or_skip
from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import Postgres

Ledger: TypeAlias = Literal["sqlite", "postgres", "stack"]
"""`stack` is PostgreSQL with Redis and Cassandra."""
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


LEDGERS = os.environ.get("WAYPOST_TEST_LEDGERS", "sqlite,postgres").split(",")
"""`WAYPOST_TEST_LEDGERS=stack make test ARGS=tests/acceptance` runs every one of them on the full stack."""
FULL = "stack" in LEDGERS
"""Then a test that needs PostgreSQL runs on the full stack."""
ON_SQLITE = pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
"""For what no database could change: the contract suites try each of them."""


LONGEST = ("test_deploy", "test_live", "test_workers", "test_docs", "test_kill_nine", "test_turn_storm", "test_stop")
"""Files of tests that take more than half a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest begin first, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture(params=LEDGERS)
def ledger(request: pytest.FixtureRequest) -> Ledger:
    chosen: Ledger = request.param
    return chosen


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:

        def on(ledger: Ledger) -> Site:
            url = f"sqlite:///{tmp_path / 'waypost.db'}"
            if ledger != "sqlite":
                url = request.getfixturevalue("postgres_url")
            more = _beside_it(request) if ledger == "stack" or (ledger == "postgres" and FULL) else {}
            return stack.enter_context(site(tmp_path, url, **FAST, **more))

        yield on


@pytest.fixture
def beside(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings of what stands beside a PostgreSQL of the test's own: on the full stack Redis and Cassandra."""
    return _beside_it(request) if FULL else {}


def _beside_it(request: pytest.FixtureRequest) -> dict[str, str]:
    """Bodies leave the database as soon as the history store has them, so that what is read soon comes from there."""
    cassandra: Cassandra = request.getfixturevalue("cassandra")
    return {
        "WAYPOST_REDIS_URL": request.getfixturevalue("redis_url"),
        "WAYPOST_HISTORY_URL": cassandra.history_url(f"t_{secrets.token_hex(6)}"),
        "WAYPOST_HISTORY_GRACE_MINUTES": "0.02",
    }


@pytest.fixture
def here(place: Place, ledger: Ledger) -> Site:
    """An installation on each kind of Ledger."""
    return place(ledger)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """One that may be stopped."""
    with or_skip(Postgres()) as server:
        yield server


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Report:
    """Figures are printed at once, whether or not output is captured; a worker of pytest-xdist hands them on."""

    def print_it(text: str) -> None:
        if WORKER:
            request.node.user_properties.append((FIGURE, text))
            return
        with capsys.disabled():
            print(f"\n    {request.node.name}: {text}")  # noqa: T201  # the figures are what the run is for

    return print_it
