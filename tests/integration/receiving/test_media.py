"""Customers' files: fetched from the sandbox, checked, kept, and handed out to their own org only."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec
import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from tests.integration.stage.webhooks import PHONE, Account, a_text, change, envelope
from waypost.adapters.local.blob_store import MemoryBlobStore
from waypost.flow.receiving import fetch_media
from waypost.model.time import days, hours, seconds
from waypost.ports.platform.hints import MEDIA
from waypost.ports.receiving.media import BlobStoreError
from waypost.runtime.process.server import ProcessRole
from waypost.sandbox.store.media import INBOUND_KEPT

FILES = "/api/v1/media"
CAT = b"\xff\xd8\xff a cat" * 1000


async def a_file(stage: Stage, content: bytes = CAT, account: Account | None = None, **fields: Any) -> int:
    """A file that came with a message, as its row stands after the webhook's commit."""
    owner = account or stage.acme
    kept = stage.sandbox.media.store(owner.number, content, "image/jpeg", INBOUND_KEPT)
    ((last,),) = await stage.database.run("SELECT coalesce(max(id), 0) FROM media")
    row = {
        "org_id": owner.org,
        "number": owner.number.phone_number_id,
        "conversation_id": 1,
        "position": last + 1,
        "provider_id": kept.id,
        "mime_type": "image/jpeg",
        "told_sha256": base64.b64encode(kept.digest).decode(),
        "filename": None,
        "state": "pending",
        "tries": 0,
        "due_at": stage.clock.now(),
        "created_at": stage.clock.now(),
    } | fields
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in row.values())
    await stage.database.run(f"INSERT INTO media ({', '.join(row)}) VALUES ({values})")
    ((media_id,),) = await stage.database.run("SELECT max(id) FROM media")
    stage.hints.give([MEDIA])
    return int(media_id)


async def asked(stage: Stage, media_id: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await stage.call("GET", f"{FILES}/{media_id}", headers=named)


async def comes(stage: Stage, media_id: int) -> Answer:
    """The file, or why it never comes."""

    async def settled() -> Answer | None:
        answer = await asked(stage, media_id)
        return None if answer.status == 409 and answer.code == "media_pending" else answer

    found = await stage.eventually(settled)
    assert found
    return found


async def state(stage: Stage, media_id: int) -> tuple[str, int, str | None]:
    ((found, tries, error),) = await stage.database.run(f"SELECT state, tries, error FROM media WHERE id = {media_id}")
    return found, tries, error


async def waits(stage: Stage, media_id: int, tries: int) -> str:
    """Why the try with this number failed, once it has; the file is still to come."""

    async def tried() -> str | None:
        found, counted, error = await state(stage, media_id)
        return error if found == "pending" and counted == tries else None

    found = await stage.eventually(tried)
    assert found
    return found


def a_picture(content: bytes, **more: Any) -> dict[str, Any]:
    """As a phone says it."""
    data = base64.b64encode(content).decode()
    return {"type": "image", "image": {"mime_type": "image/jpeg", "data": data, **more}}


async def listed(stage: Stage, count: int, of: str = "stored") -> list[dict[str, Any]]:
    """So many files, oldest first, once they are there."""

    async def enough() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = (await stage.get(f"{FILES}?state={of}"))["content"]
        return found[::-1] if len(found) >= count else None

    found = await stage.eventually(enough)
    assert found
    assert len(found) == count
    return found


async def test_what_a_phone_sends_is_there_byte_for_byte(stage: Stage) -> None:
    wamid = await say(stage, message=a_picture(CAT, caption="my cat"))
    (file,) = await listed(stage, 1)
    assert (file["from"], file["position"], file["mimeType"], file["size"]) == ("1001", 1, "image/jpeg", len(CAT))
    assert (await asked(stage, file["id"])).body == CAT
    inbound = stage.sandbox.phones.screen(PHONE.lstrip("+"))[0]["message"]
    again = a_text(wamid["wamid"]) | inbound
    again.pop("text")
    assert (await stage.post(envelope((stage.acme, [change(stage.acme, messages=[again])])))).status == 200
    assert len(await listed(stage, 1)) == 1
    assert (await stage.get(f"{FILES}?state=pending"))["content"] == []


async def test_each_picture_of_a_burst_is_its_own_file(stage: Stage) -> None:
    pictures = [a_picture(b"%d" % n * 100) for n in range(5)]
    await say(stage, messages=[*pictures, {"type": "text", "text": {"body": "look"}}], together=True)
    files = await listed(stage, 5)
    assert {(await asked(stage, file["id"])).body for file in files} == {b"%d" % n * 100 for n in range(5)}
    assert sorted(file["position"] for file in files) == [1, 2, 3, 4, 5]


async def say(stage: Stage, **said: Any) -> dict[str, Any]:
    reply = await stage._control("POST", f"phones/{PHONE.lstrip('+')}/say", {"phone_number_id": "1001", **said})
    assert reply.status == 200, reply
    told: dict[str, Any] = msgspec.json.decode(reply.body)
    return told


async def test_a_file_is_fetched_and_served_as_it_was_sent(stage: Stage) -> None:
    answer = await comes(stage, await a_file(stage, filename="Katze ☃.jpg"))
    assert (answer.status, answer.body) == (200, CAT)
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["content-length"] == str(len(CAT))
    assert answer.headers["etag"] == f'"{hashlib.sha256(CAT).hexdigest()}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["content-disposition"] == (
        "inline; filename=\"Katze _.jpg\"; filename*=UTF-8''Katze%20%E2%98%83.jpg"
    )


