"""/api/v1: open and failed turns, conversations and their histories, and the floor."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import Body, PathParameter, QueryParameter, SkipValidation

from waypost.flow.accounts import access
from waypost.flow.conversations import inbox, turns
from waypost.flow.operations.audit import actor_of
from waypost.flow.world import World
from waypost.http.conversations.conversation_examples import FLOOR_EXAMPLES
from waypost.http.conversations.conversation_views import (
    Colleague,
    ConversationList,
    ConversationView,
    GiveFloor,
    MessageList,
    ReplayedTurn,
    Team,
    TurnList,
    chat_message,
    conversation_view,
    failed_view,
    turn_view,
)
from waypost.http.edge.context import CurrentCaller, CurrentWorld, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.views import format_time
from waypost.model.account import Caller
from waypost.model.conversation import ConversationId, Position
from waypost.model.time import Instant
from waypost.ports.conversations.chats import NEWEST, ActivityCursor, ChatNotFound
from waypost.ports.conversations.turn_queue import NoConversation
from waypost.rules.content.recipient import InvalidPhone, is_user_id
from waypost.rules.conversations.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION
from waypost.rules.conversations.turn_state import LeaseLost
from waypost.rules.live import cursor as cursors

ConversationPath: TypeAlias = Annotated[str, PathParameter(description="A conversation's id")]
PageLimit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200)]
Cursor: TypeAlias = Annotated[
    str | None, QueryParameter(required=False, description="`next_cursor` of the previous page; omit it for the newest")
]
CURSORS = "cursors"
"""The purpose that cursors are signed for."""


def _numbered(text: str, largest: int) -> int:
    """The number; 404 if the text is not a valid id."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(largest)) else 0
    if not 0 < number <= largest or text != str(number):
        raise missing()
    return number


def conversation_of(text: str) -> ConversationId:
    return ConversationId(_numbered(text, LARGEST_CONVERSATION))


def missing() -> Problem:
    return Problem(404, "not_found", "this org has no such conversation")


