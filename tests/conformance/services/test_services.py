"""The services that other suites use: they start, keep their data over a restart, and leave nothing behind."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import anyio
import asyncpg
import pytest

from tests.started import or_skip
from waypost_testing.services import cassandra as cassandra_service
from waypost_testing.services import processes
from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import Postgres, Redis, Service, ServiceFailed, ServiceMissing

T = TypeVar("T")

ENDINGS: dict[str, Callable[[Service], None]] = {
    "fast": lambda service: service.stop("fast"),
    "immediate": lambda service: service.stop("immediate"),
    "kill": lambda service: service.kill(),
}
every_ending = pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Postgres]:
    with or_skip(Postgres({"max_connections": "20"})) as server:
        yield server


@pytest.fixture(scope="module")
def own_redis() -> Iterator[Redis]:
    with or_skip(Redis("--appendonly", "yes", "--appendfsync", "always")) as server:
        yield server


def ask(url: str, question: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    async def conversation() -> T:
        connection = await asyncpg.connect(url)
        try:
            return await question(connection)
        finally:
            await connection.close()

    return anyio.run(conversation)


def redis_says(server: Redis, command: str) -> str:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(f"{command}\r\n".encode())
        return connection.recv(1024).decode()


class TestPostgres:
    def test_it_syncs_to_disk_as_in_production(self, postgres: Postgres) -> None:
        settings = ask(postgres.url, lambda c: c.fetch("SELECT name, setting FROM pg_settings"))
        found = {row["name"]: row["setting"] for row in settings}
        assert [found[name] for name in ("fsync", "synchronous_commit", "full_page_writes")] == ["on"] * 3
        assert found["max_connections"] == "200"

    def test_it_listens_on_this_machine_only(self, postgres: Postgres) -> None:
        assert ask(postgres.url, lambda c: c.fetchval("SHOW listen_addresses")) == "127.0.0.1"

    def test_each_database_is_fresh(self, postgres: Postgres, postgres_url: str) -> None:
        ask(postgres_url, lambda c: c.execute("CREATE TABLE mine (id int)"))
        other = postgres.create_database()
        assert ask(other, lambda c: c.fetchval("SELECT to_regclass('mine') IS NULL"))
        postgres.drop_database(other)

    def test_a_database_copies_its_template(self, postgres: Postgres, postgres_url: str) -> None:
        ask(postgres_url, lambda c: c.execute("CREATE TABLE mine AS SELECT 7 AS id"))
        copy = postgres.create_database(template=postgres_url.rpartition("/")[2])
        assert ask(copy, lambda c: c.fetchval("SELECT id FROM mine")) == 7
        postgres.drop_database(copy)

    def test_settings_can_be_chosen(self, own_postgres: Postgres) -> None:
        assert ask(own_postgres.url, lambda c: c.fetchval("SHOW max_connections")) == "20"

    @every_ending
    def test_what_is_committed_outlives_it(self, own_postgres: Postgres, end: Callable[[Service], None]) -> None:
        url, before = own_postgres.create_database(), own_postgres.pid
        ask(url, lambda c: c.execute("CREATE TABLE kept AS SELECT 7 AS id"))
        end(own_postgres)
        own_postgres.start()
        assert own_postgres.pid != before
        assert ask(url, lambda c: c.fetchval("SELECT id FROM kept")) == 7

    def test_a_stopped_one_takes_no_connections(self, own_postgres: Postgres) -> None:
        own_postgres.stop()
        try:
            with pytest.raises(ConnectionRefusedError):
                ask(own_postgres.url, lambda c: c.fetchval("SELECT 1"))
            with pytest.raises(ServiceFailed, match="not running"):
                _ = own_postgres.pid
        finally:
            own_postgres.start()

    def test_a_start_that_fails_shows_the_log(self, postgres: Postgres) -> None:
        with pytest.raises(ServiceFailed, match="no_such_setting"), Postgres({"no_such_setting": "1"}):
            pass


class TestRedis:
    def test_it_answers(self, redis: Redis, redis_url: str) -> None:
        assert redis_url == f"redis://127.0.0.1:{redis.port}/0"
        assert redis_says(redis, "PING") == "+PONG\r\n"

    def test_flush_forgets_every_key(self, redis: Redis) -> None:
        redis_says(redis, "SET mine 7")
        redis.flush()
        assert redis_says(redis, "DBSIZE") == ":0\r\n"

    @every_ending
    def test_what_is_appended_outlives_it(self, own_redis: Redis, end: Callable[[Service], None]) -> None:
        redis_says(own_redis, "SET kept 7")
        end(own_redis)
        own_redis.start()
        assert redis_says(own_redis, "GET kept") == "$1\r\n7\r\n"

    def test_a_restart_forgets_what_is_not_on_disk(self, redis: Redis) -> None:
        with Redis() as own:
            redis_says(own, "SET mine 7")
            own.restart()
            assert redis_says(own, "DBSIZE") == ":0\r\n"


class TestCassandra:
    def test_it_answers(self, cassandra: Cassandra) -> None:
        options = bytes((4, 0, 0, 0, 5, 0, 0, 0, 0))  # a frame of its protocol: what do you support?
        with socket.create_connection(("127.0.0.1", cassandra.port), timeout=10) as connection:
            connection.sendall(options)
            assert b"CQL_VERSION" in connection.recv(1024)

    def test_its_jars_are_in_the_cache_of_the_user(
        self, cassandra: Cassandra, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        jars = cassandra_service.fetch_jars()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        here = tmp_path / "waypost" / jars.name
        here.mkdir(parents=True)
        assert cassandra_service.fetch_jars() == here

    def test_what_cannot_be_fetched_is_said_and_leaves_nothing(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        maven = tmp_path / "bin" / "mvn"
        maven.parent.mkdir()
        maven.write_text("#!/bin/sh\necho '[ERROR] no network today'\nexit 1\n")
        maven.chmod(0o755)
        monkeypatch.setenv("PATH", f"{maven.parent}:/bin")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        with pytest.raises(ServiceMissing, match="no network today"):
            cassandra_service.fetch_jars()
        assert list((tmp_path / "cache" / "waypost").iterdir()) == []

    def test_without_maven_or_the_right_java_it_says_so(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(cassandra_service, "JVMS", tmp_path)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(ServiceMissing, match="mvn, which downloads them, is not on PATH"):
            cassandra_service.fetch_jars()
        other = tmp_path / "java-99" / "bin" / "java"
        other.parent.mkdir(parents=True)
        other.write_text("#!/bin/sh\necho 'openjdk version \"99.0.1\"' >&2\n")
        other.chmod(0o755)
        with pytest.raises(ServiceMissing, match="no Java 17"), Cassandra():
            pass


@pytest.mark.parametrize("kind", [Postgres, Redis])
class TestLeftovers:
    def test_none_when_left(self, kind: type[Service], request: pytest.FixtureRequest) -> None:
        request.getfixturevalue(kind.__name__.lower())  # skips where the service is missing
        with kind() as service:
            process, folder = os.pidfd_open(service.pid), service.folder
        assert exited(process)
        assert not folder.exists()

    def test_none_when_the_test_process_is_killed(self, kind: type[Service], request: pytest.FixtureRequest) -> None:
        request.getfixturevalue(kind.__name__.lower())  # skips where the service is missing
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, kind.__name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with owner:
            assert owner.stdout is not None
            folder = Path(owner.stdout.readline().strip())
            children = [os.pidfd_open(int(pid)) for pid in owner.stdout.readline().split()]
            assert len(children) == 2  # the service and its watchdog
            owner.kill()
        assert [exited(child) for child in children] == [True, True]
        assert not folder.exists()


OWNER = """
import os, sys
from pathlib import Path
from waypost_testing.services import cassandra, processes
from waypost_testing.services.cassandra import Cassandra
with getattr(processes, sys.argv[1])() as service:
    print(service.folder)
    print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(("kind", "name"), [(Postgres, "PostgreSQL"), (Redis, "Redis")])
def test_a_machine_without_the_service_says_so(
    kind: type[Service], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(processes, "DEBIAN", tmp_path)
    with pytest.raises(ServiceMissing, match=name), kind():
        pass


def test_a_program_is_found_where_debian_hides_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("9.6", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(processes, "DEBIAN", tmp_path)
    assert processes.find_program("postgres") == tmp_path / "17" / "bin" / "postgres"
    assert processes.find_program("redis-server") is None
    assert shutil.which("postgres") is None


def exited(process: int) -> bool:
    """Wait for the end of a process, a child or not, by the descriptor that os.pidfd_open gave."""
    try:
        readable, _, _ = select.select([process], [], [], 10)
        return bool(readable)
    finally:
        os.close(process)
