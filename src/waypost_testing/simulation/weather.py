"""What the network does to one request: drawn at once, when the request is sent."""

from __future__ import annotations

import random
from enum import Enum

import msgspec

from waypost.model.time import Span


class Outage(Enum):
    """How a host is out of order."""

    REFUSING = "refusing"
    """No connection is made."""
    SILENT = "silent"
    """Requests vanish, and so do answers on their way back."""
    ERRORS = "errors"
    """Every request is answered with 503; the app never sees it."""


class Loss(Enum):
    """How the caller learns of a loss."""

    SILENT = "silent"
    """Not at all: it waits until its timeout."""
    CUT = "cut"
    """The connection breaks."""


class NetworkConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities and ranges for one route. Different latencies reorder requests by themselves."""

    latency: tuple[Span, Span] = (Span(500), Span(5_000))
    """Each way, between these two."""
    delayed: float = 0.0
    """Each way, the chance of an extra delay between the two of `delay`."""
    delay: tuple[Span, Span] = (Span(100_000), Span(20_000_000))
    refused: float = 0.0
    """No connection is made, though the host is up."""
    request_lost: float = 0.0
    """The host never sees the request."""
    response_lost: float = 0.0
    """The host acts, its answer does not arrive."""
    cut: float = 0.5
    """The share of losses that show as a broken connection at once; the others show at the caller's timeout."""
    doubled: float = 0.0
    """The host sees the request twice; the caller gets whichever answer comes first."""


CALM = NetworkConditions()


class RequestCopy(msgspec.Struct, frozen=True):
    """The way of one copy of a request, and of its answer."""

    out: Span
    back: Span
    request_loss: Loss | None
    response_loss: Loss | None
    echo: bool
    """The second copy of a doubled request: its answer reaches the caller, its failure never does."""


class RequestFate(msgspec.Struct, frozen=True):
    refused: bool
    flights: tuple[RequestCopy, ...]


def draw(weather: NetworkConditions, rng: random.Random) -> RequestFate:
    """Always draws the same number of times, so that a changed probability affects no other request."""
    refused = rng.random() < weather.refused
    doubled = rng.random() < weather.doubled
    first, second = (_flight(weather, rng, echo=echo) for echo in (False, True))
    return RequestFate(refused=refused, flights=(first, second) if doubled and not refused else (first,))


def _flight(weather: NetworkConditions, rng: random.Random, *, echo: bool) -> RequestCopy:
    out, back = _way(weather, rng), _way(weather, rng)
    request_loss = _loss(weather.request_lost, weather.cut, rng)
    response_loss = _loss(weather.response_lost, weather.cut, rng)
    return RequestCopy(out, back, request_loss, response_loss, echo)


def _way(weather: NetworkConditions, rng: random.Random) -> Span:
    latency, delay = _between(weather.latency, rng), _between(weather.delay, rng)
    return Span(latency + delay) if rng.random() < weather.delayed else latency


def _loss(chance: float, cut: float, rng: random.Random) -> Loss | None:
    lost, loud = rng.random() < chance, rng.random() < cut
    if not lost:
        return None
    return Loss.CUT if loud else Loss.SILENT


def _between(bounds: tuple[Span, Span], rng: random.Random) -> Span:
    low, high = bounds
    return Span(low + int(rng.random() * (high - low + 1)))
