"""The contracts of customers' files: one worker at a time fetches a file, and a blob store keeps it whole or not."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from waypost.model.conversation import ConversationId, MediaReference, Position
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, days, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.ports.receiving.media import BlobStore, BlobStoreError
from waypost.rules.receiving.media_fetch import FetchAbandoned, FetchLater, FileStored
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_ORG,
    T0,
    W1,
    W2,
    Ledgers,
    a_customer,
    an_inbound,
    an_org,
    fresh,
    later,
)

InsertMediaRow: TypeAlias = Callable[[str], Awaitable[None]]
"""Runs SQL past the Ledger, to put a file's row into any state that a test needs."""

CONVERSATION = ConversationId(7)
LEASE = minutes(10)
KEPT = FileStored(key="acme/ab/1", size=3, sha256="ab" * 32, mime_type="image/jpeg")
ALL = MediaId(2**62)
NOTE = MediaReference(provider_id="77", mime_type="image/jpeg", sha256="c2hh", filename="☃.jpg")

_positions = itertools.count(1)


async def planted(plant: InsertMediaRow, **fields: Any) -> Position:
    """A file that came with a message; returns its key."""
    row: dict[str, Any] = {
        "org_id": ORG,
        "number": NUMBER,
        "conversation_id": CONVERSATION,
        "position": next(_positions),
        "provider_id": "1234",
        "mime_type": "image/jpeg",
        "told_sha256": None,
        "filename": None,
        "state": "pending",
        "tries": 0,
        "due_at": T0,
        "created_at": T0,
    } | fields
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in row.values())
    await plant(f"INSERT INTO media ({', '.join(row)}) VALUES ({values})")  # noqa: S608  # a test's own words
    return Position(row["position"])


async def claimed(ledger: Ledger, now: Instant = T0) -> MediaFile:
    (file,) = await ledger.files.claim(W1, 9, LEASE, now)
    return file