@ON_SQLITE
@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/plain", "nonsense"])
async def test_what_a_browser_might_run_is_only_bytes_to_save(kind: str, stage: Stage) -> None:
    page = b"<script>alert(document.domain)</script>"
    media = await a_file(stage, page, mime_type=kind, filename="../../index.html")
    answer = await comes(stage, media)
    assert (answer.status, answer.body) == (200, page)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith('attachment; filename="index.html"')


@ON_SQLITE
async def test_a_part_of_a_file_may_be_asked_for(stage: Stage) -> None:
    media = await a_file(stage)
    tag = (await comes(stage, media)).headers["etag"]
    part = await asked(stage, media, range="bytes=3-6")
    assert (part.status, part.body, part.headers["content-range"]) == (206, CAT[3:7], f"bytes 3-6/{len(CAT)}")
    assert (await asked(stage, media, range="bytes=-5", if_range=tag)).body == CAT[-5:]
    assert (await asked(stage, media, range="bytes=0-1", if_range='"other"')).body == CAT
    beyond = await asked(stage, media, range=f"bytes={len(CAT)}-")
    assert (beyond.status, beyond.code, beyond.headers["content-range"]) == (
        416,
        "invalid_range",
        f"bytes */{len(CAT)}",
    )
    same = await asked(stage, media, if_none_match=tag)
    assert (same.status, same.body) == (304, b"")


async def test_a_file_is_its_orgs_own_and_any_of_its_keys_may_read_it(stage: Stage) -> None:
    media = await a_file(stage)
    await comes(stage, media)
    for role in ("readonly", "sender"):
        key = (await stage.call("POST", "/api/v1/keys", {"role": role, "label": ""})).json["key"]
        assert (await stage.call("GET", f"{FILES}/{media}", key=key)).status == 200
    user = (await stage.call("POST", "/api/v1/users", {"name": "Ann"})).json["token"]
    assert (await stage.call("GET", f"{FILES}/{media}", key=user)).status == 200
    assert (await stage.call("GET", f"{FILES}/{media}", key=stage.globex.key)).code == "not_found"
    assert (await stage.call("GET", f"{FILES}/{media}", key="")).status == 401


@ON_SQLITE
async def test_each_org_fetches_with_its_own_token(stage: Stage) -> None:
    theirs = await a_file(stage, number="2001", org_id="globex")  # acme's file on globex's number: not visible to it
    await stage.eventually(lambda: _settled(stage, theirs))
    found, _, error = await state(stage, theirs)
    assert found == "failed"
    assert error is not None
    assert "does not exist" in error


