"""A database restored from a backup: no feed number and no id is used again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.sql.test_copying import ROWS, copied, filled
from tests.integration.stage.database import Database
from waypost.adapters.postgres import copy_target, schema
from waypost.adapters.postgres.copy_target import connected
from waypost.adapters.sql.engine.copying import CopyTable
from waypost.adapters.sql.engine.upkeep import SKIPPED, RestoreOptions
from waypost.adapters.sqlite import backup
from waypost.model.time import Instant
from waypost.runtime.settings.definitions import Settings

pytestmark = pytest.mark.may_block("the command that restores has nothing else to do")
NUMBERS = {"seq", "since", "upto", "head"}
"""Names of columns that hold a feed number."""
ASKS_ANEW = {"device_cursor"}
"""Device cursors stay where they were: before the first item."""
RESTORING = RestoreOptions(now=Instant(1), token="abcd", ids=1000, hold=True)


def of_feeds(tables: Sequence[CopyTable]) -> list[tuple[str, list[str]]]:
    """Tables that hold numbers of feeds, by a column that names the feed; and those columns."""
    found = []
    for table in tables:
        names = {column.name for column in table.columns}
        if table.name not in ASKS_ANEW and ("feed" in names or table.name == "feed"):
            found.append((table.name, sorted(names & NUMBERS)))
    return found


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Database:
    """With rows in every table."""
    await schema.migrate(postgres_url)
    path = await filled(tmp_path / "waypost.db", postgres_url)
    if request.param == "sqlite":
        return Database("sqlite", f"sqlite:///{path}")
    await copied(Settings(database_url=f"sqlite:///{path}"), postgres_url)
    return Database("postgres", postgres_url)


async def restore(database: Database) -> dict[str, int]:
    if database.kind == "postgres":
        return (await copy_target.restore(database.url, RESTORING)).counts
    return (await asyncio.to_thread(backup.restore, database.path, RESTORING)).counts


async def the_tables(postgres_url: str) -> list[CopyTable]:
    async with connected(postgres_url) as connection:
        return await copy_target.tables(connection)


async def test_every_number_of_a_feed_is_moved_on(database: Database, postgres_url: str) -> None:
    tables = of_feeds(await the_tables(postgres_url))
    assert len(tables) >= 5
    await restore(database)
    moved = SKIPPED + 1_000_000
    for table, columns in tables:
        assert columns, table
        for column in columns:
            ((least,),) = await database.run(f"SELECT min({column}) FROM {table}")
            assert least in {SKIPPED, moved}, f"{table}.{column}"
    await database.close()


async def test_the_log_is_handed_what_the_feeds_hold_once_more(database: Database) -> None:
    """It may be of another day, and hold messages that were deleted since."""
    await restore(database)
    first = "(SELECT min(i.seq) FROM feed_item i WHERE i.feed = r.feed)"
    stands = await database.run(f"SELECT r.seq, {first} FROM feed_reader r WHERE r.reader = 'log' AND {first} > 0")
    assert stands
    assert all(read == first - 1 for read, first in stands)
    await database.close()


async def test_ids_are_left_out_and_devices_begin_anew(database: Database) -> None:
    before = await database.run("SELECT epoch FROM device ORDER BY user_id")
    counts = await restore(database)
    after = await database.run("SELECT epoch FROM device ORDER BY user_id")
    assert counts["devices_renewed"] == len(set(before) | set(after)) / 2 == ROWS
    assert all(len(epoch) <= 64 for (epoch,) in after)
    assert await next_id(database, "message") == ROWS * 1_000_000 + 1001
    assert await next_id(database, "conversation") == ROWS * 1_000_000 + 1001
    await database.close()


async def next_id(database: Database, table: str) -> Any:
    if database.kind == "postgres":
        ((found,),) = await database.run(f"SELECT nextval(pg_get_serial_sequence('{table}', 'id'))")
        return found
    ((found,),) = await database.run(f"SELECT seq + 1 FROM sqlite_sequence WHERE name = '{table}'")
    return found


async def test_what_waited_or_was_on_its_way_is_held(database: Database) -> None:
    await database.run("UPDATE delivery SET status = 'QUEUED'")
    await database.run("UPDATE delivery SET status = 'SENDING', parked = FALSE WHERE message_id = 1000000")
    await database.run("UPDATE delivery SET status = 'SENT' WHERE message_id = 2000000")
    await database.run("UPDATE lane SET floor = 'bot', tail = done + 1")
    counts = await restore(database)
    assert (counts["messages_held"], counts["sends_parked"], counts["turns_handed_over"]) == (ROWS - 2, 1, ROWS)
    stands = await database.run("SELECT status, error_code FROM delivery ORDER BY message_id")
    assert [status for status, _ in stands] == ["SENDING", "SENT", *["FAILED"] * (ROWS - 2)]
    assert stands[0][1] == "UNSURE"
    assert {row[1] for row in stands[2:]} == {"RESTORED"}
    for table in ("ready", "later", "queue_line"):
        assert await database.run(f"SELECT * FROM {table}") == []
    assert await database.run("SELECT 1 FROM lane WHERE floor = 'bot'") == []
    await database.close()
