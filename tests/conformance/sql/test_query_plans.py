"""Every statement uses an index, so that it is as fast in front of a million messages as of a thousand."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.conformance.sql.full_tables import FILL
from waypost.adapters.postgres.access import WRITER_SETTINGS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.statements import dialect
from waypost.adapters.sqlite.store import SqliteStore
from waypost_testing.services.processes import Postgres

BIG = {
    "message",
    "delivery",
    "ready",
    "later",
    "queue",
    "queue_line",
    "attempt",
    "wamid",
    "report",
    "event",
    "journal",
    "provider_word",
    "outlet",
    "permit",
    "gate",
    "pair",
    "consent",
    "dossier",
    "audit",
    "template",
    "cost",
    "media",
    "contact",
    "contact_address",
    "conversation",
    "entry",
    "arrival",
    "lane",
    "turn",
    "feed",
    "feed_item",
    "member",
    "post",
    "read_marker",
    "device",
    "device_cursor",
    "search_entry",
    "feed_reader",
    "handed_over",
    "notice",
    "notice_feed",
    "notice_told",
    "quick_reply",
}
"""Tables that grow with the traffic, and with its orgs and customers."""

SQLITE, POSTGRES = dialect("waypost.adapters.sqlite"), dialect("waypost.adapters.postgres")


def touches_a_big_table(text: str) -> bool:
    return bool(set(re.findall(r"\w+", re.sub(r"--.*", "", text))) & BIG)


HOT = sorted(name for name, statement in SQLITE.items() if touches_a_big_table(statement.text))
ONLY_BESIDE_ANOTHER = {"feed_item_append"}
"""It joins the result of another part of the same statement, and no table."""
POSTGRES_HOT = sorted(
    name
    for name, statement in POSTGRES.items()
    if touches_a_big_table(statement.text) and name not in ONLY_BESIDE_ANOTHER
)
"""The same, and those that only PostgreSQL has."""


def test_the_statements_of_the_outbox_are_looked_at() -> None:
    assert {"wamid_find", "claim_pick", "later_due", "delivery_lock", "report_waiting", "stale_claims"} <= set(HOT)
    assert {"outlets_busy", "permit_lock", "gate_lock", "pair_draw", "templates_of"} <= set(HOT)
    assert {"talk_find", "lanes_due", "lanes_expired", "entries_between", "feed_after", "replies_waiting"} <= set(HOT)
    assert {"accept_at_once", "report_at_once", "delivery_read", "arrivals_read"} <= set(POSTGRES_HOT) - set(HOT)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    path: Path = tmp_path_factory.mktemp("plans") / "waypost.db"
    store = SqliteStore(path)
    store.migrate()
    yield store
    store.close()


OWN_ROWS = re.compile("VIRTUAL TABLE|CONSTANT ROW|SCAN (b|busy|waiting|recent|unread|oldest)$")
"""A batch's own rows, or what the statement itself has just found: all of them are wanted."""
OF_A_FEW = {
    *(
        "later_depth",
        "media_depth",
        "on_the_way",
        "outlets_depth",
        "outlets_depth_org",
        "quotas_fullest",
        "gates_closed",
    ),
    *("turns_depth", "turns_open", "webhook_latest"),
}
"""They scan what they have just limited themselves to, or what is closed, held or waiting at this moment."""
SORTED_IN_MEMORY = {
    "report_waiting",
    "reports_of",
    "outlets_standing",
    "outlets_busy",
    "retries_recent",
    "spend_by_template",
    "spend_by_category",
    "spend_by_dossier",
    "conversations_at",
    "chats_of",
    "devices_of",
    "feeds_told",
    "search_items",
    "hand_over_told",
    "talks_of_people",
} | OF_A_FEW
"""Of one message, customer or person, or of the gates in front of one outlet: a handful of rows; of a spend: as many as
it has headings."""
IN_ORDER = [name for name in HOT if "ORDER BY" in SQLITE[name].text and name not in SORTED_IN_MEMORY]


class TestSqlite:
    def plan(self, store: SqliteStore, name: str) -> list[str]:
        text = store._statements[name].text
        arguments = [None] * len(set(re.findall(r"\?\d+", text)))
        return [row[3] for row in store._connection.execute(f"EXPLAIN QUERY PLAN {text}", arguments)]

    @pytest.mark.parametrize("name", HOT)
    def test_no_statement_scans_a_table(self, name: str, store: SqliteStore) -> None:
        scans = [line for line in self.plan(store, name) if line.startswith("SCAN")]
        assert [line for line in scans if not OWN_ROWS.search(line) and name not in OF_A_FEW] == []

    def test_a_wamid_is_found_by_one_probe(self, store: SqliteStore) -> None:
        assert self.plan(store, "wamid_find") == ["SEARCH wamid USING PRIMARY KEY (number=? AND wamid=?)"]

    def test_a_claim_walks_its_index_and_sorts_nothing(self, store: SqliteStore) -> None:
        assert self.plan(store, "claim_pick") == [
            "SEARCH r USING INDEX ready_by_outlet (outlet=?)",
            "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH p USING INDEX sqlite_autoindex_pair_1 (sender=? AND recipient=?) LEFT-JOIN",
            "SEARCH cd USING INDEX sqlite_autoindex_consent_1 (org_id=? AND subject=? AND channel=?) LEFT-JOIN",
            "SEARCH ca USING INDEX sqlite_autoindex_consent_1 (org_id=? AND subject=? AND channel=?) LEFT-JOIN",
        ]

    @pytest.mark.parametrize("name", IN_ORDER)
    def test_what_is_read_in_order_is_stored_in_order(self, name: str, store: SqliteStore) -> None:
        assert [line for line in self.plan(store, name) if "TEMP B-TREE" in line] == []


