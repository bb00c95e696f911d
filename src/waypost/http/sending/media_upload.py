"""/api/v1/outbound/media: media uploads."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Request, Router, post
from litestar.di import Provide

from waypost.flow.sending import media_upload, provider_calls
from waypost.http.edge.context import CurrentCaller, CurrentWorld, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.provider_calls import require_done, require_number
from waypost.http.sending.upload_form import LARGEST_BODY, UploadForm
from waypost.rules.content.media import LARGEST_OF_ALL

READ_WITHIN = 300.0
"""Seconds that a caller has to send a file: it keeps one of few places meanwhile."""


class UploadedMediaView(msgspec.Struct):
    id: str
    """For `{"type": "image", "image": {"id": …}}`; the provider keeps it for 30 days."""


@post(
    "/media",
    request_max_body_size=None,  # counted while it is read
    summary="Upload a file, to be sent by its id",
    responses=problems(400, 404, 408, 413, 415, 422, 502),
)
async def upload_media(
    request: Request[Any, Any, Any], caller: CurrentCaller, world: CurrentWorld
) -> UploadedMediaView:
    """A form with a part `file`, of a type that WhatsApp takes, and `from` where it is not the org's first number.

    Documents up to 100 MB, audio and video 16 MB, images 5 MB, stickers 500 KB.
    """
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > LARGEST_BODY:
        raise Problem(413, "too_large", f"file: at most {LARGEST_OF_ALL} bytes", field="file")
    form = UploadForm(world.ids.token(18))
    async with world.uploads:
        try:
            async with asyncio.timeout(READ_WITHIN):
                whole = await form.read(request.headers.get("content-type", ""), request.stream())
        except TimeoutError:
            raise Problem(408, "too_slow", f"the file did not arrive within {READ_WITHIN:g} s") from None
        number = require_number(await provider_calls.number_of(form.sender, caller.org_id, world))
        uploaded = require_done(await media_upload.upload(number, whole, world), number, world)
    return UploadedMediaView(uploaded.id or "")


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(writer)},
    tags=["Outbound"],
    route_handlers=[upload_media],
)
