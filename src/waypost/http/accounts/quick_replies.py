"""/api/v1/quick-replies: saved texts that the org's users share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NoReturn, assert_never

import msgspec
from litestar import Router, delete, get, put
from litestar.di import Provide
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import UNSET, Meta, UnsetType

from waypost.flow.accounts import quick_replies
from waypost.flow.operations.audit import actor_of
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.model.quick_reply import QuickReply
from waypost.model.time import to_datetime
from waypost.ports.accounts.quick_replies import QuickReplyGone, QuickReplyLimitReached, QuickReplyNameTaken
from waypost.rules.text.json_validation import InvalidField

WRITES: dict[str, Any] = {"caller": Provide(writer)}
QuickReplyNamePath = Annotated[
    str, PathParameter(description="1 to 40 characters, no white space, no slash; case-insensitive")
]
Replaced = Annotated[
    str,
    Meta(
        description="The existing quick reply to rename or rewrite; null creates a new one and replaces none. "
        "Omitted: replaces the quick reply of this name, or creates it"
    ),
]
_HELLO = {"text": "Hello {name}, how can I help?"}
_EXAMPLES = [
    Example(id="hello", summary="With the customer's name", value=_HELLO),
    Example(id="new", summary="A new one that replaces none", value=_HELLO | {"replaces": None}),
    Example(id="renamed", summary="Rename hi", value=_HELLO | {"replaces": "hi"}),
]


class PutQuickReply(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="1 to 4000 characters; the page replaces `{name}` by the customer's name")]
    replaces: Replaced | UnsetType | None = UNSET


class QuickReplyView(msgspec.Struct, kw_only=True):
    name: str
    text: str
    updated_at: datetime
    updated_by: str
    """Who changed it last: a user's or key's id, `cli` or `system`."""


class QuickReplyList(msgspec.Struct):
    quick_replies: list[QuickReplyView]


def _view(reply: QuickReply) -> QuickReplyView:
    return QuickReplyView(
        name=reply.name, text=reply.text, updated_at=to_datetime(reply.updated_at), updated_by=reply.updated_by
    )


@get("/quick-replies", summary="The org's quick replies", responses=problems())
async def list_quick_replies(caller: CurrentCaller, world: CurrentWorld) -> QuickReplyList:
    """By name."""
    return QuickReplyList([_view(reply) for reply in await quick_replies.quick_replies(caller.org_id, world)])


@put(
    "/quick-replies/{name:str}",
    dependencies=WRITES,
    summary="Add a quick reply, change it or rename it",
    responses=problems(400, 409, 413, 422),
)
async def put_quick_reply(
    name: QuickReplyNamePath,
    data: Annotated[PutQuickReply, Body(examples=_EXAMPLES)],
    caller: CurrentCaller,
    world: CurrentWorld,
) -> QuickReplyView:
    """Names are case-insensitive and shown as last written."""
    actor = actor_of(caller)
    answer = await quick_replies.put(caller.org_id, name, data.text, world, actor, replaces=data.replaces)
    return _view(answer) if isinstance(answer, QuickReply) else _refuse(answer)


def _refuse(answer: InvalidField | QuickReplyLimitReached | QuickReplyNameTaken | QuickReplyGone) -> NoReturn:
    match answer:
        case InvalidField(field, reason):
            raise Problem(422, "invalid_payload", f"{field}: {reason}", field=field)
        case QuickReplyLimitReached(most):
            detail = f"this org has {most} quick replies, the maximum: remove one first"
            raise Problem(409, "too_many_quick_replies", detail)
        case QuickReplyNameTaken(name):
            detail = f"name: the quick reply {name} has it: choose another name, or change that one"
            raise Problem(409, "quick_reply_taken", detail, field="name")
        case QuickReplyGone(name):
            detail = f"replaces: this org has no quick reply {name[:80]}: it was removed or renamed"
            raise Problem(409, "quick_reply_gone", detail, field="replaces")
        case _:
            assert_never(answer)


@delete("/quick-replies/{name:str}", dependencies=WRITES, summary="Remove a quick reply", responses=problems(404))
async def remove_quick_reply(name: QuickReplyNamePath, caller: CurrentCaller, world: CurrentWorld) -> None:
    if not await quick_replies.remove(caller.org_id, name, world, actor_of(caller)):
        raise Problem(404, "not_found", f"this org has no quick reply {name[:80]}")


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Quick replies"],
    route_handlers=[list_quick_replies, put_quick_reply, remove_quick_reply],
)
