"""What was seen from outside: what callers wished and were told, what travelled to the provider and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from waypost.model.time import Span, seconds

SURVIVES: Span = seconds(5)
"""A process that lives this long after it heard something, with a Ledger that answers, has written it down."""


class View(msgspec.Struct, rename="camel", kw_only=True):
    """A message as the API shows it: the part that the checkers look at."""

    id: int
    to: str
    status: str
    idempotency_key: str
    attempt_count: int
    provider_message_id: str | None
    error_code: str | None
    error_message: str | None
    next_retry_at: datetime | None
    deferred_by: str | None = None
    scheduled_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None


class Attempt(msgspec.Struct, kw_only=True):
    """A try as the API shows it; its `id` is the stamp that went to the provider."""

    id: str
    generation: int


@dataclass(kw_only=True)
class Wish:
    """A message that a caller wants sent, under one idempotency key."""

    org: str
    key: str
    to: str
    stream: str | None = None
    """Ordered wishes of one stream are submitted one after the other, each after the one before was acknowledged."""
    place: int = 0
    template: bool = False
    """A template may go at any time; everything else only while the customer's window is open."""
    expires_at: int | None = None
    ids: set[int] = field(default_factory=set)
    """What 2xx answers called it."""

    @property
    def text(self) -> str:
        """What the phone shows: the thread between the caller's wish and the provider's record."""
        return f"{self.org}:{self.key}"


@dataclass(frozen=True)
class Told:
    """An answer that showed a message: true at some moment between asking and answering."""

    asked: int
    answered: int
    view: View


@dataclass(frozen=True)
class Retried:
    """A person asked for a new generation; it may have begun at any moment in between, whatever the answer was."""

    asked: int
    until: int


@dataclass(frozen=True)
class Refusal:
    """A Graph error, as the answer showed it."""

    code: int
    retry_after: float | None


@dataclass(frozen=True)
class Switched:
    """An operator's change to a number: true at some moment between asking and answering, or doubled later."""

    asked: int
    answered: int
    what: str
    """`on`, `off`, or `release` for a new token."""


@dataclass
class Sent:
    """One request of one server to the provider."""

    server: str
    life: int
    at: int
    stamp: str
    text: str
    number: str = ""
    to: str = ""
    template: bool = False
    answered: int | None = None
    wamid: str | None = None
    """Only when the provider's acceptance came back to the process that asked."""
    refused: Refusal | None = None
    """The provider's answer, when it was a clear no."""
    unreached: bool = False
    """The request provably never left."""


@dataclass(frozen=True)
class Posted:
    """One status webhook of the provider, tried once."""

    at: int
    over: int
    wamid: str
    kind: str
    echo: bool
    ok: bool


@dataclass
class Lived:
    """One life of a server, from the moment its door was open."""

    server: str
    life: int
    since: int
    until: int | None = None


@dataclass
class Record:
    now: Callable[[], int]
    wishes: dict[tuple[str, str], Wish] = field(default_factory=dict)
    told: dict[tuple[str, int], list[Told]] = field(default_factory=dict)
    retried: dict[tuple[str, int], list[Retried]] = field(default_factory=dict)
    cancelled: dict[tuple[str, int], int] = field(default_factory=dict)
    """When a cancel was answered 200."""
    sent: list[Sent] = field(default_factory=list)
    posted: dict[str, list[Posted]] = field(default_factory=dict)
    """By wamid."""
    inbound: dict[str, bool] = field(default_factory=dict)
    """Customers' messages by wamid: whether the provider was answered 200."""
    words: dict[str, tuple[str, int]] = field(default_factory=dict)
    """What customers wrote and when, in seconds, by wamid."""
    written: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """(number, customer) -> when they wrote, by their messages' own time, in microseconds since 1970."""
    limits: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Org -> its quota from when on."""
    consents: dict[tuple[str, str], list[tuple[int, bool]]] = field(default_factory=dict)
    """(org, customer) -> whether they may be written to, from when on; True as long as nothing is recorded."""
    switched: dict[str, list[Switched]] = field(default_factory=dict)
    """By number."""
    lives: list[Lived] = field(default_factory=list)
    outages: list[tuple[int, int]] = field(default_factory=list)
    """Of the Ledger."""
    pauses: list[tuple[int, int]] = field(default_factory=list)
    """Of servers that were stopped and went on."""
    intrusions: int = 0
    breaches: list[str] = field(default_factory=list)
    """What a stranger was told or allowed."""
    surprises: list[str] = field(default_factory=list)
    """Answers that no caller should ever get."""
    faults: dict[str, int] = field(default_factory=dict)

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def tell(self, org: str, asked: int, view: View) -> None:
        self.told.setdefault((org, view.id), []).append(Told(asked, self.now(), view))

    def consent(self, org: str, customer: str, *, granted: bool) -> None:
        self.consents.setdefault((org, customer), []).append((self.now(), granted))

    def lived_on(self, sent: Sent) -> bool:
        """Whether the process that heard the provider's answer lived long enough to write it down."""
        if sent.answered is None:
            return False
        life = next(one for one in self.lives if (one.server, one.life) == (sent.server, sent.life))
        if life.until is None:
            return True
        blocked = _overlap(self.outages, sent.answered, life.until)
        return life.until - sent.answered - blocked >= SURVIVES

    def troubled(self, since: int, until: int) -> bool:
        """Whether the Ledger was away for a part of it: a gate may have come into it late."""
        return _overlap(self.outages, since, until) > 0

    def paused(self, since: int, until: int) -> int:
        """How long, in all, a server stood still."""
        return _overlap(self.pauses, since, until)

    def open_between(self, since: int, until: int) -> int:
        """How long, in all, at least one server was up."""
        spans = [(one.since, one.until if one.until is not None else until) for one in self.lives]
        return _overlap(spans, since, until)


def _overlap(spans: Iterable[tuple[int, int]], since: int, until: int) -> int:
    """How much of [since, until] the spans cover together."""
    total, reached = 0, since
    for start, end in sorted(spans):
        low, high = max(start, reached), min(end, until)
        if high > low:
            total += high - low
            reached = high
    return total
