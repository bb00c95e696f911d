"""Parses multipart/form-data bodies."""

from __future__ import annotations

from email.message import Message
from email.parser import HeaderParser

import msgspec


class FormPart(msgspec.Struct, frozen=True):
    content: bytes
    filename: str | None
    content_type: str | None


def parts_of(content_type: str, body: bytes) -> dict[str, FormPart] | None:
    """The parts by name, or None if this is not a multipart form."""
    outer = Message()
    outer["content-type"] = content_type
    boundary = outer.get_boundary()
    if outer.get_content_type() != "multipart/form-data" or not boundary:
        return None
    # The first delimiter has no line break before it; adding one makes all of them alike.
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1"))
    named = [_part(piece.lstrip(b" \t").removeprefix(b"\r\n")) for piece in pieces if not piece.startswith(b"--")]
    return {name: part for name, part in named if name is not None}


def _part(piece: bytes) -> tuple[str | None, FormPart]:
    head, _, content = piece.partition(b"\r\n\r\n")
    headers = HeaderParser().parsestr(head.decode("utf-8", "replace"))
    name = headers.get_param("name", header="content-disposition")
    declared = headers.get("content-type")
    return (
        name if isinstance(name, str) else None,
        FormPart(content, headers.get_filename(), str(declared) if declared else None),
    )