async def _settled(stage: Stage, media: int) -> bool:
    return (await state(stage, media))[0] != "pending"


async def test_trouble_is_tried_again_later_and_later(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    media = await a_file(stage)
    assert await waits(stage, media, 1) == "no connection could be made"
    pending = await asked(stage, media)
    assert (pending.status, pending.code, pending.headers["retry-after"]) == (409, "media_pending", "1")
    assert "no connection" in pending.json["detail"]
    stage.manual.advance(seconds(1))
    stage.hints.give([MEDIA])
    await waits(stage, media, 2)
    stage.network.unreachable.clear()
    stage.manual.advance(seconds(2))
    stage.hints.give([MEDIA])
    assert (await comes(stage, media)).body == CAT
    counted = {of: await stage.metric(f'media_fetch_total{{outcome="{of}"}}') for of in ("again", "stored", "failed")}
    assert counted == {"again": 2, "stored": 1, "failed": 0}


@ON_SQLITE
async def test_a_file_that_never_comes_is_given_up_with_its_id(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    media = await a_file(stage, created_at=stage.clock.now() - days(7) + seconds(1))
    failed = await comes(stage, media)
    assert (failed.status, failed.code) == (409, "media_failed")
    assert await stage.metric('media_fetch_total{outcome="failed"}') == 1
    assert "not fetched while the provider kept it: no connection could be made" in failed.json["detail"]


@ON_SQLITE
async def test_a_file_the_provider_does_not_know_fails_at_once_and_may_be_tried_again(stage: Stage) -> None:
    media = await a_file(stage, provider_id="4711")
    assert (await comes(stage, media)).code == "media_failed"
    (shown,) = (await stage.get(f"{FILES}?state=failed"))["content"]
    assert (shown["id"], shown["tries"], shown["state"]) == (media, 1, "failed")
    assert (await stage.get(f"{FILES}?state=stored"))["content"] == []
    known = stage.sandbox.media.store(stage.acme.number, CAT, "image/jpeg", INBOUND_KEPT)
    await stage.database.run(f"UPDATE media SET provider_id = '{known.id}' WHERE id = {media}")
    again = await stage.call("POST", f"{FILES}/{media}/retry")
    assert (again.status, again.json["state"], again.json["tries"]) == (200, "pending", 0)
    assert (await comes(stage, media)).body == CAT
    refused = await stage.call("POST", f"{FILES}/{media}/retry")
    assert (refused.status, refused.code) == (409, "not_retryable")


@ON_SQLITE
async def test_a_file_that_is_not_what_was_told_is_never_kept(stage: Stage) -> None:
    media = await a_file(stage, told_sha256=hashlib.sha256(b"a dog").hexdigest(), tries=4)
    assert "checksum" in (await comes(stage, media)).json["detail"]
    assert isinstance(stage.world.blob_store, MemoryBlobStore)
    assert stage.world.blob_store._kept == {}


@ON_SQLITE
async def test_a_file_above_the_limit_is_not_fetched(set_up: OpenStage) -> None:
    stage = await set_up(media_max_mb=0.001)
    media = await a_file(stage)
    assert f"it has {len(CAT)} bytes, at most 1049 are allowed" in (await comes(stage, media)).json["detail"]


@ON_SQLITE
async def test_a_file_of_a_number_that_left_is_given_up(stage: Stage) -> None:
    assert (await stage.call("DELETE", "/api/v1/numbers/1001")).status == 204
    assert "disconnected" in (await comes(stage, await a_file(stage))).json["detail"]


@ON_SQLITE
async def test_a_file_that_is_off_the_shelf_is_said_to_be_gone(stage: Stage) -> None:
    media = await a_file(stage)
    await comes(stage, media)
    ((key,),) = await stage.database.run(f"SELECT key FROM media WHERE id = {media}")
    await stage.world.blob_store.delete(key)
    gone = await asked(stage, media)
    assert (gone.status, gone.code) == (410, "media_gone")


async def test_old_files_are_forgotten_when_somebody_says_so(set_up: OpenStage) -> None:
    stage = await set_up(media_days=30)
    media = await a_file(stage)
    await comes(stage, media)
    ((key,),) = await stage.database.run(f"SELECT key FROM media WHERE id = {media}")
    stage.manual.advance(days(30))
    assert await fetch_media.prune_media(stage.world) == 0
    stage.manual.advance(hours(1))
    assert await fetch_media.prune_media(stage.world) == 1
    assert await stage.world.blob_store.size(key) is None
    assert (await asked(stage, media)).status == 404


@ON_SQLITE
async def test_files_that_cannot_be_removed_do_not_keep_the_newer_ones(
    set_up: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await set_up(media_days=30)
    files = [await a_file(stage) for _ in range(4)]
    for media in files:
        await comes(stage, media)
    held = [await key_of(stage, media) for media in files[:2]]
    shelf, delete = stage.world.blob_store, stage.world.blob_store.delete

    async def unless_held(key: str) -> bool:
        if key in held:
            raise BlobStoreError("Permission denied")
        return await delete(key)

    monkeypatch.setattr(shelf, "delete", unless_held)
    monkeypatch.setattr(fetch_media, "PRUNE_AT_ONCE", 1)
    monkeypatch.setattr(fetch_media, "STUCK_AT_MOST", 2)
    stage.manual.advance(days(31))

    async def left() -> list[int]:
        """After one more round; the server's own worker may have made it just before."""
        await fetch_media.prune_media(stage.world)
        return [media for media in files if (await asked(stage, media)).status == 200]

    assert await left() == files, "it does not go on for ever"
    monkeypatch.setattr(fetch_media, "STUCK_AT_MOST", 3)
    assert await left() == files[:2]
    held.clear()
    assert await left() == []


async def key_of(stage: Stage, media: int) -> str:
    ((key,),) = await stage.database.run(f"SELECT key FROM media WHERE id = {media}")
    return str(key)


async def test_the_file_of_a_message_that_is_taken_back_is_gone(set_up: OpenStage) -> None:
    stage = await set_up()
    await say(stage, message=a_picture(CAT))
    media = (await listed(stage, 1))[0]["id"]
    ((key, where),) = await stage.database.run(f"SELECT key, conversation_id FROM media WHERE id = {media}")
    page = await stage.get(f"/api/v1/conversations/{where}/messages")
    message = page["messages"][0]["message_id"]
    assert (await stage.call("DELETE", f"/api/v1/messages/{message}")).status == 204
    assert (await asked(stage, media)).status == 404
    assert await fetch_media.prune_media(stage.world) == 1
    assert await stage.world.blob_store.size(key) is None


async def test_a_server_that_stops_leaves_its_files_to_the_next(set_up: OpenStage) -> None:
    stage = await set_up(roles=frozenset({ProcessRole.API}))
    worker = await stage.add_server(frozenset({ProcessRole.WORKER}))
    stage.network.late.clear()
    before = stage.network.asked
    media = await a_file(stage)

    async def is_asked_for() -> bool:
        return stage.network.asked > before

    await stage.eventually(is_asked_for)
    await worker.stop(seconds(0.1))
    stage.servers.remove(worker)
    assert await state(stage, media) == ("pending", 1, "the server stopped during the download")
    stage.network.late.set()
    await stage.add_server(frozenset({ProcessRole.WORKER}))
    assert await comes_anywhere(stage, media) == ("stored", 2, None)


async def test_many_files_are_each_fetched_once_by_two_servers(stage: Stage) -> None:
    await stage.add_server()
    contents = [b"%d" % n * 100 for n in range(20)]
    ids = [await a_file(stage, content) for content in contents]
    assert [(await comes_anywhere(stage, media))[1] for media in ids] == [1] * 20


async def comes_anywhere(stage: Stage, media: int) -> tuple[str, int, str | None]:
    async def stored() -> tuple[str, int, str | None] | None:
        found = await state(stage, media)
        return found if found[0] == "stored" else None

    found = await stage.eventually(stored)
    assert found
    return found
