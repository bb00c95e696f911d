"""Customers' files are fetched before the provider forgets them, checked, and put on the shelf."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib

import msgspec

from waypost.flow.numbers import Connected
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId
from waypost.model.time import Instant, Span, minutes
from waypost.ports.failure import LedgerError
from waypost.ports.hints import MEDIA, Ear
from waypost.ports.media import Link, Outdated, Refused, ShelfError
from waypost.rules import fetching
from waypost.rules.catalogue import Action
from waypost.rules.fetching import Later, Stored, Trouble, Verdict
from waypost.rules.media import MB

AT_ONCE = 8
LARGE = 5 * MB
"""Of larger ones, and those of unknown size, only as many are in memory at once as `world.downloads` has places."""
LEASE: Span = minutes(10)
"""Longer than a fetch can take, with its wait for a place."""
FORGET_EVERY: Span = minutes(10)
TAKEN_BACK = Instant(1)
"""Before this are only the files of messages that were taken back."""
FORGET_AT_ONCE = 200
STUCK_AT_MOST = 10_000
"""Files that could not be taken off the shelf, before the rest waits for the next time."""
_QUICK = MB
"""Bytes whose digest takes about a millisecond."""

_OVER = Trouble("the provider's links were over before they could be used")
_LEFT = Trouble("its number was disconnected", hopeless=True)
_SEALED = Trouble("its number's secrets were sealed under another key")


class Brought(msgspec.Struct, frozen=True):
    content: bytes
    told_sha256: str | None
    """By the link; the webhook told one, too."""
    told_type: str | None


async def fetch(file: MediaFile, world: World) -> bool:
    """One file from its claim to its settle; False when somebody else has it by now."""
    brought = await bring(file, world)
    put = await put_away(file, brought, world) if isinstance(brought, Brought) else brought
    now = world.clock.now()
    verdict: Verdict = put if isinstance(put, Stored) else fetching.judge(put, file, now, world.dice.unit())
    settled = await world.ledger.files.settle(file, verdict, now)
    if not settled and isinstance(verdict, Stored) and await world.ledger.files.get(file.org_id, file.id) is None:
        await world.shelf.delete(verdict.key)  # its message was taken back meanwhile
    world.hints.give([MEDIA])
    return settled


async def bring(file: MediaFile, world: World) -> Brought | Trouble:
    """The bytes; a link that is over is asked for once more."""
    number = await world.numbers.find(file.number)
    if number is None or number.number.org_id != file.org_id:
        return _SEALED if world.numbers.is_sealed(file.number) else _LEFT
    brought = await _by_a_link(file, number, world)
    if isinstance(brought, Outdated):
        brought = await _by_a_link(file, number, world)
    if isinstance(brought, Refused):
        return _weighed(brought, number, world)
    return _OVER if isinstance(brought, Outdated) else brought


async def _by_a_link(file: MediaFile, number: Connected, world: World) -> Brought | Outdated | Refused | Trouble:
    link = await world.media.find(number.sender, file.provider_id)
    if not isinstance(link, Link):
        return link
    large = fetching.too_large(link.size, world.tuning.media_limit)
    if large is not None:
        return large
    if link.size is not None and link.size <= LARGE:
        return await _along(link, number, LARGE, world)
    async with world.downloads:
        return await _along(link, number, world.tuning.media_limit, world)


async def _along(link: Link, number: Connected, limit: int, world: World) -> Brought | Outdated | Refused | Trouble:
    content = await world.media.download(number.sender, link, min(limit, world.tuning.media_limit))
    return Brought(content, link.sha256, link.mime_type) if isinstance(content, bytes) else content


def _weighed(refused: Refused, number: Connected, world: World) -> Trouble:
    action = world.catalogues[number.number.error_catalogue].action(refused.code)
    return Trouble(f"the provider refused it: {refused.code} {refused.message}", hopeless=action is Action.FAIL)


async def put_away(file: MediaFile, brought: Brought, world: World) -> Stored | Trouble:
    """On the shelf first, in the Ledger after it: what the Ledger calls stored is there."""
    content = brought.content
    sha256 = _digest(content) if len(content) <= _QUICK else await asyncio.to_thread(_digest, content)
    wrong = fetching.mismatched(sha256, file.told_sha256, brought.told_sha256)
    if wrong is not None:
        return wrong
    key = fetching.shelf_key(file.org_id, file.id, sha256)
    try:
        await world.shelf.put(key, content)
    except ShelfError as error:
        return Trouble(f"it could not be kept: {error}")
    kind = fetching.kept_type(file.mime_type, brought.told_type)
    return Stored(key=key, size=len(content), sha256=sha256, mime_type=kind)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class MediaFetcher:
    """Fetches what is due, several at once; woken by hints, with polling as the net."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            with self._world.hints.listen(MEDIA) as ear:
                while not self._world.closing.is_set():
                    await self._turn_or_pause(ear)
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _turn_or_pause(self, ear: Ear) -> None:
        try:
            await self._turn(ear)
        except LedgerError:
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _turn(self, ear: Ear) -> None:
        world, free = self._world, AT_ONCE - len(self._under_way)
        due_at = await world.ledger.files.next_due() if free else None
        now = world.clock.now()
        if due_at is None or due_at > now:  # a look is cheaper than a claim
            until = world.tuning.poll if due_at is None else min(world.tuning.poll, due_at - now)
            await ear.wait(Span(until))
            return
        for file in await world.ledger.files.claim(world.worker, free, LEASE, now):
            task = asyncio.ensure_future(self._fetch(file))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _fetch(self, file: MediaFile) -> None:
        try:
            await fetch(file, self._world)
        except LedgerError:
            pass  # due again when its lease is over
        except asyncio.CancelledError:
            await self._hand_back(file)
            raise
        except Exception as bug:  # noqa: BLE001  # whatever it is, the other files go on
            context = {"message": f"media {file.id} could not be fetched", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _hand_back(self, file: MediaFile) -> None:
        """Whoever comes after us need not wait for our lease."""
        now = self._world.clock.now()
        with contextlib.suppress(LedgerError):
            await self._world.ledger.files.settle(file, Later(now, "the server stopped meanwhile"), now)


async def try_again(org: OrgId, media: MediaId, world: World) -> MediaFile | None:
    """A person has a failed file fetched once more; None when the org has no such failed file."""
    file = await world.ledger.files.retry(org, media, world.clock.now())
    if file is not None:
        world.hints.give([MEDIA])
    return file


async def forget_media(world: World) -> int:
    """Take old files, and those of messages that were taken back, off the shelf, and then out of the Ledger.

    What cannot be taken off is passed by, and tried again the next time.
    """
    kept = world.tuning.media_kept
    before = TAKEN_BACK if kept is None else Instant(world.clock.now() - kept)
    last, gone, stuck = None, 0, 0
    while stuck < STUCK_AT_MOST and (old := await world.ledger.files.ended_before(before, FORGET_AT_ONCE, last)):
        removed = [file.id for file in old if await _off_the_shelf(file, world)]
        await world.ledger.files.forget(removed)
        last, gone, stuck = old[-1], gone + len(removed), stuck + len(old) - len(removed)
    return gone


async def _off_the_shelf(file: MediaFile, world: World) -> bool:
    try:
        if file.key is not None:
            await world.shelf.delete(file.key)
    except ShelfError:
        return False
    return True
