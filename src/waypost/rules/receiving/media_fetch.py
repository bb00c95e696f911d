"""Fetching of customers' files: allowed hosts, checksums and retries."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple, TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId
from waypost.model.time import Instant, Span, days, hours, seconds
from waypost.rules.content.media import LARGEST

KEPT_BY_PROVIDER: Span = days(7)
"""How long a media id from a webhook is valid."""
FIRST_WAIT: Span = seconds(1)
LONGEST_WAIT: Span = hours(1)
JITTER = 0.1
MOST_MISMATCHES = 5
"""A wrong checksum may be a transfer error, but not this many times."""
UNKNOWN_TYPE = "application/octet-stream"

PROVIDER_DOMAINS = ("fbsbx.com", "facebook.com", "whatsapp.net")
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_MOST_DOUBLINGS = 20


class FileStored(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    key: str
    size: int
    sha256: str
    mime_type: str


class FetchLater(msgspec.Struct, frozen=True, tag=True):
    at: Instant
    reason: str


class FetchAbandoned(msgspec.Struct, frozen=True, tag=True):
    reason: str


FetchVerdict: TypeAlias = FileStored | FetchLater | FetchAbandoned


class FetchFailure(msgspec.Struct, frozen=True):
    """Why an attempt failed."""

    reason: str
    hopeless: bool = False
    """A retry cannot succeed."""
    mismatch: bool = False


class LinkOrigin(NamedTuple):
    scheme: str
    host: str
    port: int


def may_get_token(link: LinkOrigin, graph: LinkOrigin) -> bool:
    """The token is sent only to our Graph API address, or to the provider's hosts over TLS.

    So a link to another host, or to an address inside our network, is never followed.
    """
    if link == graph:
        return True
    host = link.host.lower().removesuffix(".")
    named = any(host == domain or host.endswith(f".{domain}") for domain in PROVIDER_DOMAINS)
    return named and (link.scheme, link.port) == ("https", 443)


def judge(trouble: FetchFailure, file: MediaFile, now: Instant, random: float) -> FetchLater | FetchAbandoned:
    """The verdict after a failed attempt; `file.tries` includes that attempt."""
    if trouble.hopeless or (trouble.mismatch and file.tries >= MOST_MISMATCHES):
        return FetchAbandoned(trouble.reason)
    again_at = Instant(now + wait_after(file.tries, random))
    if again_at >= file.created_at + KEPT_BY_PROVIDER:
        return FetchAbandoned(f"not fetched while the provider kept it: {trouble.reason}")
    return FetchLater(again_at, trouble.reason)


def wait_after(attempts: int, random: float) -> Span:
    doubled = FIRST_WAIT << min(max(attempts, 1) - 1, _MOST_DOUBLINGS)
    return Span(round(min(doubled, LONGEST_WAIT) * (1 + JITTER * random)))


def checksum(declared: str | None) -> str | None:
    """A SHA-256 in hex; the API gives hex, a webhook base64. None for anything else."""
    if declared is None:
        return None
    if _HEX.fullmatch(declared):
        return declared.lower()
    try:
        digest = base64.b64decode(declared, altchars=b"-_" if {"-", "_"} & set(declared) else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest.hex() if len(digest) == 32 else None


def mismatched(sha256: str, *declared: str | None) -> FetchFailure | None:
    """A failure if a declared checksum differs; unreadable checksums are ignored."""
    known = {read for each in declared if (read := checksum(each)) is not None}
    return FetchFailure("its checksum is not the one the provider gave", mismatch=True) if known - {sha256} else None


def too_large(size: int | None, limit: int) -> FetchFailure | None:
    if size is None or size <= limit:
        return None
    return FetchFailure(f"it has {size} bytes, at most {limit} are allowed", hopeless=True)


def kept_type(declared: str, by_the_link: str | None = None) -> str:
    """A media type that the provider documents, without parameters; any other is stored as bytes.

    The webhook's type takes precedence; our own uploads have only the link's.
    """
    declared = by_the_link if by_the_link is not None and declared == UNKNOWN_TYPE else declared
    plain = declared.partition(";")[0].strip().lower()
    return plain if plain in LARGEST else UNKNOWN_TYPE


def shelf_key(org: OrgId, media: MediaId, sha256: str) -> str:
    """The blob store key; contains nothing that a customer chose."""
    return f"{org}/{sha256[:2]}/{media}"
