"""/api/v1/quick-replies: answers that the org's people give often, the same for all of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NoReturn, assert_never

import msgspec
from litestar import Router, delete, get, put
from litestar.di import Provide
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import UNSET, Meta, UnsetType

from waypost.flow import quick_replies
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.model.quick_reply import QuickReply
from waypost.model.time import to_datetime
from waypost.ports.quick_replies import Gone, NoRoom, Taken
from waypost.rules.shape import Invalid

WRITES: dict[str, Any] = {"caller": Provide(writer)}
Name = Annotated[
    str, PathParameter(description="1 to 40 characters, no white space, no slash; capitals make no difference")
]
Replaced = Annotated[
    str,
    Meta(
        description="the name of the one that gets this name and text; null for a new one, which replaces none. "
        "Left out, it replaces the one of this name, or is new"
    ),
]
_HELLO = {"text": "Hello {name}, how can I help?"}
_EXAMPLES = [
    Example(id="hello", summary="With the customer's name", value=_HELLO),
    Example(id="new", summary="A new one, never in place of a colleague's", value=_HELLO | {"replaces": None}),
    Example(id="renamed", summary="The one that was called hi until now", value=_HELLO | {"replaces": "hi"}),
]


class PutQuickReply(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="1 to 4000 characters; the page puts the customer's name for `{name}`")]
    replaces: Replaced | UnsetType | None = UNSET


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
    summary="Add a quick reply, change it or rename it",
    responses=problems(400, 409, 413, 422),
)
async def put_quick_reply(
    name: Name, data: Annotated[PutQuickReply, Body(examples=_EXAMPLES)], caller: Asking, world: Here
) -> QuickReplyView:
    """A name means the same in capitals and small letters, and is shown as it was last written."""
    actor = actor_of(caller)
    answer = await quick_replies.put(caller.org_id, name, data.text, world, actor, replaces=data.replaces)
    return _view(answer) if isinstance(answer, QuickReply) else _refuse(answer)


def _refuse(answer: Invalid | NoRoom | Taken | Gone) -> NoReturn:
    match answer:
        case Invalid(field, reason):
            raise Problem(422, "invalid_payload", f"{field}: {reason}", field=field)
        case NoRoom(most):
            detail = f"this org has {most} quick replies, as many as it may: remove one first"
            raise Problem(409, "too_many_quick_replies", detail)
        case Taken(name):
            detail = f"name: is that of the quick reply {name}: choose another, or change that one"
            raise Problem(409, "quick_reply_taken", detail, field="name")
        case Gone(name):
            detail = f"replaces: this org has no quick reply {name[:80]}: it was removed or renamed"
            raise Problem(409, "quick_reply_gone", detail, field="replaces")
        case _:
            assert_never(answer)


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
