"""A customer's file: where it may be fetched from, whether it is the right one, and what becomes of a try."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple, TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId
from waypost.model.time import Instant, Span, days, hours, seconds
from waypost.rules.media import LARGEST

KEPT_BY_PROVIDER: Span = days(7)
"""So long the id of a webhook stands for a file."""
FIRST_WAIT: Span = seconds(1)
LONGEST_WAIT: Span = hours(1)
JITTER = 0.1
MOST_MISMATCHES = 5
"""A file that is not what was told may be a bad copy on the way; not five times."""
UNKNOWN_TYPE = "application/octet-stream"

PROVIDER_DOMAINS = ("fbsbx.com", "facebook.com", "whatsapp.net")
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_MOST_DOUBLINGS = 20


class Stored(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    key: str
    size: int
    sha256: str
    mime_type: str


class Later(msgspec.Struct, frozen=True, tag=True):
    at: Instant
    reason: str


class Never(msgspec.Struct, frozen=True, tag=True):
    reason: str


Verdict: TypeAlias = Stored | Later | Never


class Trouble(msgspec.Struct, frozen=True):
    """Why a try brought no file."""

    reason: str
    hopeless: bool = False
    """No later try can bring it."""
    mismatch: bool = False


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int


def may_get_token(link: Origin, graph: Origin) -> bool:
    """Our token goes back where we send it anyway, or to the provider's own hosts over TLS; nowhere else.

    So a link that names another host, or an address inside our network, is never followed.
    """
    if link == graph:
        return True
    host = link.host.lower().removesuffix(".")
    named = any(host == domain or host.endswith(f".{domain}") for domain in PROVIDER_DOMAINS)
    return named and (link.scheme, link.port) == ("https", 443)


def judge(trouble: Trouble, file: MediaFile, now: Instant, dice: float) -> Later | Never:
    """What becomes of a file whose latest try brought trouble; `file.tries` counts that try."""
    if trouble.hopeless or (trouble.mismatch and file.tries >= MOST_MISMATCHES):
        return Never(trouble.reason)
    again_at = Instant(now + wait_after(file.tries, dice))
    if again_at >= file.created_at + KEPT_BY_PROVIDER:
        return Never(f"not fetched while the provider kept it: {trouble.reason}")
    return Later(again_at, trouble.reason)


def wait_after(tries: int, dice: float) -> Span:
    doubled = FIRST_WAIT << min(max(tries, 1) - 1, _MOST_DOUBLINGS)
    return Span(round(min(doubled, LONGEST_WAIT) * (1 + JITTER * dice)))


def checksum(told: str | None) -> str | None:
    """In hex, however it was told: the API says hex, a webhook base64; None for what is neither."""
    if told is None:
        return None
    if _HEX.fullmatch(told):
        return told.lower()
    try:
        digest = base64.b64decode(told, altchars=b"-_" if {"-", "_"} & set(told) else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest.hex() if len(digest) == 32 else None


def mismatched(sha256: str, *told: str | None) -> Trouble | None:
    """Whether the bytes are other ones than somebody told; what cannot be read as a checksum tells nothing."""
    known = {read for each in told if (read := checksum(each)) is not None}
    return Trouble("its checksum is not the one that was told", mismatch=True) if known - {sha256} else None


def too_large(size: int | None, limit: int) -> Trouble | None:
    if size is None or size <= limit:
        return None
    return Trouble(f"it has {size} bytes, at most {limit} are taken", hopeless=True)


def kept_type(told: str, by_the_link: str | None = None) -> str:
    """A type that the provider documents, without its parameters; any other is only bytes to us.

    What a webhook told counts; of a file of our own, only the link tells.
    """
    told = by_the_link if by_the_link is not None and told == UNKNOWN_TYPE else told
    plain = told.partition(";")[0].strip().lower()
    return plain if plain in LARGEST else UNKNOWN_TYPE


def shelf_key(org: OrgId, media: MediaId, sha256: str) -> str:
    """Ours alone: nothing of what a customer wrote is in it."""
    return f"{org}/{sha256[:2]}/{media}"
