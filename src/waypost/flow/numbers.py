"""The connected numbers with their secrets opened, at hand for the door and the sender."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.accounts import Accounts
from waypost.ports.clock import Clock
from waypost.ports.provider import Sender
from waypost.ports.vault import CannotOpen, Vault

STALE_AFTER: Span = seconds(2)
"""How long another process's change to a number may go unnoticed here."""

LOOK_AGAIN: Span = seconds(0.5)
"""How often an unknown number may make us look."""


def purpose(org: OrgId, number: NumberId, field: str) -> str:
    """What a secret is sealed for, so that one cannot be passed off as another."""
    return f"{org}/{number}/{field}"


@dataclass(frozen=True, slots=True)
class Connected:
    number: Number
    token: str
    app_secret: str
    verify_token: str
    graph_url: str

    @property
    def sender(self) -> Sender:
        return Sender(number=self.number.id, token=self.token, graph_url=self.graph_url)

    def __repr__(self) -> str:
        return f"Connected({self.number.id})"


class NumberBook:
    def __init__(self, accounts: Accounts, vault: Vault, clock: Clock, graph_url: str) -> None:
        self._accounts = accounts
        self._vault = vault
        self._clock = clock
        self._graph_url = graph_url
        self._by_id: dict[NumberId, Connected] = {}
        self._by_waba: dict[str, list[Connected]] = {}
        self._by_org: dict[OrgId, list[Connected]] = {}
        self._sealed: frozenset[NumberId] = frozenset()
        self._read_at: Instant | None = None
        self._version = 0
        self._reading = asyncio.Lock()

    def forget(self) -> None:
        """Read again before the next answer: something was changed."""
        self._version += 1
        self._read_at = None

    async def look_again(self) -> None:
        """Read what is committed now, because something is missing that ought to be there."""
        self.forget()
        await self._fresh(STALE_AFTER)

    async def find(self, number: NumberId) -> Connected | None:
        await self._fresh(STALE_AFTER)
        return self._by_id.get(number)

    def known(self, number: NumberId) -> Connected | None:
        """Without reading anything."""
        return self._by_id.get(number)

    def at_hand(self) -> Iterable[Connected]:
        """Those known by now, without reading anything."""
        return self._by_id.values()

    async def of_org(self, org: OrgId, age: Span = STALE_AFTER) -> Sequence[Connected]:
        """The org's numbers as they were at most `age` ago, the one connected first in front."""
        await self._fresh(age)
        return self._by_org.get(org, [])

    async def all(self) -> Iterable[Connected]:
        await self._fresh(STALE_AFTER)
        return self._by_id.values()

    async def owners(self, numbers: Iterable[str], wabas: Iterable[str]) -> dict[str, list[Connected]]:
        """Whoever may sign for these numbers and business accounts; looks again when one is not known."""
        await self._fresh(STALE_AFTER)
        found = self._owners(numbers, wabas)
        if any(not owners for owners in found.values()):
            await self._fresh(LOOK_AGAIN)
            found = self._owners(numbers, wabas)
        return found

    def _owners(self, numbers: Iterable[str], wabas: Iterable[str]) -> dict[str, list[Connected]]:
        found = {waba: self._by_waba.get(waba, []) for waba in wabas}
        for number in numbers:
            connected = self._by_id.get(NumberId(number))
            found[number] = [connected] if connected else []
        return found

    def is_sealed(self, number: NumberId) -> bool:
        """Connected, but its secrets were sealed under another key."""
        return number in self._sealed

    def _is_fresh(self, age: Span) -> bool:
        return self._read_at is not None and 0 <= self._clock.now() - self._read_at <= age

    async def _fresh(self, age: Span) -> None:
        """One read at a time; what is forgotten during a read is read again."""
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

    def _opened(self, number: Number) -> Connected | None:
        known = self._by_id.get(number.id)
        if known and known.number == number:
            return known
        try:
            return Connected(
                number,
                token=self._open(number, "token", number.sealed_token),
                app_secret=self._open(number, "app_secret", number.sealed_app_secret),
                verify_token=self._open(number, "verify_token", number.sealed_verify_token),
                graph_url=number.graph_url or self._graph_url,
            )
        except CannotOpen:
            return None

    def _open(self, number: Number, field: str, sealed: bytes) -> str:
        return self._vault.open(sealed, purpose(number.org_id, number.id, field))
