"""File types and sizes that the Cloud API accepts, and the upload form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from waypost.rules.text.json_validation import InvalidField

KB, MB = 1024, 1024 * 1024
_OFFICE = "application/vnd.openxmlformats-officedocument."
_SIZES: Mapping[int, str] = {
    5 * MB: "image/jpeg image/png",
    500 * KB: "image/webp",
    16 * MB: "audio/aac audio/amr audio/mp4 audio/mpeg audio/ogg audio/opus video/mp4 video/3gpp",
    100 * MB: "application/pdf text/plain application/msword application/vnd.ms-excel application/vnd.ms-powerpoint "
    f"{_OFFICE}wordprocessingml.document {_OFFICE}spreadsheetml.sheet {_OFFICE}presentationml.presentation",
}
LARGEST: Mapping[str, int] = {kind: size for size, kinds in _SIZES.items() for kind in kinds.split()}
"""Bytes, by type."""
LARGEST_OF_ALL = max(LARGEST.values())

_PLAIN = re.compile(r"[^A-Za-z0-9._ -]", re.ASCII)
_PARAMETERS = re.compile(r"[!-~ ]{0,100}", re.ASCII)
LONGEST_NAME = 100


def limit(kind: str) -> int | InvalidField:
    """How many bytes a file of this type may have; `audio/ogg; codecs=opus` is an `audio/ogg`."""
    found = LARGEST.get(kind.partition(";")[0].strip().lower())
    if found is None or not _PARAMETERS.fullmatch(kind):
        named = kind[:80] or "no type"
        return InvalidField(
            "file", f"has the type {named!r}; its part of the form must say one of {', '.join(LARGEST)}"
        )
    return found


def form_head(kind: str, filename: str | None, boundary: str) -> bytes:
    """The part of the form before the file's bytes."""
    name = _PLAIN.sub("_", filename or "")[-LONGEST_NAME:] or "file"
    lines = [
        f"--{boundary}",
        'content-disposition: form-data; name="messaging_product"',
        "",
        "whatsapp",
        f"--{boundary}",
        'content-disposition: form-data; name="type"',
        "",
        kind,
        f"--{boundary}",
        f'content-disposition: form-data; name="file"; filename="{name}"',
        f"content-type: {kind}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def form_tail(boundary: str) -> bytes:
    return f"\r\n--{boundary}--\r\n".encode()
