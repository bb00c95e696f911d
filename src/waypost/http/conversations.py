"""/api/v1: turns that are open or were given up, conversations, and who has the floor in them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from litestar import Router, get, post
from litestar.di import Provide
from litestar.params import Body, PathParameter, QueryParameter

from waypost.flow import turns
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.conversation_examples import FLOOR_EXAMPLES
from waypost.http.conversation_views import (
    ConversationList,
    ConversationView,
    GiveFloor,
    MessageList,
    ReplayedTurn,
    TurnList,
    conversation_view,
    failed_view,
    message_list,
    turn_view,
)
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.http.views import shown
from waypost.model.conversation import ConversationId, Position
from waypost.ports.lanes import NoConversation
from waypost.rules.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION
from waypost.rules.lane import LeaseLost
from waypost.rules.recipient import Unreadable, is_user_id

ConversationPath: TypeAlias = Annotated[str, PathParameter(description="A conversation's id")]
Limit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200)]


def _numbered(text: str, largest: int) -> int:
    """An id as we give them out, or nothing that there could be."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(largest)) else 0
    if not 0 < number <= largest or text != str(number):
        raise _missing()
    return number


def _conversation(text: str) -> ConversationId:
    return ConversationId(_numbered(text, LARGEST_CONVERSATION))


def _missing() -> Problem:
    return Problem(404, "not_found", "this org has no such conversation")


@get("/turns", summary="Who is being answered, since when, and who waits", responses=problems(400))
async def list_turns(
    caller: Asking,
    world: Here,
    turn_state: Annotated[
        Literal["open", "failed"] | None,
        QueryParameter(name="state", required=False, description="Only turns that are open, or only dead letters"),
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> TurnList:
    """Turns that are held or wait for their time, and those that were given up."""
    org = caller.org_id
    held = [] if turn_state == "failed" else await turns.open_turns(org, limit, world)
    dead = [] if turn_state == "open" else await turns.failed_turns(org, limit, world)
    return TurnList([turn_view(turn) for turn in held], [failed_view(turn) for turn in dead])


@post(
    "/turns/{conversation_id:str}/{position:str}/replay",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Let the bot answer a burst that was given up",
    responses=problems(404, 409),
)
async def replay_turn(
    conversation_id: ConversationPath,
    position: Annotated[str, PathParameter(description="Of the burst's last message")],
    caller: Asking,
    world: Here,
) -> ReplayedTurn:
    """The bot has the floor again and the burst is due now, unless something was answered since."""
    where, hi = _conversation(conversation_id), Position(_numbered(position, LARGEST_POSITION))
    reopened = await turns.replay(caller.org_id, where, hi, actor_of(caller), world)
    if isinstance(reopened, NoConversation):
        raise Problem(404, "not_found", "this org has no message there that asked for an answer")
    if isinstance(reopened, LeaseLost):
        detail = "it was answered or waits for its answer, or something was answered in the conversation since"
        raise Problem(409, "not_replayable", detail)
    return ReplayedTurn(conversation_id, shown(reopened.due_at), reopened.floor)


@get("/conversations", summary="The conversations with one customer", responses=problems(400))
async def list_conversations(
    caller: Asking,
    world: Here,
    phone: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    user_id: Annotated[
        str | None,
        QueryParameter(max_length=160, required=False, description="The customer's business-scoped user id"),
    ] = None,
) -> ConversationList:
    """One for each of our numbers that the customer wrote to. Exactly one of `phone` and `user_id` is needed."""
    if (phone is None) == (user_id is None):
        raise Problem(400, "invalid_parameter", "phone or user_id is required, and only one of them", field="phone")
    if user_id is not None:
        found = await turns.at(caller.org_id, f"user:{user_id}", world) if is_user_id(user_id) else []
        return ConversationList([conversation_view(talk) for talk in found])
    talks = await turns.at_phone(caller.org_id, phone or "", world)
    if isinstance(talks, Unreadable):
        raise Problem(400, "invalid_parameter", f"phone: {talks.reason}", field="phone")
    return ConversationList([conversation_view(talk) for talk in talks])


@get("/conversations/{conversation_id:str}", summary="One conversation", responses=problems(404))
async def get_conversation(conversation_id: ConversationPath, caller: Asking, world: Here) -> ConversationView:
    found = await turns.talk(caller.org_id, _conversation(conversation_id), world)
    if found is None:
        raise _missing()
    return conversation_view(found)


@get(
    "/conversations/{conversation_id:str}/messages",
    summary="What was said, newest first",
    responses=problems(400, 404),
)
async def list_messages(
    conversation_id: ConversationPath,
    caller: Asking,
    world: Here,
    before: Annotated[
        int | None,
        QueryParameter(ge=1, le=LARGEST_POSITION, required=False, description="Only positions below this one"),
    ] = None,
    limit: Limit = 50,
) -> MessageList:
    below = None if before is None else Position(before)
    page = await turns.messages(caller.org_id, _conversation(conversation_id), below, limit, world)
    if page is None:
        raise _missing()
    return message_list(page)


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
    caller: Asking,
    world: Here,
) -> ConversationView:
    """While a person has the floor the bot is silent: its running turn is lost, and what it said and was not sent is
    cancelled. When it has it back it answers what came meanwhile, or not, as the org's policy says."""
    where = _conversation(conversation_id)
    given = await turns.give_floor(caller, where, data.holder, actor_of(caller), world)
    match given:
        case NoConversation():
            raise _missing()
        case turns.NoPerson():
            detail = "holder: a key is nobody: write `human`, or the id of a person"
            raise Problem(422, "not_a_person", detail, field="holder")
        case turns.NotTheirs():
            raise Problem(403, "wrong_role", "only an admin gives the floor to others: write `me` or `bot`")
        case turns.UnknownUser():
            raise Problem(422, "unknown_user", "holder: this org has no person with that id", field="holder")
        case _:
            return conversation_view(given)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Conversations"],
    route_handlers=[
        list_turns,
        replay_turn,
        list_conversations,
        get_conversation,
        list_messages,
        give_floor,
    ],
)
