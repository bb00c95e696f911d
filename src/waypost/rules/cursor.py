"""Where a list goes on: an opaque text that only we can make, for one person and one list."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from waypost.model.time import Instant, Span

_SIGNATURE = 16
"""Bytes: 128 bits, which nobody guesses."""
LONGEST = 512
"""Characters of a text that can be one of ours."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """The last one of a page by what the list is ordered by, and when the page was made."""

    first: int
    second: int
    made_at: Instant


class Forged(msgspec.Struct, frozen=True, tag=True):
    """Not one of ours, or made for somebody else or another list."""


class Expired(msgspec.Struct, frozen=True, tag=True):
    """It was ours, and is too old."""


Read: TypeAlias = Place | Forged | Expired


def made(place: Place, bound_to: Mapping[str, str], key: bytes) -> str:
    """`bound_to` says whose and of which list: it is signed, and not shown."""
    body = msgspec.json.encode(place)
    return base64.urlsafe_b64encode(_signature(body, bound_to, key) + body).rstrip(b"=").decode()


def read(text: str, bound_to: Mapping[str, str], key: bytes, now: Instant, lifetime: Span | None) -> Read:
    try:
        if len(text) > LONGEST:
            return Forged()
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return Forged()
    signature, body = whole[:_SIGNATURE], whole[_SIGNATURE:]
    if not hmac.compare_digest(signature, _signature(body, bound_to, key)):
        return Forged()
    place = msgspec.json.decode(body, type=Place)
    return Expired() if lifetime is not None and now - place.made_at > lifetime else place


def _signature(body: bytes, bound_to: Mapping[str, str], key: bytes) -> bytes:
    bound = msgspec.json.encode(sorted(bound_to.items()))
    return hmac.digest(key, b"cursor\0" + bound + b"\0" + body, hashlib.sha256)[:_SIGNATURE]
