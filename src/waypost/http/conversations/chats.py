"""/api/v1: chats, members, posts, notes, read markers and assignment."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from litestar import Response, delete, patch, post
from litestar.di import Provide
from litestar.params import Body, FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from waypost.flow.conversations import inbox
from waypost.flow.conversations import post as posting
from waypost.flow.sending.submit import SubmitRefusal
from waypost.http.conversations.chat_examples import CHAT_EXAMPLES, POST_EXAMPLES, WORK_EXAMPLES
from waypost.http.conversations.conversation_views import ConversationView
from waypost.http.conversations.conversations import ConversationPath, conversation_of, missing, shown_conversation
from waypost.http.edge.context import CurrentCaller, CurrentWorld, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.model.chat import MOST_MEMBERS, Chat, ChatKind, MemberChange, WorkChange
from waypost.model.ids import UserId
from waypost.model.time import to_datetime
from waypost.ports.conversations.chats import ChatMessageNotFound, ChatNotFound, GroupFull, NotTheAuthor, Posted
from waypost.rules.conversations import entry_ids
from waypost.rules.conversations.entry_ids import EntryId

UserIdText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
LabelText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
TitleText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
WRITES = {"caller": Provide(writer)}
_STATUS = {"idempotency_conflict": 409}


class OpenChat(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    kind: Literal["direct", "group"]
    members: Annotated[list[UserIdText], Meta(max_length=MOST_MEMBERS)]
    title: TitleText | None = None
    history: Literal["all", "joined"] = "all"
    """What a later member may read: everything, or messages since they joined."""


class ChangeConversation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    assignee: UserIdText | UnsetType | None = UNSET
    state: Literal["open", "closed"] | UnsetType = UNSET
    labels: Annotated[list[LabelText], Meta(max_length=50)] | UnsetType = UNSET
    title: TitleText | UnsetType | None = UNSET


class ChangeMembers(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    add: Annotated[list[UserIdText], Meta(max_length=MOST_MEMBERS)] = []
    remove: Annotated[list[UserIdText], Meta(max_length=MOST_MEMBERS)] = []


class Members(msgspec.Struct):
    members: list[str]


class PostMessage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    client_message_id: Annotated[str, Meta(min_length=1, max_length=posting.LONGEST_ID)]
    """The client's own id for the message: sending it again does not post twice."""
    conversation_id: str
    content: dict[str, Any]


class PostedView(msgspec.Struct, kw_only=True):
    message_id: str
    conversation_id: str
    client_message_id: str | None
    """Null for a note."""
    position: int
    timestamp: datetime
    duplicate: bool


