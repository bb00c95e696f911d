"""Search on PostgreSQL: a frequent word costs a page, a rare word an index lookup."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.access import WRITER_SETTINGS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.statements import dialect
from waypost.ports.conversations.search import NEWEST
from waypost_testing.services.processes import Postgres

FIND = dialect("waypost.adapters.postgres")["search_find"].text
NEAR = 5_000
"""Entries that are read in storage order."""
FILL = """
INSERT INTO conversation (id, org_id, kind, number, contact_id, address, position, last_id_at, created_at)
SELECT n, 'org-' || n % 5, 'customer', 'number', n, '+49' || n, 30, n, n FROM generate_series(1, 1000) n;
INSERT INTO entry SELECT n % 1000 + 1, n / 1000 + 1, n, n, 'contact', 'text', '{}', 'wamid-' || n,
    CASE WHEN n % 11 = 0 THEN 1 END
FROM generate_series(0, 29999) n;
INSERT INTO search_entry SELECT n, n % 1000 + 1, n / 1000 + 1,
    array_to_tsvector(ARRAY['|o' || (n % 1000 + 1) % 5, 'all', 'some' || n % 700, 'one' || n])
FROM generate_series(0, 29999) n;
"""
ALL_OF_ONE_ORG = """
SELECT s.id FROM search_entry s JOIN conversation c ON c.id = s.conversation_id
JOIN entry e ON e.conversation_id = s.conversation_id AND e.position = s.position
WHERE c.org_id = 'org-1' AND e.deleted_at IS NULL AND s.words @@ $1::text::tsquery ORDER BY s.id DESC
"""


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database()
    asyncio.run(prepare(url))
    yield url
    postgres.drop_database(url)


async def prepare(url: str) -> None:
    await migrate(url)
    connection = await asyncpg.connect(url)
    await connection.execute(FILL)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


@pytest.fixture(scope="module")
async def connection(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """As the engine connects."""
    connection = await asyncpg.connect(url, server_settings=WRITER_SETTINGS)
    yield connection
    await connection.close()


async def read(connection: asyncpg.Connection[asyncpg.Record], word: str, before: int = NEWEST) -> dict[str, int]:
    """How many rows each index of the table returned for a page."""
    await connection.execute(f"PREPARE page AS {FIND}")
    asked = f"""'"|o1" "{word}"*', {before}, 'org-1', '', 21"""
    try:
        explained = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page ({asked})")
    finally:
        await connection.execute("DEALLOCATE page")
    found: dict[str, int] = {}
    for node in nodes(json.loads(explained)[0]["Plan"]):
        if node.get("Index Name", "").startswith("search_entry"):
            name = node["Index Name"]
            found[name] = found.get(name, 0) + node["Actual Rows"] * node["Actual Loops"]
    return found


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


@pytest.mark.parametrize("before", [NEWEST, 15_000])
async def test_a_page_of_what_everybody_says_is_read_as_it_lies(
    before: int, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    rows = await read(connection, "al", before)
    assert rows["search_entry_by_words"] == 0
    assert rows["search_entry_pkey"] < 200


@pytest.mark.parametrize(("word", "matches"), [("one12345", 1), ("one12346", 0), ("never", 0)])
async def test_what_hardly_anybody_says_is_looked_up(
    word: str, matches: int, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    assert await read(connection, word) == {"search_entry_pkey": NEAR, "search_entry_by_words": matches}


@pytest.mark.parametrize("word", ["al", "some69", "some699", "one2", "one29999", "never"])
async def test_pages_hold_everything_once_wherever_it_was_read(
    word: str, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    seen: list[int] = []
    before: int = NEWEST
    while page := await connection.fetch(FIND, f'"|o1" "{word}"*', before, "org-1", "", 100):
        seen += [row[0] for row in page]
        before = seen[-1]
    assert seen == [row[0] for row in await connection.fetch(ALL_OF_ONE_ORG, f"'{word}':*")]