class FilesContract:
    @pytest.fixture(autouse=True)
    async def orgs(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG), None)
        await ledger.accounts.create_org(an_org(OTHER_ORG, later(seconds(1))), None)

    async def test_a_file_is_claimed_as_its_message_told_it(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        position = await planted(plant, told_sha256="c2hh", filename="Größe ☃.pdf", mime_type="application/pdf")
        file = await claimed(ledger)
        assert file == MediaFile(
            id=file.id,
            org_id=ORG,
            number=NUMBER,
            conversation_id=CONVERSATION,
            position=position,
            provider_id="1234",
            mime_type="application/pdf",
            told_sha256="c2hh",
            filename="Größe ☃.pdf",
            state=MediaState.PENDING,
            tries=1,
            due_at=later(LEASE),
            owner=W1,
            created_at=T0,
        )
        assert await ledger.files.get(ORG, file.id) == file

    async def test_a_file_comes_with_its_message_once(self, ledger: Ledger) -> None:
        inbound = an_inbound(a_customer(), type="image", media=NOTE)
        for _ in range(2):
            await ledger.journal.apply_webhook(WebhookBatch([], [], inbound=[inbound, an_inbound()]), T0)
        file = await claimed(ledger)
        assert (file.org_id, file.number, file.created_at) == (inbound.org_id, inbound.number, T0)
        assert (file.provider_id, file.mime_type) == (NOTE.provider_id, NOTE.mime_type)
        assert (file.told_sha256, file.filename) == (NOTE.sha256, NOTE.filename)
        (conversation,) = await ledger.conversations.at(ORG, inbound.addresses[0])
        assert (file.conversation_id, file.position) == (conversation.id, 1)

    async def test_a_file_goes_where_its_message_goes_when_two_contacts_become_one(self, ledger: Ledger) -> None:
        phone = a_customer()
        by_phone, by_id = [an_inbound(name, type="image", media=NOTE) for name in (phone, fresh("DE"))]
        await ledger.journal.apply_webhook(WebhookBatch([], [], inbound=[an_inbound(phone), by_phone, by_id]), T0)
        (keep,) = await ledger.conversations.at(ORG, by_phone.addresses[0])
        both = an_inbound(phone, addresses=(*by_phone.addresses, *by_id.addresses))
        await ledger.journal.apply_webhook(WebhookBatch([], [], inbound=[both]), T0)
        found = await ledger.files.between(ORG, keep.id, Position(1), Position(9))
        assert [file.position for file in found] == [2, 3]
        assert len(await ledger.files.claim(W1, 9, LEASE, T0)) == 2

    async def test_what_is_due_is_claimed_oldest_first_and_only_then(
        self, ledger: Ledger, plant: InsertMediaRow
    ) -> None:
        newer = await planted(plant, due_at=later(seconds(2)))
        older = await planted(plant, due_at=later(seconds(1)))
        assert await ledger.files.next_due() == later(seconds(1))
        assert await ledger.files.claim(W1, 9, LEASE, T0) == []
        (first,) = await ledger.files.claim(W1, 1, LEASE, later(seconds(5)))
        (second,) = await ledger.files.claim(W1, 1, LEASE, later(seconds(5)))
        assert (first.position, second.position) == (older, newer)

    async def test_two_who_claim_at_once_share_what_is_due(self, ledgers: Ledgers, plant: InsertMediaRow) -> None:
        for _ in range(20):
            await planted(plant)
        askers = zip(ledgers * 5, [W1, W2] * 5, strict=True)
        claims = [ledger.files.claim(owner, 4, LEASE, T0) for ledger, owner in askers]
        found = [file.id for claim in await asyncio.gather(*claims) for file in claim]
        found += [file.id for file in await ledgers[0].files.claim(W1, 99, LEASE, T0)]
        assert len(found) == len(set(found)) == 20

    async def test_a_stored_file_is_due_no_more(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        await planted(plant, mime_type="text/html")
        file = await claimed(ledger)
        assert await ledger.files.settle(file, KEPT, later(seconds(3)))
        stored = await ledger.files.get(ORG, file.id)
        assert stored is not None
        assert (stored.state, stored.key, stored.size, stored.sha256) == (MediaState.STORED, KEPT.key, 3, KEPT.sha256)
        assert (stored.mime_type, stored.stored_at, stored.due_at) == ("image/jpeg", later(seconds(3)), None)
        assert await ledger.files.next_due() is None
        assert await ledger.files.claim(W1, 9, LEASE, later(days(9))) == []

    async def test_a_file_is_tried_again_when_its_wait_is_over(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        await planted(plant)
        file = await claimed(ledger)
        assert await ledger.files.settle(file, FetchLater(later(seconds(5)), "HTTP 500"), T0)
        assert await ledger.files.claim(W1, 9, LEASE, later(seconds(4))) == []
        again = await claimed(ledger, later(seconds(5)))
        assert (again.id, again.tries, again.error) == (file.id, 2, "HTTP 500")

    async def test_a_failed_file_says_why_and_is_tried_again_when_somebody_says_so(
        self, ledger: Ledger, plant: InsertMediaRow
    ) -> None:
        await planted(plant)
        file = await claimed(ledger)
        assert await ledger.files.retry(ORG, file.id, T0) is None
        assert await ledger.files.settle(file, FetchAbandoned("it is gone"), T0)
        (failed,) = await ledger.files.in_state(ORG, MediaState.FAILED, ALL, 9)
        assert (failed.id, failed.error, failed.due_at) == (file.id, "it is gone", None)
        assert await ledger.files.claim(W1, 9, LEASE, later(days(1))) == []
        assert await ledger.files.retry(OTHER_ORG, file.id, T0) is None
        opened = await ledger.files.retry(ORG, file.id, later(days(1)))
        assert opened is not None
        assert (opened.state, opened.tries, opened.due_at) == (MediaState.PENDING, 0, later(days(1)))
        assert (await claimed(ledger, later(days(1)))).id == file.id

    @pytest.mark.parametrize("verdict", [KEPT, FetchLater(later(minutes(1)), "late"), FetchAbandoned("late")])
    async def test_who_lost_the_file_changes_nothing(self, verdict: Any, ledger: Ledger, plant: InsertMediaRow) -> None:
        await planted(plant)
        late = await claimed(ledger)
        (taken,) = await ledger.files.claim(W1, 9, LEASE, later(LEASE))  # the same process, another attempt
        assert not await ledger.files.settle(late, verdict, later(LEASE))
        assert await ledger.files.get(ORG, late.id) == taken
        assert await ledger.files.settle(taken, KEPT, later(LEASE))
        assert not await ledger.files.settle(taken, FetchAbandoned("twice"), later(LEASE))

    async def test_a_file_is_its_orgs_own(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        position = await planted(plant)
        file = await claimed(ledger)
        assert await ledger.files.get(OTHER_ORG, file.id) is None
        assert await ledger.files.between(OTHER_ORG, CONVERSATION, position, position) == []
        assert await ledger.files.in_state(OTHER_ORG, MediaState.PENDING, ALL, 9) == []

    async def test_files_of_a_stretch_of_a_conversation_come_in_its_order(
        self, ledger: Ledger, plant: InsertMediaRow
    ) -> None:
        places = [await planted(plant) for _ in range(4)]
        await planted(plant, conversation_id=8, position=places[1])
        found = await ledger.files.between(ORG, CONVERSATION, places[1], places[2])
        assert [file.position for file in found] == places[1:3]

    async def test_files_of_a_state_come_newest_first_page_by_page(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        places = [await planted(plant) for _ in range(3)]
        first = await ledger.files.in_state(ORG, MediaState.PENDING, ALL, 2)
        rest = await ledger.files.in_state(ORG, MediaState.PENDING, first[-1].id, 2)
        assert [file.position for file in [*first, *rest]] == places[::-1]

    async def test_only_what_has_ended_is_old_enough_to_be_forgotten(
        self, ledger: Ledger, plant: InsertMediaRow
    ) -> None:
        for _ in range(3):
            await planted(plant)
        one, two, waiting = await ledger.files.claim(W1, 9, LEASE, T0)
        await ledger.files.settle(one, KEPT, T0)
        await ledger.files.settle(two, FetchAbandoned("gone"), T0)
        assert await ledger.files.ended_before(T0, 9) == []
        old = await ledger.files.ended_before(later(seconds(1)), 9)
        assert {file.id for file in old} == {one.id, two.id}
        await ledger.files.forget([one.id, two.id, waiting.id])
        left = [await ledger.files.get(ORG, file.id) for file in (one, two, waiting)]
        assert left == [None, None, waiting]
        await ledger.files.forget([])

    async def test_what_may_be_forgotten_comes_page_by_page(self, ledger: Ledger, plant: InsertMediaRow) -> None:
        for _ in range(5):
            await planted(plant)
        for file in await ledger.files.claim(W1, 9, LEASE, T0):
            await ledger.files.settle(file, KEPT, T0)
        found = list(await ledger.files.ended_before(later(seconds(1)), 2))
        while page := await ledger.files.ended_before(later(seconds(1)), 2, found[-1]):
            assert len(page) <= 2
            found += page
        assert len({file.id for file in found}) == len(found) == 5
        assert sorted(found, key=lambda file: (file.created_at, file.id)) == found


async def whole(blob_store: BlobStore, key: str, first: int, count: int) -> bytes:
    return b"".join([piece async for piece in blob_store.read(key, first, count)])


class BlobStoreContract:
    async def test_what_is_put_is_read_back(self, blob_store: BlobStore) -> None:
        content = bytes(range(256)) * 4000
        await blob_store.put("acme/ab/1", content)
        assert await blob_store.size("acme/ab/1") == len(content)
        assert await whole(blob_store, "acme/ab/1", 0, len(content)) == content
        assert await whole(blob_store, "acme/ab/1", 1000, 600_000) == content[1000:601_000]

    async def test_an_empty_file_is_a_file(self, blob_store: BlobStore) -> None:
        await blob_store.put("acme/ab/1", b"")
        assert await blob_store.size("acme/ab/1") == 0
        assert await whole(blob_store, "acme/ab/1", 0, 0) == b""

    async def test_what_is_put_again_replaces_what_was_there(self, blob_store: BlobStore) -> None:
        await blob_store.put("acme/ab/1", b"a longer one")
        await blob_store.put("acme/ab/1", b"new")
        assert await blob_store.size("acme/ab/1") == 3
        assert await whole(blob_store, "acme/ab/1", 0, 3) == b"new"

    async def test_many_at_once_each_come_whole(self, blob_store: BlobStore) -> None:
        await asyncio.gather(*(blob_store.put(f"acme/{n % 3}/{n}", b"%d" % n * 1000) for n in range(30)))
        for n in range(30):
            assert await whole(blob_store, f"acme/{n % 3}/{n}", 0, 1000) == (b"%d" % n * 1000)[:1000]

    async def test_what_is_deleted_is_gone(self, blob_store: BlobStore) -> None:
        await blob_store.put("acme/ab/1", b"x")
        assert await blob_store.delete("acme/ab/1")
        assert not await blob_store.delete("acme/ab/1")
        assert await blob_store.size("acme/ab/1") is None

    async def test_what_is_not_there_cannot_be_read(self, blob_store: BlobStore) -> None:
        assert await blob_store.size("acme/none/1") is None
        with pytest.raises(BlobStoreError):
            await whole(blob_store, "acme/none/1", 0, 1)
        await blob_store.put("acme/ab/1", b"short")
        with pytest.raises(BlobStoreError):
            await whole(blob_store, "acme/ab/1", 0, 6)

    @pytest.mark.parametrize(
        "key", ["", "/etc/passwd", "../up", "acme/../../up", "acme/.hidden", "acme//1", "acme/1/", "a b", "a\0b", "a\n"]
    )
    async def test_a_key_leads_nowhere_else(self, key: str, blob_store: BlobStore) -> None:
        for act in (
            blob_store.put(key, b"x"),
            blob_store.size(key),
            blob_store.delete(key),
            whole(blob_store, key, 0, 1),
        ):
            with pytest.raises(ValueError, match="not a valid blob key"):
                await act
