"""/api/v1: what people do in conversations: chats, members, posts, notes, reading, and the team's work."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from litestar import Response, delete, patch, post
from litestar.di import Provide
from litestar.params import Body, FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from waypost.flow import inbox
from waypost.flow import post as posting
from waypost.flow.submit import Refusal
from waypost.http.chat_examples import CHAT_EXAMPLES, POST_EXAMPLES, WORK_EXAMPLES
from waypost.http.context import Asking, Here, writer
from waypost.http.conversation_views import ConversationView
from waypost.http.conversations import ConversationPath, conversation_of, missing, shown_conversation
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.model.chat import MOST_MEMBERS, Chat, ChatKind, MemberChange, WorkChange
from waypost.model.ids import UserId
from waypost.model.time import to_datetime
from waypost.ports.chats import NoChat, NoMessage, NotYours, Posted, TooMany
from waypost.rules import entry_ids
from waypost.rules.entry_ids import EntryId

Person: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Title: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
WRITES = {"caller": Provide(writer)}
_STATUS = {"idempotency_conflict": 409}


class OpenChat(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    kind: Literal["direct", "group"]
    members: Annotated[list[Person], Meta(max_length=MOST_MEMBERS)]
    title: Title | None = None
    history: Literal["all", "joined"] = "all"
    """What those who join a group later may read: everything, or what came since."""


class ChangeConversation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    assignee: Person | UnsetType | None = UNSET
    state: Literal["open", "closed"] | UnsetType = UNSET
    labels: Annotated[list[Label], Meta(max_length=50)] | UnsetType = UNSET
    title: Title | UnsetType | None = UNSET


class ChangeMembers(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    add: Annotated[list[Person], Meta(max_length=MOST_MEMBERS)] = []
    remove: Annotated[list[Person], Meta(max_length=MOST_MEMBERS)] = []


class Members(msgspec.Struct):
    members: list[str]


class PostMessage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    client_message_id: Annotated[str, Meta(min_length=1, max_length=posting.LONGEST_ID)]
    """The client's own id for it: the same one again is the same message."""
    conversation_id: str
    content: dict[str, Any]


class PostedView(msgspec.Struct, kw_only=True):
    message_id: str
    conversation_id: str
    client_message_id: str | None
    """None of a note."""
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
    """Up to where the caller has read."""


@post("/conversations", dependencies=WRITES, summary="Open a chat", responses=problems(400, 403, 413, 422))
async def open_chat(
    data: Annotated[OpenChat, Body(examples=CHAT_EXAMPLES)], caller: Asking, world: Here
) -> ConversationView:
    """The caller is a member. A direct chat of the same two is the same one."""
    opened = await inbox.open_chat(caller, ChatKind(data.kind), data.members, data.title, data.history, world)
    match opened:
        case Chat():
            return await shown_conversation(opened.id, caller, world)
        case inbox.KeyCannot():
            raise _nobody()
        case inbox.BadDirect():
            raise Problem(422, "invalid_members", "members: a direct chat is with one other person", field="members")
        case inbox.UnknownPeople():
            raise _unknown("members", opened)
        case TooMany():
            raise _too_many()


def _nobody() -> Problem:
    return Problem(403, "wrong_role", "a key is nobody: this needs a user's token")


def _unknown(field: str, people: inbox.UnknownPeople) -> Problem:
    named = ", ".join(user[:64] for user in people.users[:5])
    return Problem(422, "unknown_user", f"{field}: this org has no person {named}", field=field)


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
    caller: Asking,
    world: Here,
) -> ConversationView:
    """`assignee`, `state` and `labels` are a customer's, `title` a group's."""
    where = conversation_of(conversation_id)
    before = await shown_conversation(where, caller, world)
    if before.kind == "customer":
        if data.title is not UNSET:
            raise Problem(422, "invalid_payload", "title: a customer's name is the customer's", field="title")
        change = WorkChange(
            assignee=data.assignee if not isinstance(data.assignee, str) else UserId(data.assignee),
            state=data.state,
            labels=UNSET if data.labels is UNSET else tuple(dict.fromkeys(data.labels)),
        )
        worked = await inbox.work(caller, where, change, world)
        if isinstance(worked, inbox.UnknownPeople):
            raise _unknown("assignee", worked)
        if isinstance(worked, NoChat):
            raise missing()
    else:
        await _rename(conversation_id, data, caller, world)
    return await shown_conversation(where, caller, world)


