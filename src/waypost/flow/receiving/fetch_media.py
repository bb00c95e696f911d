"""Downloads customers' files before the provider deletes them, checks them and stores them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence

import msgspec

from waypost.flow import claim_age
from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, Span, minutes
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import MEDIA, Listener
from waypost.ports.receiving.media import BlobStoreError, LinkExpired, MediaLink, MediaRefused
from waypost.rules.content.media import MB
from waypost.rules.limits.error_catalogue import ErrorAction
from waypost.rules.receiving import media_fetch
from waypost.rules.receiving.media_fetch import FetchFailure, FetchLater, FetchVerdict, FileStored

AT_ONCE = 8
LARGE = 5 * MB
"""`world.downloads` limits how many larger files, or files of unknown size, are in memory at once."""
LEASE: Span = minutes(10)
"""Longer than a fetch can take, including its wait for `world.downloads`."""
PRUNE_EVERY: Span = minutes(10)
TAKEN_BACK = Instant(1)
"""Only the files of deleted messages end before this time."""
PRUNE_AT_ONCE = 200
STUCK_AT_MOST = 10_000
"""After this many files that could not be deleted, the rest waits for the next run."""
_QUICK = MB
"""Size whose digest takes about a millisecond."""

_EXPIRED = FetchFailure("the provider's download links expired before they could be used")
_DISCONNECTED = FetchFailure("its number was disconnected", hopeless=True)
_SEALED = FetchFailure("its number's secrets were encrypted with another WAYPOST_SECRET_KEY")


class DownloadedFile(msgspec.Struct, frozen=True):
    content: bytes
    link_sha256: str | None
    """From the link; the webhook has one too."""
    declared_type: str | None


async def fetch(file: MediaFile, world: World) -> bool:
    """Fetches and settles one claimed file; False if the lease was lost."""
    is_old = file.due_at is not None and await claim_age.is_old(Instant(file.due_at - LEASE), LEASE, world)
    given_back = FetchLater(world.clock.now(), "its worker stood still for a while and gave it back")
    verdict = given_back if is_old else await fetch_once(file, world)
    now = world.clock.now()
    settled = await world.ledger.files.settle(file, verdict, now)
    if not settled and isinstance(verdict, FileStored) and await world.ledger.files.get(file.org_id, file.id) is None:
        await world.blob_store.delete(verdict.key)  # its message was deleted meanwhile
    world.hints.give([MEDIA])
    return settled


async def fetch_once(file: MediaFile, world: World) -> FetchVerdict:
    """The result of one attempt."""
    downloaded = await download_file(file, world)
    stored = await store_file(file, downloaded, world) if isinstance(downloaded, DownloadedFile) else downloaded
    if isinstance(stored, FileStored):
        return stored
    return media_fetch.judge(stored, file, world.clock.now(), world.random.unit())


async def download_file(file: MediaFile, world: World) -> DownloadedFile | FetchFailure:
    """The file's content; requests a second link if the first has expired."""
    number = await world.numbers.find(file.number)
    if number is None or number.number.org_id != file.org_id:
        return _SEALED if world.numbers.is_sealed(file.number) else _DISCONNECTED
    downloaded = await _download_by_link(file, number, world)
    if isinstance(downloaded, LinkExpired):
        downloaded = await _download_by_link(file, number, world)
    if isinstance(downloaded, MediaRefused):
        return _failure_of(downloaded, number, world)
    return _EXPIRED if isinstance(downloaded, LinkExpired) else downloaded


async def _download_by_link(
    file: MediaFile, number: ConnectedNumber, world: World
) -> DownloadedFile | LinkExpired | MediaRefused | FetchFailure:
    link = await world.media.find(number.sender, file.provider_id)
    if not isinstance(link, MediaLink):
        return link
    large = media_fetch.too_large(link.size, world.tuning.media_limit)
    if large is not None:
        return large
    if link.size is not None and link.size <= LARGE:
        return await _download(link, number, LARGE, world)
    async with world.downloads:
        return await _download(link, number, world.tuning.media_limit, world)


async def _download(
    link: MediaLink, number: ConnectedNumber, limit: int, world: World
) -> DownloadedFile | LinkExpired | MediaRefused | FetchFailure:
    content = await world.media.download(number.sender, link, min(limit, world.tuning.media_limit))
    return DownloadedFile(content, link.sha256, link.mime_type) if isinstance(content, bytes) else content


