"""A cache of the accounts' templates, which are fetched on first use and stored in the Ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.template import Template
from waypost.model.time import Instant, Span, days, seconds
from waypost.ports.accounts.templates import NotFetched, Synced, TemplateAccount, Templates, TemplateSource
from waypost.ports.platform.clock import Clock

READ_AGAIN: Span = seconds(2)
"""How old the cache may be: another process's sync shows after at most this long."""

REST: Span = seconds(30)
"""How long no list is fetched after a failure, unless a caller asks for a sync."""

PATIENCE = 3.0
"""How many seconds the check of a message waits for the provider."""

HOWEVER_OLD: Span = days(36_500)

_Key: TypeAlias = tuple[OrgId, str]


class CachedTemplates(msgspec.Struct, frozen=True):
    """An account's templates as of the last sync."""

    templates: Sequence[Template]
    synced: Synced


class TemplateCache:
    def __init__(self, store: Templates, source: TemplateSource, clock: Clock) -> None:
        self._store = store
        self._source = source
        self._clock = clock
        self._known: dict[_Key, CachedTemplates] = {}
        self._read_at: dict[_Key, Instant] = {}
        self._failed: dict[_Key, tuple[Instant, NotFetched]] = {}
        self._locks: dict[_Key, asyncio.Lock] = {}

    async def known(
        self, org: OrgId, account: TemplateAccount, age: Span = HOWEVER_OLD
    ) -> CachedTemplates | NotFetched:
        """The list, at most `age` old if the provider answers, else an older one; NotFetched if there is none.

        If the stored list is recent enough, the caller never waits for a fetch.
        """
        key = (org, account.waba_id)
        kept = await self._read(key)
        if kept is not None and self._is_recent(kept, age):
            return kept
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = await self._read(key)
            if kept is not None and self._is_recent(kept, age):
                return kept
            fetched = self._resting(key) or await self._fetch(key, account, PATIENCE)
            return kept or fetched if isinstance(fetched, NotFetched) else fetched

    async def kept(self, org: OrgId, waba_id: str) -> CachedTemplates | None:
        """The stored list; never asks the provider."""
        return await self._read((org, waba_id))

    async def sync(self, org: OrgId, account: TemplateAccount, timeout: float) -> CachedTemplates | NotFetched:
        """Fetches the list now. On failure the old list stays."""
        key = (org, account.waba_id)
        async with self._locks.setdefault(key, asyncio.Lock()):
            return await self._fetch(key, account, timeout)

    def invalidate(self, org: OrgId, waba_id: str) -> None:
        """Makes the next lookup read the Ledger again."""
        self._read_at.pop((org, waba_id), None)

    async def _fetch(self, key: _Key, account: TemplateAccount, timeout: float) -> CachedTemplates | NotFetched:
        asked_at = self._clock.now()
        fetched = await self._source.fetch(account, timeout)
        if isinstance(fetched, NotFetched):
            self._failed[key] = (self._clock.now(), fetched)
            return fetched
        self._failed.pop(key, None)
        await self._store.replace(*key, fetched, asked_at)
        self.invalidate(*key)
        return await self._read(key) or NotFetched("the fetched list could not be read back")

    async def _read(self, key: _Key) -> CachedTemplates | None:
        """From memory while fresh; reads the list only if its version has changed."""
        now = self._clock.now()
        read_at = self._read_at.get(key)
        if read_at is not None and 0 <= now - read_at <= READ_AGAIN:
            return self._known.get(key)
        synced = await self._store.synced(*key)
        kept = self._known.get(key)
        if synced is not None and (kept is None or kept.synced != synced):
            self._known[key] = CachedTemplates(await self._store.of(*key), synced)
        self._read_at[key] = now
        return self._known.get(key)

    def _is_recent(self, kept: CachedTemplates, age: Span) -> bool:
        return self._clock.now() - kept.synced.at <= age

    def _resting(self, key: _Key) -> NotFetched | None:
        """The latest failure, while no new fetch is due."""
        failed_at, failure = self._failed.get(key, (None, None))
        return failure if failed_at is not None and 0 <= self._clock.now() - failed_at < REST else None