async def _rename(conversation_id: str, data: ChangeConversation, caller: Asking, world: Here) -> None:
    given = [name for name in ("assignee", "state", "labels") if getattr(data, name) is not UNSET]
    if given:
        raise Problem(422, "invalid_payload", f"{given[0]}: is of customers' conversations only", field=given[0])
    if data.title is UNSET:
        return
    renamed = await inbox.rename(caller, conversation_of(conversation_id), data.title, world)
    if isinstance(renamed, inbox.NotAGroup):
        raise _not_a_group()
    if isinstance(renamed, NoChat):
        raise missing()


def _not_a_group() -> Problem:
    return Problem(422, "not_a_group", "a direct chat has two people and no title: open a group")


@post(
    "/conversations/{conversation_id:str}/members",
    status_code=200,
    dependencies=WRITES,
    summary="Add people to a group, or remove them",
    responses=problems(400, 404, 413, 422),
)
async def change_members(
    conversation_id: ConversationPath, data: JSONBody[ChangeMembers], caller: Asking, world: Here
) -> Members:
    """Who is removed sees nothing after it. Remove yourself to leave."""
    change = MemberChange(add=tuple(map(UserId, data.add)), remove=tuple(map(UserId, data.remove)))
    changed = await inbox.change_members(caller, conversation_of(conversation_id), change, world)
    match changed:
        case NoChat():
            raise missing()
        case TooMany():
            raise _too_many()
        case inbox.UnknownPeople():
            raise _unknown("add", changed)
        case inbox.NotAGroup():
            raise _not_a_group()
        case _:
            return Members([member.user_id for member in changed])


@post("/messages", dependencies=WRITES, summary="Write in a conversation", responses=problems(400, 404, 409, 413, 422))
async def post_message(
    data: Annotated[PostMessage, Body(examples=POST_EXAMPLES)], caller: Asking, world: Here
) -> Response[PostedView]:
    """To a customer it goes out through the outbox. 201 when it is new, 200 when it was posted before."""
    words = posting.Words(
        client_message_id=data.client_message_id,
        conversation_id=conversation_of(data.conversation_id),
        content=data.content,
    )
    view = _posted(await posting.post(words, caller, world), data.client_message_id)
    return Response(view, status_code=200 if view.duplicate else 201)


def _posted(answer: Posted | Refusal | NoChat, name: str | None) -> PostedView:
    if isinstance(answer, NoChat):
        raise missing()
    if isinstance(answer, Refusal):
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
    summary="Write a note that only the team sees",
    responses=problems(400, 404, 413, 422),
)
async def write_note(
    conversation_id: ConversationPath, data: JSONBody[WriteNote], caller: Asking, world: Here
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
async def mark_read(conversation_id: ConversationPath, data: JSONBody[ReadTo], caller: Asking, world: Here) -> ReadView:
    """Every device of the caller agrees; a marker only moves forwards."""
    where, message = conversation_of(conversation_id), entry_ids.read(data.message_id)
    read = await inbox.read_up_to(caller, where, message, world)
    match read:
        case inbox.KeyCannot():
            raise _nobody()
        case NoChat():
            raise missing()
        case NoMessage():
            raise Problem(422, "invalid_payload", "message_id: no message of this conversation", field="message_id")
        case _:
            return ReadView(conversation_id=conversation_id, position=read.position)


@delete(
    "/messages/{message_id:str}",
    status_code=204,
    dependencies=WRITES,
    summary="Take a message back",
    responses=problems(403, 404),
)
async def delete_message(message_id: FromPath[str], caller: Asking, world: Here) -> None:
    """A tombstone stays in its place. What a customer got on the phone stays there."""
    message = entry_ids.read(message_id)
    erased = await inbox.erase(caller, message, world) if message is not None else NoMessage()
    match erased:
        case NoChat() | NoMessage():
            raise Problem(404, "not_found", "there is no such message")
        case NotYours():
            raise Problem(403, "not_yours", "only who wrote a message takes it back, or an admin a customer's")
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