class WriteNote(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    text: str


class ReadTo(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    message_id: str


class ReadView(msgspec.Struct, kw_only=True):
    conversation_id: str
    position: int
    """How far the caller has read."""


@post("/conversations", dependencies=WRITES, summary="Open a chat", responses=problems(400, 403, 413, 422))
async def open_chat(
    data: Annotated[OpenChat, Body(examples=CHAT_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> ConversationView:
    """The caller becomes a member. Two users have one direct chat: opening it again returns the same one."""
    opened = await inbox.open_chat(caller, ChatKind(data.kind), data.members, data.title, data.history, world)
    match opened:
        case Chat():
            return await shown_conversation(opened.id, caller, world)
        case inbox.UserRequired():
            raise _user_required()
        case inbox.InvalidDirectChat():
            raise Problem(
                422, "invalid_members", "members: a direct chat has exactly one other member", field="members"
            )
        case inbox.UnknownUsers():
            raise _unknown("members", opened)
        case GroupFull():
            raise _too_many()


def _user_required() -> Problem:
    return Problem(403, "wrong_role", "this endpoint needs a user token, not an API key")


def _unknown(field: str, unknown: inbox.UnknownUsers) -> Problem:
    named = ", ".join(user[:64] for user in unknown.users[:5])
    return Problem(422, "unknown_user", f"{field}: this org has no user {named}", field=field)


def _too_many() -> Problem:
    return Problem(422, "too_many_members", f"members: a group holds at most {MOST_MEMBERS}", field="members")


@patch(
    "/conversations/{conversation_id:str}",
    dependencies=WRITES,
    summary="Assign, close, label or rename a conversation",
    responses=problems(400, 404, 413, 422),
)
async def change_conversation(
    conversation_id: ConversationPath,
    data: Annotated[ChangeConversation, Body(examples=WORK_EXAMPLES)],
    caller: CurrentCaller,
    world: CurrentWorld,
) -> ConversationView:
    """`assignee`, `state` and `labels` are for customer conversations, `title` for groups."""
    where = conversation_of(conversation_id)
    before = await shown_conversation(where, caller, world)
    if before.kind == "customer":
        if data.title is not UNSET:
            raise Problem(422, "invalid_payload", "title: only group chats can be renamed", field="title")
        change = WorkChange(
            assignee=data.assignee if not isinstance(data.assignee, str) else UserId(data.assignee),
            state=data.state,
            labels=UNSET if data.labels is UNSET else tuple(dict.fromkeys(data.labels)),
        )
        worked = await inbox.change_work(caller, where, change, world)
        if isinstance(worked, inbox.UnknownUsers):
            raise _unknown("assignee", worked)
        if isinstance(worked, ChatNotFound):
            raise missing()
    else:
        await _rename(conversation_id, data, caller, world)
    return await shown_conversation(where, caller, world)


async def _rename(conversation_id: str, data: ChangeConversation, caller: CurrentCaller, world: CurrentWorld) -> None:
    given = [name for name in ("assignee", "state", "labels") if getattr(data, name) is not UNSET]
    if given:
        raise Problem(422, "invalid_payload", f"{given[0]}: only for customer conversations", field=given[0])
    if data.title is UNSET:
        return
    renamed = await inbox.rename(caller, conversation_of(conversation_id), data.title, world)
    if isinstance(renamed, inbox.NotAGroup):
        raise _not_a_group()
    if isinstance(renamed, ChatNotFound):
        raise missing()


def _not_a_group() -> Problem:
    return Problem(422, "not_a_group", "a direct chat has two members and no title: open a group instead")


@post(
    "/conversations/{conversation_id:str}/members",
    status_code=200,
    dependencies=WRITES,
    summary="Add or remove members of a group",
    responses=problems(400, 404, 413, 422),
)
async def change_members(
    conversation_id: ConversationPath, data: JSONBody[ChangeMembers], caller: CurrentCaller, world: CurrentWorld
) -> Members:
    """A removed member gets no later message. Remove yourself to leave."""
    change = MemberChange(add=tuple(map(UserId, data.add)), remove=tuple(map(UserId, data.remove)))
    changed = await inbox.change_members(caller, conversation_of(conversation_id), change, world)
    match changed:
        case ChatNotFound():
            raise missing()
        case GroupFull():
            raise _too_many()
        case inbox.UnknownUsers():
            raise _unknown("add", changed)
        case inbox.NotAGroup():
            raise _not_a_group()
        case _:
            return Members([member.user_id for member in changed])


@post("/messages", dependencies=WRITES, summary="Post a message", responses=problems(400, 404, 409, 413, 422))
async def post_message(
    data: Annotated[PostMessage, Body(examples=POST_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> Response[PostedView]:
    """A message to a customer is sent through the outbox. 201 when new, 200 when it was posted before."""
    request = posting.PostRequest(
        client_message_id=data.client_message_id,
        conversation_id=conversation_of(data.conversation_id),
        content=data.content,
    )
    view = _posted(await posting.post(request, caller, world), data.client_message_id)
    return Response(view, status_code=200 if view.duplicate else 201)


def _posted(answer: Posted | SubmitRefusal | ChatNotFound, name: str | None) -> PostedView:
    if isinstance(answer, ChatNotFound):
        raise missing()
    if isinstance(answer, SubmitRefusal):
        status = _STATUS.get(answer.code, 422)
        raise Problem(status, answer.code, f"{answer.field}: {answer.reason}", field=answer.field)
    named = EntryId(conversation_id=answer.conversation_id, position=answer.position, id_at=answer.id_at)
    return PostedView(
        message_id=entry_ids.made(named),
        conversation_id=str(answer.conversation_id),
        client_message_id=name,
        position=answer.position,
        timestamp=to_datetime(answer.id_at),
        duplicate=answer.duplicate,
    )


@post(
    "/conversations/{conversation_id:str}/notes",
    dependencies=WRITES,
    summary="Add a note that only the team sees",
    responses=problems(400, 404, 413, 422),
)
async def write_note(
    conversation_id: ConversationPath, data: JSONBody[WriteNote], caller: CurrentCaller, world: CurrentWorld
) -> PostedView:
    answer = await posting.note(data.text, conversation_of(conversation_id), caller, world)
    return _posted(answer, None)


@post(
    "/conversations/{conversation_id:str}/read",
    status_code=200,
    dependencies=WRITES,
    summary="Mark a conversation as read up to a message",
    responses=problems(400, 403, 404, 413, 422),
)
async def mark_read(
    conversation_id: ConversationPath, data: JSONBody[ReadTo], caller: CurrentCaller, world: CurrentWorld
) -> ReadView:
    """Applies to all of the caller's devices; the marker only moves forward."""
    where, message = conversation_of(conversation_id), entry_ids.read(data.message_id)
    read = await inbox.read_up_to(caller, where, message, world)
    match read:
        case inbox.UserRequired():
            raise _user_required()
        case ChatNotFound():
            raise missing()
        case ChatMessageNotFound():
            raise Problem(
                422, "invalid_payload", "message_id: this conversation has no such message", field="message_id"
            )
        case _:
            return ReadView(conversation_id=conversation_id, position=read.position)


@delete(
    "/messages/{message_id:str}",
    status_code=204,
    dependencies=WRITES,
    summary="Delete a message",
    responses=problems(403, 404),
)
async def delete_message(message_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    """A tombstone takes its place. It is not deleted from a customer's phone."""
    message = entry_ids.read(message_id)
    erased = await inbox.erase(caller, message, world) if message is not None else ChatMessageNotFound()
    match erased:
        case ChatNotFound() | ChatMessageNotFound():
            raise Problem(404, "not_found", "there is no such message")
        case NotTheAuthor():
            raise Problem(
                403, "not_yours", "only its author, or an admin in a customer conversation, can delete a message"
            )
        case None:
            return


HANDLERS = [
    open_chat,
    change_conversation,
    change_members,
    post_message,
    write_note,
    mark_read,
    delete_message,
]