SAMPLES: dict[str, Any] = {
    "text": "org-7",
    "int8": 70,
    "int4": 7,
    "int2": 5,
    "bool": True,
    "bytea": b"x",
    "json": "[]",
    "jsonb": "{}",
}


def sample(kind: str) -> Any:
    """An argument of that type; of an array, ten."""
    return [sample(kind.removesuffix("[]"))] * 10 if kind.endswith("[]") else SAMPLES[kind]


def scans(node: dict[str, Any]) -> Iterator[str]:
    """The tables that a plan reads from end to end."""
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for child in node.get("Plans", []):
        yield from scans(child)


def kinds(node: dict[str, Any]) -> Iterator[str]:
    yield node["Node Type"]
    for child in node.get("Plans", []):
        yield from kinds(child)


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database()
    asyncio.run(prepare(url))
    yield url
    postgres.drop_database(url)


@pytest.fixture(scope="module")
async def reader(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """With the planner's own settings."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
async def writer(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """As the engine connects, with one generic plan."""
    connection = await asyncpg.connect(url, server_settings=WRITER_SETTINGS)
    yield connection
    await connection.close()


async def plan(connection: asyncpg.Connection[asyncpg.Record], name: str, *arguments: object) -> dict[str, Any]:
    """For these arguments, or for samples of their types."""
    statement = await connection.prepare(POSTGRES[name].text)
    given = arguments or [sample(kind_of(parameter)) for parameter in statement.get_parameters()]
    return top(await connection.fetchval(f"EXPLAIN (FORMAT JSON) {POSTGRES[name].text}", *given))


async def plan_for_anything(connection: asyncpg.Connection[asyncpg.Record], name: str) -> dict[str, Any]:
    text = POSTGRES[name].text
    unknown = ", ".join(["NULL"] * len(set(re.findall(r"\$\d+", text))))
    await connection.execute(f"PREPARE anything AS {text}")
    try:
        return top(await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE anything {unknown and f'({unknown})'}"))
    finally:
        await connection.execute("DEALLOCATE anything")


def top(explained: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explained)[0]["Plan"]
    return found


FEW_HERE = {
    "outlets_busy",
    "outlets_standing",
    "outlets_depth",
    "outlets_depth_org",
    "waiting_behind_org",
    "gates_closed",
}
"""With 3000 dispatch groups and 5000 ready messages a scan is cheaper; the generic plan uses the index."""


class TestPostgres:
    @pytest.mark.parametrize("name", [name for name in POSTGRES_HOT if name not in FEW_HERE])
    async def test_no_statement_scans_a_table(self, name: str, reader: asyncpg.Connection[asyncpg.Record]) -> None:
        assert set(scans(await plan(reader, name))) & BIG == set()

    @pytest.mark.parametrize("name", [name for name in POSTGRES_HOT if name != "gates_closed"])  # all that is closed
    async def test_no_plan_made_for_whatever_comes_scans_a_table(
        self, name: str, writer: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        assert set(scans(await plan_for_anything(writer, name))) & BIG == set()

    @pytest.mark.parametrize(("name", "index"), [("lanes_due", "lane_due"), ("lanes_expired", "lane_held")])
    async def test_turns_that_are_due_are_read_from_the_front_of_their_index(
        self, name: str, index: str, writer: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        found = await plan_for_anything(writer, name)
        assert list(kinds(found)) == ["Limit", "LockRows", "Index Scan"]
        assert f'"Index Name": "{index}"' in json.dumps(found)

    async def test_a_wamid_is_found_by_one_probe(self, reader: asyncpg.Connection[asyncpg.Record]) -> None:
        found = await plan(reader, "wamid_find", ["number-1"], ["wamid-1"])
        probe = found["Plans"][-1]
        assert (probe["Relation Name"], probe["Index Name"]) == ("wamid", "wamid_pkey")
        assert "number" in probe["Index Cond"]
        assert "wamid" in probe["Index Cond"]

    @pytest.mark.parametrize("slots", [1, 32, 100])
    async def test_a_claim_walks_its_index_and_sorts_nothing(
        self, slots: int, reader: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        found = await plan(reader, "claim_pick", [7, 8], [slots, slots])
        assert "Sort" not in set(kinds(found))
        assert "ready_by_outlet" in json.dumps(found)

    async def test_a_claim_planned_for_whatever_comes_walks_its_index_too(
        self, writer: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        found = await plan_for_anything(writer, "claim_pick")
        assert "Sort" not in set(kinds(found))
        assert "ready_by_outlet" in json.dumps(found)


def kind_of(parameter: asyncpg.Type) -> str:
    return f"{parameter.name.removesuffix('[]')}[]" if parameter.kind == "array" else str(parameter.name)


async def prepare(url: str) -> None:
    await migrate(url)
    connection = await asyncpg.connect(url)
    await connection.execute(FILL)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
