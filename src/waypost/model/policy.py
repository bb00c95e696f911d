"""Settings of an org; a setting that is left out has the server's default."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

Minutes: TypeAlias = Annotated[float, Meta(gt=0, le=525_600)]
TimeOfDay: TypeAlias = Annotated[str, Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$(?!\n)", examples=["21:00"])]
ZoneName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64, examples=["Europe/Berlin"])]
Region: TypeAlias = Annotated[str, Meta(pattern="^[A-Z]{2}$(?!\n)", examples=["DE"])]
Currency: TypeAlias = Annotated[str, Meta(pattern="^[A-Z]{3}$(?!\n)", examples=["EUR"])]
CallingCode: TypeAlias = Annotated[str, Meta(pattern="^([1-9][0-9]{0,6}|\\*)$(?!\n)", examples=["49", "1876", "*"])]
Category: TypeAlias = Annotated[str, Meta(pattern="^[a-z_-]{1,40}$(?!\n)", examples=["marketing"])]
UnsurePolicy: TypeAlias = Literal["requeue", "park"]
Period: TypeAlias = Literal["day", "month"]


class QuietHours(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Hours, by the recipient's clock, in which nothing is sent; `from` after `to` crosses midnight."""

    start: TimeOfDay = msgspec.field(name="from")
    end: TimeOfDay = msgspec.field(name="to")
    timezone: ZoneName = "UTC"
    """Used when the recipient's own time zone is unknown."""
    exempt_priority: Annotated[int, Meta(ge=0, le=9)] | None = None
    """Messages of at least this priority are sent anyway."""


class RequestRate(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """API requests, reads and writes alike, that one process accepts from the org."""

    per_second: Annotated[float, Meta(gt=0, le=100_000)]
    burst: Annotated[int, Meta(ge=1, le=1_000_000)]
    """How many may arrive at once after a pause."""


class Price(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    country: CallingCode
    """The first digits of the recipient's number; the longest match applies, `*` matches everything else."""
    category: Category
    amount: Decimal


class PriceList(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    currency: Currency
    prices: Annotated[tuple[Price, ...], Meta(max_length=5000)] = ()


class Budget(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How much may be spent in a day or month (UTC), in the price list's currency."""

    amount: Decimal
    period: Period = "month"


Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


class Turns(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """How the bot takes turns with a customer."""

    quiet_sec: Seconds | None = None
    """A burst ends when no message has come for this long,"""
    max_wait_sec: Seconds | None = None
    """or when its first message has waited this long."""
    lease_sec: Annotated[float, Meta(ge=0.2, le=3600)] | None = None
    """A worker that does not renew its turns for this long loses them."""
    limit_sec: Seconds | None = None
    """A bot that takes longer is cancelled."""
    retry_sec: Annotated[tuple[Seconds, ...], Meta(max_length=20)] | None = None
    """Delays before a failed turn is retried; after the last retry it is given up."""
    supersede: bool | None = None
    """A new message restarts the turn, unless the bot has already answered."""
    after_failure: Literal["human", "bot"] | None = None
    """Who has the floor after a turn is given up."""
    on_hand_back: Literal["answer", "skip"] | None = None
    """Whether the bot answers messages that came while an agent had the floor."""


ConsentWord: TypeAlias = Annotated[str, Meta(min_length=1, max_length=40)]


class ConsentWords(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The words with which a customer opts out of all messages, or in again."""

    enabled: bool = True
    stop: Annotated[tuple[ConsentWord, ...], Meta(max_length=100)] | None = None
    """Replaces the default words of a dozen languages."""
    start: Annotated[tuple[ConsentWord, ...], Meta(max_length=100)] | None = None
    stop_reply: Annotated[str, Meta(max_length=1000)] | None = None
    """The confirmation text; if empty, none is sent."""
    start_reply: Annotated[str, Meta(max_length=1000)] | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Every part is optional: null or absent means the server's default."""

    backoff_minutes: Annotated[tuple[Minutes, ...], Meta(min_length=1, max_length=20)] | None = None
    """Delays before the second, third, … attempt; the last one repeats."""
    unsure: UnsurePolicy | None = None
    """What to do with an attempt whose outcome stays unknown."""
    quiet_hours: QuietHours | None = None
    request_rate: RequestRate | None = None
    price_list: PriceList | None = None
    budget: Budget | None = None
    turns: Turns | None = None
    consent_words: ConsentWords | None = None
    default_region: Region | None = None
    """The region whose national phone numbers are understood."""
    history_days: Annotated[float, Meta(ge=0, le=36_500)] | None = None
    """How long a separate history store keeps messages written from now on; 0 means forever."""
