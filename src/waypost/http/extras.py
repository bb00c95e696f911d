"""/api/v1/outbound: read receipts, typing indicators and media uploads."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Request, Router, post
from litestar.di import Provide
from litestar.params import Body
from msgspec import Meta

from waypost.flow import extras
from waypost.flow.numbers import Connected
from waypost.flow.submit import Refusal
from waypost.flow.world import World
from waypost.http.context import Asking, Here, writer
from waypost.http.documented import RECEIPT_EXAMPLES, problems
from waypost.http.problems import Problem
from waypost.http.upload_form import LARGEST_BODY, UploadForm
from waypost.model.outcome import Rejected
from waypost.ports.extras import Answered, Done
from waypost.rules.catalogue import Action
from waypost.rules.media import LARGEST_OF_ALL

READ_WITHIN = 300.0
"""Seconds that a caller has to send a file: it keeps one of few places meanwhile."""


class ReadReceipt(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The customer's message that was read; with `typing`, they also see that an answer is being typed."""

    message_id: Annotated[str, Meta(min_length=1, max_length=255, pattern="^[!-~]+$(?!\n)", examples=["wamid.HBgL"])]
    sender: Annotated[str, Meta(max_length=64)] | None = msgspec.field(default=None, name="from")
    typing: bool = False


class ReceiptView(msgspec.Struct):
    success: bool


class MediaView(msgspec.Struct):
    id: str
    """For `{"type": "image", "image": {"id": …}}`; the provider keeps it for 30 days."""


@post(
    "/read-receipts",
    status_code=200,
    summary="Mark a customer's message as read",
    responses=problems(400, 404, 413, 422, 502),
)
async def mark_read(
    data: Annotated[ReadReceipt, Body(examples=RECEIPT_EXAMPLES)], caller: Asking, world: Here
) -> ReceiptView:
    """Told to the provider at once, not queued; trouble on the way is tried three times."""
    number = _found(await extras.number_of(data.sender, caller.org_id, world, only=True))
    _done(await extras.mark_read(number, data.message_id, data.typing, world), number, world)
    return ReceiptView(success=True)


@post(
    "/media",
    request_max_body_size=None,  # counted while it is read
    summary="Upload a file, to be sent by its id",
    responses=problems(400, 404, 408, 413, 415, 422, 502),
)
async def upload_media(request: Request[Any, Any, Any], caller: Asking, world: Here) -> MediaView:
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
        number = _found(await extras.number_of(form.sender, caller.org_id, world))
        done = _done(await extras.upload(number, whole, world), number, world)
    return MediaView(done.id or "")


def _found(number: Connected | Refusal) -> Connected:
    if isinstance(number, Refusal):
        status = 404 if number.code == "unknown_number" else 422
        raise Problem(status, number.code, f"{number.field}: {number.reason}", field=number.field)
    return number


def _done(answered: Answered, number: Connected, world: World) -> Done:
    """What the provider refused for good is the caller's to mend; everything else is trouble behind us."""
    if isinstance(answered, Done):
        return answered
    if isinstance(answered, Rejected):
        action = world.catalogues[number.number.error_catalogue].action(answered.code)
        status = 422 if action is Action.FAIL else 502
        raise Problem(status, "provider_refused", f"the provider refused it: {answered.code} {answered.message}")
    raise Problem(502, "provider_unreachable", f"the provider did not answer: {answered.reason}; send it again")


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(writer)},
    tags=["Outbound"],
    route_handlers=[mark_read, upload_media],
)
