"""What is observable from outside: callers' requests and answers, and the traffic to and from the provider."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from waypost.model.time import Span, seconds

SURVIVES: Span = seconds(5)
"""A process that lives this long after receiving something, with a working Ledger, has stored it."""


class ObservedMessage(msgspec.Struct, rename="camel", kw_only=True):
    """A message as the API shows it: the fields that the checkers need."""

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


class ObservedAttempt(msgspec.Struct, kw_only=True):
    """An attempt as the API shows it; its `id` is the stamp that went to the provider."""

    id: str
    generation: int


@dataclass(kw_only=True)
class WantedMessage:
    """A message that a caller wants sent, under one idempotency key."""

    org: str
    key: str
    to: str
    stream: str | None = None
    """Ordered messages of one stream are submitted one by one, each after the one before was acknowledged."""
    place: int = 0
    template: bool = False
    """A template may go at any time; everything else only while the customer's window is open."""
    expires_at: int | None = None
    ids: set[int] = field(default_factory=set)
    """The ids in 2xx answers."""

    @property
    def text(self) -> str:
        """What the phone shows: it links the caller's request to the provider's record."""
        return f"{self.org}:{self.key}"


@dataclass(frozen=True)
class ObservedView:
    """An answer that showed a message: true at some moment between request and answer."""

    asked: int
    answered: int
    view: ObservedMessage


@dataclass(frozen=True)
class Retried:
    """A user asked for a new generation; it may have begun at any moment in between, regardless of the answer."""

    asked: int
    until: int


@dataclass(frozen=True)
class ProviderError:
    """A Graph error, as the answer showed it."""

    code: int
    retry_after: float | None


@dataclass(frozen=True)
class NumberSwitch:
    """An operator's change to a number: true at some moment between request and answer, or doubled later."""

    asked: int
    answered: int
    what: str
    """`on`, `off`, or `release` for a new token."""


@dataclass
class ProviderRequest:
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
    """Set only when the provider's acceptance reached the process that asked."""
    refused: ProviderError | None = None
    """The provider's answer, when it was a definite refusal."""
    unreached: bool = False
    """The request provably never left."""


@dataclass(frozen=True)
class PostedStatus:
    """One delivery of a status webhook by the provider."""

    at: int
    over: int
    wamid: str
    kind: str
    echo: bool
    ok: bool
    refused: bool = False
    """By the server itself, which could not store it."""


@dataclass
class ServerLife:
    """One life of a server, from the moment it listened."""

    server: str
    life: int
    since: int
    until: int | None = None


@dataclass
class SimulationRecord:
    now: Callable[[], int]
    wishes: dict[tuple[str, str], WantedMessage] = field(default_factory=dict)
    views: dict[tuple[str, int], list[ObservedView]] = field(default_factory=dict)
    retried: dict[tuple[str, int], list[Retried]] = field(default_factory=dict)
    cancelled: dict[tuple[str, int], int] = field(default_factory=dict)
    """When a cancel was answered 200."""
    sent: list[ProviderRequest] = field(default_factory=list)
    posted: dict[str, list[PostedStatus]] = field(default_factory=dict)
    """By wamid."""
    inbound: dict[str, bool] = field(default_factory=dict)
    """Customers' messages by wamid: whether the provider was answered 200."""
    words: dict[str, tuple[str, int]] = field(default_factory=dict)
    """What customers wrote and when, in seconds, by wamid."""
    written: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """(number, customer) -> when they wrote, by their messages' own time, in microseconds since 1970."""
    limits: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Org -> its quotas, each with the moment from which it applies."""
    consents: dict[tuple[str, str], list[tuple[int, bool]]] = field(default_factory=dict)
    """(org, customer) -> whether they may be written to, from when on; True while nothing is recorded."""
    switched: dict[str, list[NumberSwitch]] = field(default_factory=dict)
    """By number."""
    lives: list[ServerLife] = field(default_factory=list)
    outages: list[tuple[int, int]] = field(default_factory=list)
    """Of the Ledger."""
    starved: list[tuple[str, int, int]] = field(default_factory=list)
    """Servers that got no connection to the Ledger, and from when to when."""
    pauses: list[tuple[int, int]] = field(default_factory=list)
    """Of servers that were paused and resumed."""
    intrusions: int = 0
    breaches: list[str] = field(default_factory=list)
    """What an intruder could see or do."""
    surprises: list[str] = field(default_factory=list)
    """Answers that no caller should ever get."""
    faults: Counter[str] = field(default_factory=Counter)

    def add_view(self, org: str, asked: int, view: ObservedMessage) -> None:
        self.views.setdefault((org, view.id), []).append(ObservedView(asked, self.now(), view))

    def consent(self, org: str, customer: str, *, granted: bool) -> None:
        self.consents.setdefault((org, customer), []).append((self.now(), granted))

    def lived_on(self, sent: ProviderRequest) -> bool:
        """Whether the process that received the provider's answer lived long enough to store it."""
        if sent.answered is None:
            return False
        life = next(one for one in self.lives if (one.server, one.life) == (sent.server, sent.life))
        if life.until is None:
            return True
        blocked = _overlap([*self.outages, *self._starved(sent.server)], sent.answered, life.until)
        return life.until - sent.answered - blocked >= SURVIVES

    def troubled(self, since: int, until: int) -> bool:
        """Whether the Ledger was unavailable to a server for part of it: a gate may have been stored late."""
        return _overlap([*self.outages, *self._starved()], since, until) > 0

    def _starved(self, server: str | None = None) -> list[tuple[int, int]]:
        return [(since, until) for name, since, until in self.starved if server in (None, name)]

    def resumed(self, at: int, within: Span) -> int:
        """When a server that knew something at this moment had the time to store it: one may have stood still."""
        return max([at, *(end for start, end in sorted(self.pauses) if start <= at + within and end >= at)])

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
