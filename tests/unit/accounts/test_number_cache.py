"""The book of numbers: at hand, and never behind what another process has just connected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from waypost.flow.number_cache import STALE_AFTER, NumberCache
from waypost.model.account import Number
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, seconds
from waypost_testing.clock import ManualClock

A = NumberId("1")


def a_number(number: NumberId = A) -> Number:
    return Number(
        id=number,
        org_id=OrgId("acme"),
        waba_id="waba",
        sealed_token=b"t",
        sealed_app_secret=b"s",
        sealed_verify_token=b"v",
        graph_url=None,
        error_catalogue="meta",
        enabled=True,
        created_at=Instant(1),
        updated_at=Instant(1),
    )


class Glass:
    """A vault that hides nothing."""

    def seal(self, secret: str, purpose: str) -> bytes:
        return secret.encode() + purpose.encode()

    def open(self, sealed: bytes, purpose: str) -> str:
        return sealed.decode() + purpose


class Accounts:
    """The one read that the book needs, which may be held up."""

    def __init__(self) -> None:
        self.stored: list[Number] = []
        self.reads = 0
        self.open = asyncio.Event()
        self.open.set()
        self.asked = asyncio.Event()

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        assert org is None
        self.reads += 1
        self.asked.set()
        found = list(self.stored)
        await self.open.wait()
        return found


def a_book() -> tuple[NumberCache, Accounts, ManualClock]:
    accounts, clock = Accounts(), ManualClock()
    return NumberCache(accounts, Glass(), clock, "http://graph"), accounts, clock  # type: ignore[arg-type]  # one read


async def test_a_number_connected_elsewhere_is_seen_when_it_is_looked_for_again() -> None:
    book, accounts, _ = a_book()
    assert await book.find(A) is None
    accounts.stored.append(a_number())
    assert book.known(A) is None
    await book.look_again()
    assert book.known(A) is not None


async def test_what_is_forgotten_during_a_read_is_read_again() -> None:
    book, accounts, _ = a_book()
    accounts.open.clear()
    reading = asyncio.ensure_future(book.find(A))
    await accounts.asked.wait()
    accounts.stored.append(a_number())
    book.invalidate()
    accounts.open.set()
    assert await reading is not None
    assert accounts.reads == 2


async def test_a_hundred_requests_at_once_read_once() -> None:
    book, accounts, clock = a_book()
    await book.find(A)
    clock.advance(seconds(STALE_AFTER / 1_000_000 + 1))
    await asyncio.gather(*(book.find(A) for _ in range(100)))
    assert accounts.reads == 2
