"""What an org sets for itself; whatever it leaves out is the server's default."""

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
Unsure: TypeAlias = Literal["requeue", "park"]
Period: TypeAlias = Literal["day", "month"]


class QuietHours(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """From when to when, by the recipient's clock, nothing is sent; `from` after `to` crosses midnight."""

    start: TimeOfDay = msgspec.field(name="from")
    end: TimeOfDay = msgspec.field(name="to")
    timezone: ZoneName = "UTC"
    """Where the recipient's own is not known."""
    exempt_priority: Annotated[int, Meta(ge=0, le=9)] | None = None
    """Messages of at least this priority go all the same."""


class RequestRate(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """API requests, reads and writes alike, that one process takes of the org."""

    per_second: Annotated[float, Meta(gt=0, le=100_000)]
    burst: Annotated[int, Meta(ge=1, le=1_000_000)]
    """How many may come at once after a pause."""


class Price(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    country: CallingCode
    """The first digits of the recipient's number; the longest that fits counts, `*` is everywhere else."""
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
    """A burst is over when nothing came for so long,"""
    max_wait_sec: Seconds | None = None
    """or when its first message has waited for so long."""
    lease_sec: Annotated[float, Meta(ge=0.2, le=3600)] | None = None
    """A worker that says nothing for so long has lost its turns."""
    limit_sec: Seconds | None = None
    """A bot that takes longer is cut off."""
    retry_sec: Annotated[tuple[Seconds, ...], Meta(max_length=20)] | None = None
    """Waits before a failed turn is tried again; after the last it goes to a person."""
    supersede: bool | None = None
    """A new message starts the thinking anew, as long as nothing was answered."""
    after_failure: Literal["human", "bot"] | None = None
    """Who has the floor after a turn that kept failing."""
    on_hand_back: Literal["answer", "skip"] | None = None
    """Whether the bot answers what came while a person had the floor."""


Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=40)]


class ConsentWords(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The words by which a customer says no, or yes again, to everything we send."""

    enabled: bool = True
    stop: Annotated[tuple[Word, ...], Meta(max_length=100)] | None = None
    """Instead of the usual ones of a dozen languages."""
    start: Annotated[tuple[Word, ...], Meta(max_length=100)] | None = None
    stop_reply: Annotated[str, Meta(max_length=1000)] | None = None
    """What confirms it; an empty one confirms nothing."""
    start_reply: Annotated[str, Meta(max_length=1000)] | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Every part is optional: null, or left out, is the server's default."""

    backoff_minutes: Annotated[tuple[Minutes, ...], Meta(min_length=1, max_length=20)] | None = None
    """Waits before the second, third, … try; the last one repeats."""
    unsure: Unsure | None = None
    """What becomes of a try that nobody settled."""
    quiet_hours: QuietHours | None = None
    request_rate: RequestRate | None = None
    price_list: PriceList | None = None
    budget: Budget | None = None
    turns: Turns | None = None
    consent_words: ConsentWords | None = None
    default_region: Region | None = None
    """Whose national phone numbers are understood."""
    history_days: Annotated[float, Meta(ge=0, le=36_500)] | None = None
    """How long a Log of its own keeps what was said from now on; 0 is for ever."""