@get("/turns", summary="Open and failed turns", responses=problems(400))
async def list_turns(
    caller: CurrentCaller,
    world: CurrentWorld,
    turn_state: Annotated[
        Literal["open", "failed"] | None,
        QueryParameter(name="state", required=False, description="Only open turns, or only dead letters"),
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> TurnList:
    """Turns that a worker runs or that wait, and turns that failed."""
    org = caller.org_id
    held = [] if turn_state == "failed" else await turns.open_turns(org, limit, world)
    dead = [] if turn_state == "open" else await turns.failed_turns(org, limit, world)
    return TurnList([turn_view(turn) for turn in held], [failed_view(turn) for turn in dead])


@post(
    "/turns/{conversation_id:str}/{position:str}/replay",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Let the bot answer a failed burst again",
    responses=problems(404, 409),
)
async def replay_turn(
    conversation_id: ConversationPath,
    position: Annotated[str, PathParameter(description="Position of the burst's last message")],
    caller: CurrentCaller,
    world: CurrentWorld,
) -> ReplayedTurn:
    """The bot gets the floor and the burst is due now, unless a later message was answered since."""
    where, hi = conversation_of(conversation_id), Position(_numbered(position, LARGEST_POSITION))
    reopened = await turns.replay(caller.org_id, where, hi, actor_of(caller), world)
    if isinstance(reopened, NoConversation):
        raise Problem(404, "not_found", "this org has no message at that position that needed an answer")
    if isinstance(reopened, LeaseLost):
        detail = "the burst was answered, is waiting for its answer, or a later message was answered"
        raise Problem(409, "not_replayable", detail)
    return ReplayedTurn(conversation_id, format_time(reopened.due_at), reopened.floor)


async def wanted_of(
    caller: CurrentCaller,  # noqa: ARG001  # authenticates the caller first, as every route does
    kind: Annotated[Literal["customer", "direct", "group"] | None, QueryParameter(required=False)] = None,
    assignee: Annotated[
        str | None,
        QueryParameter(max_length=64, required=False, description="Only conversations assigned to this user"),
    ] = None,
    open_or_closed: Annotated[
        str | None,
        QueryParameter(name="state", required=False, description="Only customer conversations in this state: `closed`"),
    ] = None,
    floor: Annotated[
        str | None,
        QueryParameter(
            max_length=64, required=False, description="Only conversations a user answers: `human`, or a user's id"
        ),
    ] = None,
) -> inbox.ConversationFilter:
    if open_or_closed not in (None, "closed"):
        raise Problem(400, "invalid_parameter", "state: only `closed` is supported", field="state")
    if sum(given is not None for given in (assignee, open_or_closed, floor)) > 1:
        raise Problem(400, "invalid_parameter", "send only one of assignee, state and floor", field="state")
    return inbox.ConversationFilter(kind=kind, assignee=assignee, state=open_or_closed, floor=floor)


@get(
    "/conversations",
    dependencies={"wanted": Provide(wanted_of)},
    summary="Conversations by latest activity",
    responses=problems(400, 410),
)
async def list_conversations(
    caller: CurrentCaller,
    world: CurrentWorld,
    wanted: NamedDependency[SkipValidation[inbox.ConversationFilter]],
    phone: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    user_id: Annotated[
        str | None,
        QueryParameter(max_length=160, required=False, description="The customer's business-scoped user id"),
    ] = None,
    cursor: Cursor = None,
    limit: PageLimit = 50,
) -> ConversationList:
    """The org's customer conversations and the caller's own chats. With `phone` or `user_id`: those of one customer,
    one per number of the org that they wrote to."""
    if phone is not None or user_id is not None:
        return await _with_customer(phone, user_id, caller, world)
    bound = bound_to(caller, msgspec.json.encode(wanted).decode())
    place = place_of(cursor, bound, world)
    before = NEWEST if place is None else ActivityCursor(Instant(place.first), ConversationId(place.second))
    page = await inbox.conversations(caller, wanted, before, limit, world)
    last = page.shown[-1].active if page.shown else before
    return ConversationList(
        conversations=[conversation_view(shown) for shown in page.shown],
        next_cursor=cursor_at(last.active_at, last.conversation_id, bound, world) if page.more else None,
        has_more=page.more,
    )


async def _with_customer(phone: str | None, user_id: str | None, caller: Caller, world: World) -> ConversationList:
    if phone is not None and user_id is not None:
        raise Problem(400, "invalid_parameter", "send only one of phone and user_id", field="phone")
    if user_id is not None:
        found = await inbox.conversations_at_address(caller, f"user:{user_id}", world) if is_user_id(user_id) else []
        return ConversationList(conversations=[conversation_view(shown) for shown in found])
    shown = await inbox.conversations_at_phone(caller, phone or "", world)
    if isinstance(shown, InvalidPhone):
        raise Problem(400, "invalid_parameter", f"phone: {shown.reason}", field="phone")
    return ConversationList(conversations=[conversation_view(each) for each in shown])


@get("/conversations/{conversation_id:str}", summary="One conversation", responses=problems(404))
async def get_conversation(
    conversation_id: ConversationPath, caller: CurrentCaller, world: CurrentWorld
) -> ConversationView:
    return await shown_conversation(conversation_of(conversation_id), caller, world)


async def shown_conversation(where: ConversationId, caller: Caller, world: World) -> ConversationView:
    found = await inbox.conversation(caller, where, world)
    if isinstance(found, ChatNotFound):
        raise missing()
    return conversation_view(found)


@get(
    "/conversations/{conversation_id:str}/messages",
    summary="A conversation's messages, newest first",
    responses=problems(400, 404, 410),
)
async def list_messages(
    conversation_id: ConversationPath,
    caller: CurrentCaller,
    world: CurrentWorld,
    cursor: Cursor = None,
    limit: PageLimit = 50,
) -> MessageList:
    where = conversation_of(conversation_id)
    bound = bound_to(caller, f"messages of {where}")
    if not await inbox.may_read(caller, where, world):
        raise missing()
    place = place_of(cursor, bound, world)
    page = await inbox.history(caller, where, None if place is None else Position(place.first), limit, world)
    if isinstance(page, ChatNotFound):
        raise missing()
    last = page.entries[-1].entry.position if page.entries else 0
    return MessageList(
        messages=[chat_message(entry) for entry in page.entries],
        next_cursor=cursor_at(last, 0, bound, world) if page.more else None,
        has_more=page.more,
    )


def bound_to(caller: Caller, of: str) -> dict[str, str]:
    """A cursor is valid only for the caller and the list it was issued for."""
    return {"org": caller.org_id, "whose": actor_of(caller), "list": of}


def place_of(text: str | None, bound: dict[str, str], world: World) -> cursors.CursorPosition | None:
    if text is None:
        return None
    found = cursors.read(text, bound, world.vault.key_for(CURSORS), world.clock.now(), world.tuning.cursor_kept)
    match found:
        case cursors.CursorInvalid():
            raise Problem(
                400,
                "invalid_cursor",
                "cursor: does not belong to this list: start again without a cursor",
                field="cursor",
            )
        case cursors.CursorExpired():
            raise Problem(410, "cursor_expired", "cursor: expired: start again without a cursor", field="cursor")
        case _:
            return found


def cursor_at(first: int, second: int, bound: dict[str, str], world: World) -> str:
    place = cursors.CursorPosition(first, second, world.clock.now())
    return cursors.made(place, bound, world.vault.key_for(CURSORS))


@post(
    "/conversations/{conversation_id:str}/floor",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Take over from the bot, or hand back to it",
    responses=problems(400, 404, 413, 422),
)
async def give_floor(
    conversation_id: ConversationPath,
    data: Annotated[GiveFloor, Body(examples=FLOOR_EXAMPLES)],
    caller: CurrentCaller,
    world: CurrentWorld,
) -> ConversationView:
    """While a user has the floor the bot does not answer: its running turn is abandoned and its unsent replies are
    cancelled. When the bot gets the floor back, the org's policy decides whether it answers the messages in between."""
    where = conversation_of(conversation_id)
    given = await turns.give_floor(caller, where, data.holder, actor_of(caller), world)
    match given:
        case NoConversation():
            raise missing()
        case turns.NotAUser():
            detail = "holder: an API key cannot hold the floor: send `human`, or a user's id"
            raise Problem(422, "not_a_person", detail, field="holder")
        case turns.FloorForbidden():
            detail = "only an admin or an API key can give the floor to another user: send `me` or `bot`"
            raise Problem(403, "wrong_role", detail)
        case turns.UnknownUser():
            raise Problem(422, "unknown_user", "holder: this org has no user with that id", field="holder")
        case _:
            return await shown_conversation(where, caller, world)


@get("/team", summary="The org's users, for their names", responses=problems())
async def list_team(caller: CurrentCaller, world: CurrentWorld) -> Team:
    """Maps the user ids in conversations to names."""
    users = await access.users(caller.org_id, world)
    return Team([Colleague(user_id=each.id, name=each.name, role=each.role.value) for each in users])


HANDLERS = [
    list_team,
    list_turns,
    replay_turn,
    list_conversations,
    get_conversation,
    list_messages,
    give_floor,
]
