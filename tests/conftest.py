"""What every suite shares: real databases, the ban on blocking the loop, and the count of each suite at the end."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

from tests.fuzzing import TRIED
from tests.recording import record
from tests.started import or_skip
from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import Postgres, Redis

pytest.register_assert_rewrite("waypost_testing.contracts")  # so that their failures show the values too

settings.register_profile(
    "waypost",
    deadline=None,  # how long an example takes says how busy the machine is
    derandomize=not os.environ.get("WAYPOST_TEST_EXPLORE"),  # set it to try others than every run does
)
settings.load_profile("waypost")

SUITES = {
    "unit": "no input or output",
    "repository": "the tree itself: layers, docs, deploy files, SQL",
    "conformance": "each port on each adapter",
    "integration": "HTTP, sockets, sandbox, browser",
    "acceptance": "real processes, killed and restarted",
    "simulation": "seeds",
}
IN_PROCESS = ("unit", "repository", "conformance", "integration")
TESTS = Path(__file__).parent
FIGURE = "figure"
"""The name of a property of a test that the summary shows."""


def pytest_configure(config: pytest.Config) -> None:
    for suite, what in SUITES.items():
        config.addinivalue_line("markers", f"{suite}: {what}; given by the folder")
    config.addinivalue_line("markers", "may_block(reason): let this async test block its loop")
    config.addinivalue_line("markers", "alone(reason): an acceptance test that measures time; it runs last")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        suite = suite_of(item.path)
        if suite in SUITES:
            item.add_marker(suite)


def suite_of(path: Path) -> str:
    """The folder right under tests/."""
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_blocking(request: pytest.FixtureRequest) -> Iterator[None]:
    """In the suites that run in this process, an async test that blocks its loop fails with BlockingError."""
    is_async = inspect.iscoroutinefunction(getattr(request.node, "obj", None))
    if not is_async or suite_of(request.node.path) not in IN_PROCESS or request.node.get_closest_marker("may_block"):
        yield
        return
    with blockbuster_ctx() as ban:
        for function in ban.functions.values():  # asyncpg looks for files with passwords when it connects
            function.can_block_in("asyncpg/connect_utils.py", {"_parse_connect_dsn_and_args"})
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for the whole run: leave it running. To stop or kill one, start your own."""
    with or_skip(Postgres()) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A fresh database for this test."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """One Redis for the whole run: leave it running. To stop or kill one, start your own."""
    with or_skip(Redis()) as server:
        yield server


@pytest.fixture
def redis_url(redis: Redis) -> str:
    """That Redis, without a key in it."""
    redis.flush()
    return redis.url


@pytest.fixture(scope="session")
def cassandra() -> Iterator[Cassandra]:
    """One node of Cassandra for the whole run: leave it running. To stop or kill one, start your own.

    `make test` starts one for all its workers: a node takes ten seconds and a gigabyte.
    """
    if shared := os.environ.get("WAYPOST_TEST_CASSANDRA_PORT"):
        node = Cassandra()
        node.port = int(shared)
        yield node
        return
    with or_skip(Cassandra()) as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'waypost.db'}"


def pytest_sessionfinish() -> None:
    if TRIED:
        record(fuzzed=TRIED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Counts per suite; the reason of each skip follows in pytest's own summary (-ra)."""
    outcomes = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}
    counts: Counter[tuple[str, str]] = Counter()
    for category, outcome in outcomes.items():
        for report in terminalreporter.getreports(category):
            counts[suite_of(TESTS.parent / report.nodeid.partition("::")[0]), outcome] += 1
    terminalreporter.section("suites")
    terminalreporter.write_line(f"{'':12} {'passed':>8} {'failed':>8} {'skipped':>8}")
    for suite in SUITES:
        row = [counts[suite, outcome] for outcome in ("passed", "failed", "skipped")]
        terminalreporter.write_line(f"{suite:12} {row[0]:8} {row[1]:8} {row[2]:8}")
    _write_figures(terminalreporter)


def _write_figures(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted and measured: pytest-xdist loses what its workers print."""
    reports = [report for kind in ("passed", "failed", "error") for report in terminalreporter.getreports(kind)]
    lines = [
        f"{report.nodeid.partition('::')[2]}: {text}"
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == FIGURE
    ]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)
