"""A file's row comes and moves with its message, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql import media
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sql.plan import Row
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import Store
from waypost.model.conversation import ConversationId, MediaNote, Position
from waypost.testing.contracts.examples import NUMBER, ORG, T0, W1, an_org
from waypost.testing.contracts.media import LEASE

HERE, GONE = ConversationId(1), ConversationId(2)
NOTE = MediaNote(provider_id="77", mime_type="image/jpeg", sha256="c2hh", filename="☃.jpg")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A migrated database of each kind."""
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        asyncio.run(migrate(found))
        return found
    store = Store(tmp_path / "waypost.db")
    store.migrate()
    store.close()
    return str(tmp_path / "waypost.db")


@pytest.fixture
async def engine(url: str) -> AsyncIterator[Engine]:
    if url.startswith("postgres"):
        engine: Engine = await PostgresEngine.open(url)
    else:
        engine = await asyncio.to_thread(ThreadedEngine, Path(url), lambda: T0)
    yield engine
    await engine.close()


def noted(conversation: ConversationId, position: int, note: MediaNote = NOTE) -> Row:
    return (ORG, NUMBER, conversation, position, note.provider_id, note.mime_type, note.sha256, note.filename, T0)


async def test_a_row_is_stored_once_and_due_at_once(engine: Engine) -> None:
    files = SqlLedger(engine)
    await files.accounts.create_org(an_org(ORG), None)
    bare = MediaNote(provider_id="78", mime_type="audio/ogg", sha256=None, filename=None)
    for _ in range(2):
        await engine.transact(media.insert([noted(HERE, 1), noted(HERE, 2, bare)]))
    one, two = await files.files.claim(W1, 9, LEASE, T0)
    assert (one.position, one.provider_id, one.told_sha256, one.filename) == (1, "77", "c2hh", "☃.jpg")
    assert (two.position, two.mime_type, two.told_sha256, two.filename) == (2, "audio/ogg", None, None)
    assert (one.created_at, one.org_id, one.number) == (T0, ORG, NUMBER)


async def test_a_row_goes_where_its_message_goes(engine: Engine) -> None:
    ledger = SqlLedger(engine)
    await ledger.accounts.create_org(an_org(ORG), None)
    await engine.transact(media.insert([noted(HERE, 1), noted(GONE, 1)]))
    await engine.transact(media.move(GONE, Position(1), HERE, Position(2)))
    found = await ledger.files.between(ORG, HERE, Position(1), Position(9))
    assert [file.position for file in found] == [1, 2]
