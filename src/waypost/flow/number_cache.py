"""A cache of the connected numbers, with their secrets decrypted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.accounts.accounts import Accounts
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.vault import UnsealError, Vault
from waypost.ports.sending.provider import Sender

STALE_AFTER: Span = seconds(2)
"""How old the cache may be: another process's change shows after at most this long."""

LOOK_AGAIN: Span = seconds(0.5)
"""The shortest interval between two reads that unknown numbers cause."""


def purpose(org: OrgId, number: NumberId, field: str) -> str:
    """The context that a secret is encrypted with, so that one cannot be substituted for another."""
    return f"{org}/{number}/{field}"


@dataclass(frozen=True, slots=True)
class ConnectedNumber:
    number: Number
    token: str
    app_secret: str
    verify_token: str
    graph_url: str

    @property
    def sender(self) -> Sender:
        return Sender(number=self.number.id, token=self.token, graph_url=self.graph_url)

    def __repr__(self) -> str:
        return f"ConnectedNumber({self.number.id})"


class NumberCache:
    def __init__(self, accounts: Accounts, vault: Vault, clock: Clock, graph_url: str) -> None:
        self._accounts = accounts
        self._vault = vault
        self._clock = clock
        self._graph_url = graph_url
        self._by_id: dict[NumberId, ConnectedNumber] = {}
        self._by_waba: dict[str, list[ConnectedNumber]] = {}
        self._by_org: dict[OrgId, list[ConnectedNumber]] = {}
        self._sealed: frozenset[NumberId] = frozenset()
        self._read_at: Instant | None = None
        self._version = 0
        self._reading = asyncio.Lock()

    def invalidate(self) -> None:
        """Makes the next lookup read the Ledger again."""
        self._version += 1
        self._read_at = None

    async def look_again(self) -> None:
        """Reads what is committed now."""
        self.invalidate()
        await self._fresh(STALE_AFTER)

    async def find(self, number: NumberId) -> ConnectedNumber | None:
        await self._fresh(STALE_AFTER)
        return self._by_id.get(number)

    def known(self, number: NumberId) -> ConnectedNumber | None:
        """From memory only."""
        return self._by_id.get(number)

    def cached(self) -> Iterable[ConnectedNumber]:
        """All numbers in memory."""
        return self._by_id.values()

    async def of_org(self, org: OrgId, age: Span = STALE_AFTER) -> Sequence[ConnectedNumber]:
        """The org's numbers, at most `age` old, in the order in which they were connected."""
        await self._fresh(age)
        return self._by_org.get(org, [])

    async def all(self) -> Iterable[ConnectedNumber]:
        await self._fresh(STALE_AFTER)
        return self._by_id.values()

    async def owners(self, numbers: Iterable[str], wabas: Iterable[str]) -> dict[str, list[ConnectedNumber]]:
        """The connected numbers behind these numbers and business accounts; reads again if one is unknown."""
        await self._fresh(STALE_AFTER)
        found = self._owners(numbers, wabas)
        if any(not owners for owners in found.values()):
            await self._fresh(LOOK_AGAIN)
            found = self._owners(numbers, wabas)
        return found

    def _owners(self, numbers: Iterable[str], wabas: Iterable[str]) -> dict[str, list[ConnectedNumber]]:
        found = {waba: self._by_waba.get(waba, []) for waba in wabas}
        for number in numbers:
            connected = self._by_id.get(NumberId(number))
            found[number] = [connected] if connected else []
        return found

    def is_sealed(self, number: NumberId) -> bool:
        """Whether the number is connected but its secrets were encrypted with another key."""
        return number in self._sealed

    def _is_fresh(self, age: Span) -> bool:
        return self._read_at is not None and 0 <= self._clock.now() - self._read_at <= age

    async def _fresh(self, age: Span) -> None:
        """One read at a time; an invalidation during a read causes another one."""
        while not self._is_fresh(age):
            async with self._reading:
                if self._is_fresh(age):
                    return
                now, version = self._clock.now(), self._version
                self._take(await self._accounts.numbers())
                if self._version == version:
                    self._read_at = now
                    return

    def _take(self, numbers: Sequence[Number]) -> None:
        by_id, by_waba, by_org, sealed = {}, {}, {}, []  # type: ignore[var-annotated]  # typed where they land
        for number in numbers:
            connected = self._opened(number)
            if connected is None:
                sealed.append(number.id)
                continue
            by_id[number.id] = connected
            by_waba.setdefault(number.waba_id, []).append(connected)
            by_org.setdefault(number.org_id, []).append(connected)
        self._by_id, self._by_waba, self._by_org, self._sealed = by_id, by_waba, by_org, frozenset(sealed)

    def _opened(self, number: Number) -> ConnectedNumber | None:
        known = self._by_id.get(number.id)
        if known and known.number == number:
            return known
        try:
            return ConnectedNumber(
                number,
                token=self._open(number, "token", number.sealed_token),
                app_secret=self._open(number, "app_secret", number.sealed_app_secret),
                verify_token=self._open(number, "verify_token", number.sealed_verify_token),
                graph_url=number.graph_url or self._graph_url,
            )
        except UnsealError:
            return None

    def _open(self, number: Number, field: str, sealed: bytes) -> str:
        return self._vault.open(sealed, purpose(number.org_id, number.id, field))
