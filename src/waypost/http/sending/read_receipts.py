"""/api/v1/outbound/read-receipts: read receipts and typing indicators."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, post
from litestar.di import Provide
from litestar.params import Body
from msgspec import Meta

from waypost.flow.sending import provider_calls, read_receipts
from waypost.http.edge.context import CurrentCaller, CurrentWorld, writer
from waypost.http.edge.route_docs import problems
from waypost.http.sending.examples import RECEIPT_EXAMPLES
from waypost.http.sending.provider_calls import require_done, require_number


class ReadReceipt(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The customer's message that was read; with `typing`, they also see that an answer is being typed."""

    message_id: Annotated[str, Meta(min_length=1, max_length=255, pattern="^[!-~]+$(?!\n)", examples=["wamid.HBgL"])]
    sender: Annotated[str, Meta(max_length=64)] | None = msgspec.field(default=None, name="from")
    typing: bool = False


class ReceiptView(msgspec.Struct):
    success: bool


@post(
    "/read-receipts",
    status_code=200,
    summary="Mark a customer's message as read",
    responses=problems(400, 404, 413, 422, 502),
)
async def mark_read(
    data: Annotated[ReadReceipt, Body(examples=RECEIPT_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> ReceiptView:
    """Told to the provider at once, not queued; trouble on the way is tried three times."""
    number = require_number(await provider_calls.number_of(data.sender, caller.org_id, world, only=True))
    require_done(await read_receipts.mark_read(number, data.message_id, data.typing, world), number, world)
    return ReceiptView(success=True)


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(writer)},
    tags=["Outbound"],
    route_handlers=[mark_read],
)
