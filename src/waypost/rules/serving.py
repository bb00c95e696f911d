"""How a stranger's file is handed out so that it can do no harm: its type, its name, the part that was asked for."""

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
"""On every file, so that no browser takes it for a page of ours."""

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
"""What RFC 5987 leaves as it is."""
_QUOTABLE = re.compile(r"[^ !#-\[\]-~]", re.ASCII)
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)


def served_type(kept: str) -> str:
    """Only what a browser shows or plays without running anything; SVG and HTML run scripts."""
    plain = kept.partition(";")[0].strip().lower()
    safe = plain in _INLINE or plain in _SAFE_DOCUMENTS or _PLAYED.fullmatch(plain)
    return plain if safe else BYTES


def shown_inline(served: str) -> bool:
    return served in _INLINE or _PLAYED.fullmatch(served) is not None


def file_name(given: str | None, media_id: int, served: str) -> str:
    """The last part of the customer's own name without anything that steers a terminal or a path, or one of ours."""
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
    """RFC 6266: a plain name for the old, the whole one for everybody else."""
    plain = _QUOTABLE.sub("_", name)
    whole = "".join(chr(byte) if byte in _TOKEN else f"%{byte:02X}" for byte in name.encode("utf-8", "replace"))
    return f"{'inline' if inline else 'attachment'}; filename=\"{plain}\"; filename*=UTF-8''{whole}"


class Part(msgspec.Struct, frozen=True):
    first: int
    last: int
    """Inclusive, as HTTP has it."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Unsatisfiable(msgspec.Struct, frozen=True):
    """The file ends before the part begins."""


def part_of(asked: str, size: int) -> Part | Unsatisfiable | None:
    """The one part that a Range header asks for; None where all of it is to be sent, as for several parts."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found.group(1) == found.group(2) == "":
        return None
    first, last = found.groups()
    if not first:
        length = min(int(last), size)
        return Part(size - length, size - 1) if length else Unsatisfiable()
    if last and int(last) < int(first):
        return None
    return Part(int(first), min(int(last or size), size - 1)) if int(first) < size else Unsatisfiable()


def has_tag(asked: str | None, tag: str) -> bool:
    """Whether an If-None-Match names what we have."""
    named = {each.strip().removeprefix("W/") for each in (asked or "").split(",")}
    return tag in named or "*" in named