def _failure_of(refused: MediaRefused, number: ConnectedNumber, world: World) -> FetchFailure:
    action = world.catalogues[number.number.error_catalogue].action(refused.code)
    return FetchFailure(
        f"the provider refused it: {refused.code} {refused.message}", hopeless=action is ErrorAction.FAIL
    )


async def store_file(file: MediaFile, downloaded: DownloadedFile, world: World) -> FileStored | FetchFailure:
    """Stores the file in the blob store before the Ledger, so that a stored file always exists."""
    content = downloaded.content
    sha256 = _digest(content) if len(content) <= _QUICK else await asyncio.to_thread(_digest, content)
    wrong = media_fetch.mismatched(sha256, file.told_sha256, downloaded.link_sha256)
    if wrong is not None:
        return wrong
    key = media_fetch.shelf_key(file.org_id, file.id, sha256)
    try:
        await world.blob_store.put(key, content)
    except BlobStoreError as error:
        return FetchFailure(f"the file could not be stored: {error}")
    kind = media_fetch.kept_type(file.mime_type, downloaded.declared_type)
    return FileStored(key=key, size=len(content), sha256=sha256, mime_type=kind)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class MediaFetcher:
    """Fetches due files, several at once; woken by hints and by polling."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            with self._world.hints.listen(MEDIA) as listener:
                while not self._world.closing.is_set():
                    await self._claim_or_pause(listener)
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _claim_or_pause(self, listener: Listener) -> None:
        try:
            await self._claim_and_fetch(listener)
        except LedgerError:
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _claim_and_fetch(self, listener: Listener) -> None:
        world, free = self._world, AT_ONCE - len(self._under_way)
        due_at = await world.ledger.files.next_due() if free else None
        now = await world.clock.trusted()
        if due_at is None or due_at > now:  # a read is cheaper than a claim
            until = world.tuning.poll if due_at is None else min(world.tuning.poll, due_at - now)
            await listener.wait(Span(until))
            return
        for file in await world.ledger.files.claim(world.worker, free, LEASE, now):
            task = asyncio.ensure_future(self._fetch(file))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _fetch(self, file: MediaFile) -> None:
        try:
            await fetch(file, self._world)
        except LedgerError:
            pass  # due again when its lease expires
        except asyncio.CancelledError:
            await self._hand_back(file)
            raise
        except Exception as bug:  # noqa: BLE001  # the other files go on
            context = {"message": f"media {file.id} could not be fetched", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _hand_back(self, file: MediaFile) -> None:
        """Releases the file, so that the next server need not wait for the lease."""
        now = self._world.clock.now()
        with contextlib.suppress(LedgerError):
            await self._world.ledger.files.settle(file, FetchLater(now, "the server stopped during the download"), now)


async def try_again(org: OrgId, media: MediaId, world: World) -> MediaFile | None:
    """Fetches a failed file again on request; None if the org has no such failed file."""
    file = await world.ledger.files.retry(org, media, world.clock.now())
    if file is not None:
        world.hints.give([MEDIA])
    return file


async def prune_media(world: World) -> int:
    """Deletes old files, and those of deleted messages, from the blob store and then from the Ledger.

    A file that cannot be deleted is skipped until the next run.
    """
    kept = world.tuning.media_kept
    before = TAKEN_BACK if kept is None else Instant(world.clock.now() - kept)
    last, gone, stuck = None, 0, 0
    while stuck < STUCK_AT_MOST and (old := await world.ledger.files.ended_before(before, PRUNE_AT_ONCE, last)):
        removed = [file.id for file in old if await _delete_blob(file, world)]
        await world.ledger.files.forget(removed)
        last, gone, stuck = old[-1], gone + len(removed), stuck + len(old) - len(removed)
    return gone


async def _delete_blob(file: MediaFile, world: World) -> bool:
    try:
        if file.key is not None:
            await world.blob_store.delete(file.key)
    except BlobStoreError:
        return False
    return True


async def media_file(org: OrgId, media: MediaId, world: World) -> MediaFile | None:
    """The file, or None when the org has no such file."""
    return await world.ledger.files.get(org, media)


async def files_in_state(
    org: OrgId, state: MediaState, before: MediaId, limit: int, world: World
) -> Sequence[MediaFile]:
    """The org's files in this state with ids below `before`, newest first."""
    return await world.ledger.files.in_state(org, state, before, limit)
