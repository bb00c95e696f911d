"""Safe download of untrusted files: content type, file name and byte range."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

import msgspec

_INLINE = ("image/jpeg", "image/png", "image/webp", "image/gif")
_SAFE_DOCUMENTS = ("application/pdf",)
_PLAYED = re.compile(r"(audio|video)/[a-z0-9][a-z0-9.+-]{0,60}", re.ASCII)
BYTES = "application/octet-stream"
LONGEST_NAME = 120
_LONGEST_ENDING = 16

HEADERS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, max-age=86400, immutable",
    "accept-ranges": "bytes",
}
"""Sent with every file, so that no browser treats it as one of our pages."""

_ENDINGS: Mapping[str, str] = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/aac": ".aac",
    "audio/amr": ".amr",
    "audio/mp4": ".m4a",
    "video/mp4": ".mp4",
    "video/3gpp": ".3gp",
    "application/pdf": ".pdf",
}

_TOKEN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~")
"""Characters that RFC 5987 does not encode."""
_QUOTABLE = re.compile(r"[^ !#-\[\]-~]", re.ASCII)
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)


def served_type(kept: str) -> str:
    """The content type, limited to types that a browser shows without running scripts; SVG and HTML run scripts."""
    plain = kept.partition(";")[0].strip().lower()
    safe = plain in _INLINE or plain in _SAFE_DOCUMENTS or _PLAYED.fullmatch(plain)
    return plain if safe else BYTES


def shown_inline(served: str) -> bool:
    return served in _INLINE or _PLAYED.fullmatch(served) is not None


def file_name(given: str | None, media_id: int, served: str) -> str:
    """The customer's file name without its path, control and special characters, or a generated name."""
    last = re.split(r"[/\\]", given or "")[-1]
    printable = "".join(char for char in last if unicodedata.category(char)[0] not in "CZ" or char == " ")
    name = re.sub(r'[<>:"|?*%]', "_", printable).strip(" .")
    if not name:
        return f"media-{media_id}{_ENDINGS.get(served, '')}"
    if len(name) <= LONGEST_NAME:
        return name
    stem, dot, ending = name.rpartition(".")
    kept = dot + ending if stem and len(ending) <= _LONGEST_ENDING else ""
    return name[: LONGEST_NAME - len(kept)] + kept


def disposition(name: str, *, inline: bool) -> str:
    """RFC 6266: an ASCII name for old clients, the full name for all others."""
    plain = _QUOTABLE.sub("_", name)
    whole = "".join(chr(byte) if byte in _TOKEN else f"%{byte:02X}" for byte in name.encode("utf-8", "replace"))
    return f"{'inline' if inline else 'attachment'}; filename=\"{plain}\"; filename*=UTF-8''{whole}"


class ByteRange(msgspec.Struct, frozen=True):
    first: int
    last: int
    """Inclusive, as in HTTP."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class UnsatisfiableRange(msgspec.Struct, frozen=True):
    """The range begins after the end of the file."""


def part_of(asked: str, size: int) -> ByteRange | UnsatisfiableRange | None:
    """The range of a Range header; None to send the whole file, as for several ranges."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found.group(1) == found.group(2) == "":
        return None
    first, last = found.groups()
    if not first:
        length = min(int(last), size)
        return ByteRange(size - length, size - 1) if length else UnsatisfiableRange()
    if last and int(last) < int(first):
        return None
    return ByteRange(int(first), min(int(last or size), size - 1)) if int(first) < size else UnsatisfiableRange()


def has_tag(asked: str | None, tag: str) -> bool:
    """Whether an If-None-Match header contains our tag."""
    named = {each.strip().removeprefix("W/") for each in (asked or "").split(",")}
    return tag in named or "*" in named
