"""Streams a caller's upload into the form for the provider, without a second copy of the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

from multipart import (  # type: ignore[import-untyped]  # the library is not marked as typed
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)

from waypost.http.edge.problems import Problem
from waypost.ports.sending.provider_extras import MultipartForm
from waypost.rules.content.media import LARGEST_OF_ALL, form_head, form_tail, limit
from waypost.rules.text.json_validation import InvalidField

FRAME = 64 * 1024
"""Bytes that a form may have beside its file."""
LARGEST_BODY = LARGEST_OF_ALL + FRAME
LONGEST_FIELD = 64


class UploadForm:
    def __init__(self, boundary: str) -> None:
        self._boundary = boundary
        self._out = BytesIO()  # returns its bytes without copying them
        self._field: str | None = None
        self._size = 0
        self._most: int | None = None
        self.sender: str | None = None

    async def read(self, content_type: str, chunks: AsyncIterator[bytes]) -> MultipartForm:
        kind, options = parse_options_header(content_type)
        if kind != "multipart/form-data" or not options.get("boundary"):
            raise Problem(415, "unsupported_type", "send the file as multipart/form-data, in a part named file")
        total = 0
        try:
            with PushMultipartParser(options["boundary"], max_segment_count=8, strict=True) as parser:
                async for chunk in chunks:
                    total += len(chunk)
                    if total > LARGEST_BODY:
                        raise _too_large(LARGEST_OF_ALL)
                    for event in parser.parse(chunk) if chunk else ():
                        self._take(event)
        except MultipartError as error:
            raise Problem(400, "invalid_form", f"the form is invalid: {error}") from error
        return self._finished()

    def _take(self, event: Any) -> None:
        if isinstance(event, MultipartSegment):
            self._begin(event)
        elif event is None:
            self._field = None
        elif self._field == "file":
            self._add(event)
        elif self._field == "from":
            self.sender = ((self.sender or "") + event.decode("utf-8", "replace"))[: LONGEST_FIELD + 1]

    def _begin(self, part: MultipartSegment) -> None:
        self._field = part.name
        if part.name != "file":
            return
        if self._most is not None:
            raise Problem(422, "invalid_payload", "file: send one file per request", field="file")
        kind = part.content_type or ""
        most = limit(kind)
        if isinstance(most, InvalidField):
            raise Problem(422, "invalid_payload", f"{most.field}: {most.reason}", field=most.field)
        self._most = most
        self._out.write(form_head(kind, part.filename, self._boundary))

    def _add(self, content: bytes) -> None:
        self._size += len(content)
        if self._most is not None and self._size > self._most:
            raise _too_large(self._most)
        self._out.write(content)

    def _finished(self) -> MultipartForm:
        if not self._size:
            raise Problem(422, "invalid_payload", "file: is required and must not be empty", field="file")
        self._out.write(form_tail(self._boundary))
        return MultipartForm(self._boundary, self._out.getvalue())


def _too_large(most: int) -> Problem:
    return Problem(413, "too_large", f"file: a file of this type may have at most {most} bytes", field="file")
