"""/api/v1/quick-replies: answers that the org's people give often, the same for all of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, put
from litestar.di import Provide
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import Meta

from waypost.flow import quick_replies
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.model.quick_reply import QuickReply
from waypost.model.time import to_datetime
from waypost.ports.quick_replies import NoRoom
from waypost.rules.shape import Invalid

WRITES: dict[str, Any] = {"caller": Provide(writer)}
Name = Annotated[
    str, PathParameter(description="1 to 40 characters, no white space, no slash; capitals make no difference")
]
_EXAMPLES = [Example(id="hello", summary="With the customer's name", value={"text": "Hello {name}, how can I help?"})]


class PutQuickReply(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="1 to 4000 characters; the page puts the customer's name for `{name}`")]


class QuickReplyView(msgspec.Struct, kw_only=True):
    name: str
    text: str
    updated_at: datetime
    updated_by: str
    """Of whoever wrote it last: a user's or a key's id, `cli` or `system`."""


class QuickReplyList(msgspec.Struct):
    quick_replies: list[QuickReplyView]


def _view(reply: QuickReply) -> QuickReplyView:
    return QuickReplyView(
        name=reply.name, text=reply.text, updated_at=to_datetime(reply.updated_at), updated_by=reply.updated_by
    )


@get("/quick-replies", summary="The org's quick replies", responses=problems())
async def list_quick_replies(caller: Asking, world: Here) -> QuickReplyList:
    """By name."""
    return QuickReplyList([_view(reply) for reply in await world.ledger.quick_replies.of(caller.org_id)])


@put(
    "/quick-replies/{name:str}",
    dependencies=WRITES,
    summary="Add a quick reply, or change it",
    responses=problems(400, 409, 413, 422),
)
async def put_quick_reply(
    name: Name, data: Annotated[PutQuickReply, Body(examples=_EXAMPLES)], caller: Asking, world: Here
) -> QuickReplyView:
    """A name means the same in capitals and small letters, and is shown as it was last written."""
    answer = await quick_replies.put(caller.org_id, name, data.text, world, actor_of(caller))
    if isinstance(answer, Invalid):
        raise Problem(422, "invalid_payload", f"{answer.field}: {answer.reason}", field=answer.field)
    if isinstance(answer, NoRoom):
        detail = f"this org has {answer.most} quick replies, as many as it may: remove one first"
        raise Problem(409, "too_many_quick_replies", detail)
    return _view(answer)


@delete("/quick-replies/{name:str}", dependencies=WRITES, summary="Remove a quick reply", responses=problems(404))
async def remove_quick_reply(name: Name, caller: Asking, world: Here) -> None:
    if not await quick_replies.remove(caller.org_id, name, world, actor_of(caller)):
        raise Problem(404, "not_found", f"this org has no quick reply {name[:80]}")


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Quick replies"],
    route_handlers=[list_quick_replies, put_quick_reply, remove_quick_reply],
)
