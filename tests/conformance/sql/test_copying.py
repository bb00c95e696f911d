"""A copy from one database to another: all tables, all kinds of values, compared; an unsafe copy is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.postgres import copy_target, schema
from waypost.adapters.postgres.copy_target import connected
from waypost.adapters.postgres.facts import facts
from waypost.adapters.sql.engine.copying import CopyColumn, CopyRefused, CopyTable
from waypost.adapters.sql.engine.migrations import WrongSchema
from waypost.adapters.sql.engine.upkeep import DatabaseInUse, RestoreOptions
from waypost.adapters.sqlite import facts as sqlite
from waypost.adapters.sqlite.backup import open_exclusively, restore
from waypost.adapters.sqlite.store import SqliteStore
from waypost.runtime.cli.admin.copying import CopyResult, copy
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import open_ledger
from waypost_testing.services.processes import Postgres

pytestmark = pytest.mark.may_block("the command that copies has nothing else to do")
ROWS = 7


def value(column: CopyColumn, n: int) -> Any:
    """A different value in each row, including those that are hard to copy."""
    if column.name in {"id", "org_id"} and column.type == "text":
        return f"org {n}"
    if column.type in {"bigint", "integer", "smallint"}:
        return n * 1000 if column.type == "smallint" else n * 1_000_000
    if column.type == "bytea":
        return bytes([n, 0, 255])
    if column.type == "boolean":
        return n % 2
    if column.type == "tsvector":
        return f"|o{n} zeta alpha größe"
    return f"t{n} 'quoted' \"{{,}}\" \\ größe\n👍"


async def filled(path: Path, url: str) -> Path:
    """Rows in every table."""
    store = SqliteStore(path)
    store.migrate()
    store.close()
    async with connected(url) as connection:
        known = await copy_target.tables(connection)
    file = apsw.Connection(str(path))
    for table in known:
        if table.name != "door":
            _fill(file, table)
    file.close()
    return path


def _fill(file: apsw.Connection, table: CopyTable) -> None:
    names = [column.name for column in table.columns]
    marks = ", ".join("?" * len(names))
    rows = [tuple(value(column, n) for column in table.columns) for n in range(1, ROWS + 1)]
    file.executemany(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})", rows)


@pytest.fixture
async def source(tmp_path: Path, postgres_url: str) -> Settings:
    await schema.migrate(postgres_url)
    return Settings(database_url=f"sqlite:///{await filled(tmp_path / 'waypost.db', postgres_url)}")


async def copied(source: Settings, url: str, *, batch: int = 3, anew: bool = False) -> CopyResult:
    return await copy(source, url, batch=batch, anew=anew)


async def asked(url: str, text: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(text)
    finally:
        await connection.close()


def touched(source: Settings, text: str) -> None:
    file = apsw.Connection(source.database_url.removeprefix("sqlite:///"))
    file.execute(text)
    file.close()


async def test_every_table_comes_over_and_the_next_ids_are_free(source: Settings, postgres_url: str) -> None:
    done = await copied(source, postgres_url)
    assert {name: each.rows for name, each in done.sums.items()} == dict.fromkeys(done.sums, ROWS) | {"door": 1}
    assert len(done.sums) > 40
    assert "quick_reply" in done.sums
    assert await asked(postgres_url, "SELECT count(*) FROM search_entry WHERE words @@ '''größe'''::tsquery") == ROWS
    highest = ROWS * 1_000_000
    assert await asked(postgres_url, "SELECT nextval(pg_get_serial_sequence('message', 'id'))") == highest + 1
    assert await asked(postgres_url, "SELECT nextval(pg_get_serial_sequence('dossier', 'id'))") == highest + 1
    assert await asked(postgres_url, "SELECT to_regclass('waypost_copy') IS NULL")


async def test_from_one_postgresql_to_another(source: Settings, postgres_url: str, postgres: Postgres) -> None:
    first = await copied(source, postgres_url)
    other = postgres.create_database()
    try:
        await schema.migrate(other)
        second = await copied(Settings(database_url=postgres_url), other)
        assert second.sums == first.sums
    finally:
        postgres.drop_database(other)


async def started(url: str) -> None:
    """As far as a server starts before it does any work."""
    ledger = await open_ledger(Settings(database_url=url), SystemClock())
    await ledger.close()


def restoring() -> RestoreOptions:
    return RestoreOptions(now=SystemClock().now(), token="again", ids=10, hold=True)


async def test_no_server_starts_on_a_file_that_was_copied_until_somebody_says_so(
    source: Settings, postgres_url: str
) -> None:
    path = Path(source.database_url.removeprefix("sqlite:///"))
    await started(source.database_url)
    await copied(source, postgres_url)
    with pytest.raises(WrongSchema, match="copied to another, which is in use instead"):
        await started(source.database_url)
    assert sqlite.facts(path).is_moved
    await started(postgres_url)
    restore(path, restoring())
    assert not sqlite.facts(path).is_moved
    await started(source.database_url)


async def test_no_server_starts_on_a_postgresql_that_was_copied_until_somebody_says_so(
    source: Settings, postgres_url: str, postgres: Postgres
) -> None:
    await copied(source, postgres_url)
    other = postgres.create_database()
    try:
        await schema.migrate(other)
        await copied(Settings(database_url=postgres_url), other)
        with pytest.raises(WrongSchema, match="copied to another, which is in use instead"):
            await started(postgres_url)
        assert (await facts(postgres_url)).is_moved
        await started(other)
    finally:
        postgres.drop_database(other)
    await copy_target.restore(postgres_url, restoring())
    assert not (await facts(postgres_url)).is_moved
    await started(postgres_url)


async def test_a_copy_that_is_finished_says_so_also_while_a_server_runs_there(
    source: Settings, postgres_url: str
) -> None:
    await copied(source, postgres_url)
    async with connected(postgres_url):
        with pytest.raises(CopyRefused, match="this copy is finished: set WAYPOST_DATABASE_URL to the target"):
            await copied(source, postgres_url)


async def test_what_was_moved_is_not_copied_to_a_third_place(
    source: Settings, postgres_url: str, postgres: Postgres
) -> None:
    await copied(source, postgres_url)
    third = postgres.create_database()
    try:
        await schema.migrate(third)
        with pytest.raises(CopyRefused, match="copied to another"):
            await copied(source, third)
        assert await asked(third, "SELECT count(*) FROM org") == 0
    finally:
        postgres.drop_database(third)


async def test_a_copy_that_was_cut_in_its_last_step_is_finished(
    source: Settings, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut(self: object) -> None:
        raise OSError("cut")

    with monkeypatch.context() as patched:
        patched.setattr(copy_target.DatabaseTarget, "finish", cut)
        with pytest.raises(Exception, match="cut"):
            await copied(source, postgres_url)
    for url in (source.database_url, postgres_url):
        with pytest.raises(WrongSchema):
            await started(url)
    with pytest.raises(CopyRefused, match="copied to another"):
        await copied(source, postgres_url, anew=True)
    assert (await copied(source, postgres_url)).resumed
    await started(postgres_url)


async def test_a_row_that_comes_over_otherwise_is_found(source: Settings, postgres_url: str) -> None:
    await asked(
        postgres_url,
        "CREATE FUNCTION worse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.label := 'worse'; RETURN NEW; END $$",
    )
    await asked(postgres_url, "CREATE TRIGGER worse BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION worse()")
    with pytest.raises(CopyRefused, match=r"the copy of api_key is not the same \(7 rows, "):
        await copied(source, postgres_url)


async def test_a_copy_of_what_has_changed_since_begins_anew(source: Settings, postgres_url: str) -> None:
    await asked(postgres_url, "ALTER TABLE turn ADD CONSTRAINT cut CHECK (hi < 5000000)")
    with pytest.raises(Exception, match="violates check constraint"):
        await copied(source, postgres_url)
    await asked(postgres_url, "ALTER TABLE turn DROP CONSTRAINT cut")
    touched(source, "UPDATE door SET ticked_at = ticked_at + 1")
    with pytest.raises(CopyRefused, match="begin again with --anew"):
        await copied(source, postgres_url)
    assert not (await copied(source, postgres_url, anew=True)).resumed


async def test_it_goes_on_with_what_is_missing(source: Settings, postgres_url: str) -> None:
    await asked(postgres_url, "ALTER TABLE turn ADD CONSTRAINT cut CHECK (hi < 5000000)")
    with pytest.raises(Exception, match="violates check constraint"):
        await copied(source, postgres_url)
    assert await asked(postgres_url, "SELECT count(*) FROM turn") == 3, "one batch of the table"
    await asked(postgres_url, "ALTER TABLE turn DROP CONSTRAINT cut")
    await asked(postgres_url, "ALTER TABLE api_key ADD CONSTRAINT done CHECK (id IS NULL) NOT VALID")
    assert (await copied(source, postgres_url)).resumed, "and touches no table that was done"


async def test_a_target_without_tables_or_with_others_is_refused(source: Settings, postgres_url: str) -> None:
    await asked(postgres_url, "UPDATE waypost_schema SET version = version - 1")
    with pytest.raises(CopyRefused, match=r"the target: the database has schema .* with WAYPOST_DATABASE_URL naming"):
        await copied(source, postgres_url)


async def test_a_target_that_is_in_use_or_not_empty_is_left_alone(source: Settings, postgres_url: str) -> None:
    await asked(postgres_url, "INSERT INTO org VALUES ('there', 1)")
    with pytest.raises(CopyRefused, match="the target is not empty: there are rows in org"):
        await copied(source, postgres_url)
    with pytest.raises(CopyRefused, match="--anew only empties"):
        await copied(source, postgres_url, anew=True)
    assert await asked(postgres_url, "SELECT count(*) FROM org") == 1
    async with connected(postgres_url):
        with pytest.raises(DatabaseInUse, match=r"1 other connections named waypost \(pg_stat_activity\)"):
            await copied(source, postgres_url)


async def test_a_file_that_somebody_has_open_is_not_copied(source: Settings, postgres_url: str) -> None:
    path = Path(source.database_url.removeprefix("sqlite:///"))
    reader = await asyncio.to_thread(SqliteStore, path)
    reader.version()
    with pytest.raises(DatabaseInUse, match=r"another program has .* open"), open_exclusively(path):
        pass
    reader.close()
    with open_exclusively(path):
        pass
