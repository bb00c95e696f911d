"""Signed pagination cursors, each bound to one user and one list."""

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
"""Bytes: 128 bits."""
LONGEST = 512
"""Maximum characters of a cursor."""


class CursorPosition(msgspec.Struct, frozen=True, array_like=True):
    """The sort key of the last item of a page, and when the page was created."""

    first: int
    second: int
    made_at: Instant


class CursorInvalid(msgspec.Struct, frozen=True, tag=True):
    """Not signed by us, or made for another user or list."""


class CursorExpired(msgspec.Struct, frozen=True, tag=True):
    """Valid, but too old."""


CursorResult: TypeAlias = CursorPosition | CursorInvalid | CursorExpired


def made(place: CursorPosition, bound_to: Mapping[str, str], key: bytes) -> str:
    """`bound_to` names the user and the list; it is signed but not included."""
    body = msgspec.json.encode(place)
    return base64.urlsafe_b64encode(_signature(body, bound_to, key) + body).rstrip(b"=").decode()


def read(text: str, bound_to: Mapping[str, str], key: bytes, now: Instant, lifetime: Span | None) -> CursorResult:
    try:
        if len(text) > LONGEST:
            return CursorInvalid()
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return CursorInvalid()
    signature, body = whole[:_SIGNATURE], whole[_SIGNATURE:]
    if not hmac.compare_digest(signature, _signature(body, bound_to, key)):
        return CursorInvalid()
    place = msgspec.json.decode(body, type=CursorPosition)
    return CursorExpired() if lifetime is not None and now - place.made_at > lifetime else place


def _signature(body: bytes, bound_to: Mapping[str, str], key: bytes) -> bytes:
    bound = msgspec.json.encode(sorted(bound_to.items()))
    return hmac.digest(key, b"cursor\0" + bound + b"\0" + body, hashlib.sha256)[:_SIGNATURE]
