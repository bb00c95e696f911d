"""What a client stores: it survives a crash, in order, and is locked while it is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.client import FileStore, MemoryStore, Store, StoreInUse
from waypost.client.store import Outgoing, StoredState

SENDS = [Outgoing(f"id {n}", "c", {"type": "text", "text": f"né {n}"}) for n in range(3)]


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return FileStore(tmp_path / "a folder" / "client.db") if request.param == "file" else MemoryStore()


async def opened_again(store: Store) -> StoredState:
    await store.close()
    try:
        return await store.open()
    finally:
        await store.close()


async def test_a_new_one_is_fresh(store: Store) -> None:
    assert await store.open() == StoredState(None, None, [])
    assert await opened_again(store) == StoredState(None, None, [])


async def test_what_was_not_answered_is_there_in_its_order(store: Store) -> None:
    await store.open()
    for outgoing in SENDS:
        await store.add(outgoing)
    await store.remove("id 1")
    await store.remove("id 1")
    assert (await opened_again(store)).outgoing == [SENDS[0], SENDS[2]]


async def test_where_a_device_stands_is_the_latest_word(store: Store) -> None:
    await store.open()
    await store.save_cursors("e1", {"user:1": 4})
    await store.save_cursors("e1", {"user:1": 5, "team:2": 9})
    assert await opened_again(store) == StoredState("e1", {"user:1": 5, "team:2": 9}, [])


async def test_a_file_belongs_to_one_client_at_a_time(tmp_path: Path) -> None:
    first, second = FileStore(tmp_path / "client.db"), FileStore(tmp_path / "client.db")
    await first.open()
    with pytest.raises(StoreInUse):
        await second.open()
    await first.add(SENDS[0])
    await first.close()
    assert (await second.open()).outgoing == SENDS[:1]
    await second.close()
