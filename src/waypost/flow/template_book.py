"""The accounts' templates at hand: fetched when first needed, kept in the Ledger, read again when they change there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.template import Template
from waypost.model.time import Instant, Span, days, seconds
from waypost.ports.clock import Clock
from waypost.ports.templates import NotFetched, Synced, TemplateAccount, Templates, TemplateSource

READ_AGAIN: Span = seconds(2)
"""How long another process's sync may go unnoticed here."""

REST: Span = seconds(30)
"""How long a provider that did not answer is left alone by those who did not ask for a sync."""

PATIENCE = 3.0
"""Seconds that a message being checked may wait for the provider."""

HOWEVER_OLD: Span = days(36_500)

_Key: TypeAlias = tuple[OrgId, str]


class Known(msgspec.Struct, frozen=True):
    """An account's list as it was synced last."""

    templates: Sequence[Template]
    synced: Synced


class TemplateBook:
    def __init__(self, store: Templates, source: TemplateSource, clock: Clock) -> None:
        self._store = store
        self._source = source
        self._clock = clock
        self._known: dict[_Key, Known] = {}
        self._read_at: dict[_Key, Instant] = {}
        self._failed: dict[_Key, tuple[Instant, NotFetched]] = {}
        self._turns: dict[_Key, asyncio.Lock] = {}

    async def known(self, org: OrgId, account: TemplateAccount, age: Span = HOWEVER_OLD) -> Known | NotFetched:
        """The list, synced at most `age` ago if the provider answers; an older one if not; NotFetched if there is none.

        Whoever is content with the list that is there never waits for those who are not.
        """
        key = (org, account.waba_id)
        kept = await self._read(key)
        if kept is not None and self._is_recent(kept, age):
            return kept
        async with self._turns.setdefault(key, asyncio.Lock()):
            kept = await self._read(key)
            if kept is not None and self._is_recent(kept, age):
                return kept
            fetched = self._resting(key) or await self._fetch(key, account, PATIENCE)
            return kept or fetched if isinstance(fetched, NotFetched) else fetched

    async def kept(self, org: OrgId, waba_id: str) -> Known | None:
        """The list as the Ledger has it, without asking the provider."""
        return await self._read((org, waba_id))

    async def sync(self, org: OrgId, account: TemplateAccount, timeout: float) -> Known | NotFetched:
        """Ask the provider now. On failure the old list stays."""
        key = (org, account.waba_id)
        async with self._turns.setdefault(key, asyncio.Lock()):
            return await self._fetch(key, account, timeout)

    def forget(self, org: OrgId, waba_id: str) -> None:
        """Read again before the next answer: something was changed."""
        self._read_at.pop((org, waba_id), None)

    async def _fetch(self, key: _Key, account: TemplateAccount, timeout: float) -> Known | NotFetched:
        asked_at = self._clock.now()
        fetched = await self._source.fetch(account, timeout)
        if isinstance(fetched, NotFetched):
            self._failed[key] = (self._clock.now(), fetched)
            return fetched
        self._failed.pop(key, None)
        await self._store.replace(*key, fetched, asked_at)
        self.forget(*key)
        return await self._read(key) or NotFetched("the list was not kept")

    async def _read(self, key: _Key) -> Known | None:
        """From memory while that is fresh; the list itself only when its version is another one."""
        now = self._clock.now()
        read_at = self._read_at.get(key)
        if read_at is not None and 0 <= now - read_at <= READ_AGAIN:
            return self._known.get(key)
        synced = await self._store.synced(*key)
        kept = self._known.get(key)
        if synced is not None and (kept is None or kept.synced != synced):
            self._known[key] = Known(await self._store.of(*key), synced)
        self._read_at[key] = now
        return self._known.get(key)

    def _is_recent(self, kept: Known, age: Span) -> bool:
        return self._clock.now() - kept.synced.at <= age

    def _resting(self, key: _Key) -> NotFetched | None:
        """Why the provider is left alone for a moment, if it is."""
        failed_at, failure = self._failed.get(key, (None, None))
        return failure if failed_at is not None and 0 <= self._clock.now() - failed_at < REST else None
