"""/api/v1: turns that are open or were given up, conversations and their histories, and who has the floor."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import Body, PathParameter, QueryParameter, SkipValidation

from waypost.flow import inbox, turns
from waypost.flow.audit import actor_of
from waypost.flow.world import World
from waypost.http.context import Asking, Here, writer
from waypost.http.conversation_examples import FLOOR_EXAMPLES
from waypost.http.conversation_views import (
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
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.http.views import shown
from waypost.model.account import Caller
from waypost.model.conversation import ConversationId, Position
from waypost.model.time import Instant
from waypost.ports.chats import NEWEST, Before, NoChat
from waypost.ports.lanes import NoConversation
from waypost.rules import cursor as cursors
from waypost.rules.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION
from waypost.rules.lane import LeaseLost
from waypost.rules.recipient import Unreadable, is_user_id

ConversationPath: TypeAlias = Annotated[str, PathParameter(description="A conversation's id")]
Limit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200)]
Cursor: TypeAlias = Annotated[
    str | None, QueryParameter(required=False, description="`next_cursor` of the page before; none: the newest")
]
CURSORS = "cursors"
"""What their key is for."""


def _numbered(text: str, largest: int) -> int:
    """An id as we give them out, or nothing that there could be."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(largest)) else 0
    if not 0 < number <= largest or text != str(number):
        raise missing()
    return number


def conversation_of(text: str) -> ConversationId:
    return ConversationId(_numbered(text, LARGEST_CONVERSATION))


def missing() -> Problem:
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
    where, hi = conversation_of(conversation_id), Position(_numbered(position, LARGEST_POSITION))
    reopened = await turns.replay(caller.org_id, where, hi, actor_of(caller), world)
    if isinstance(reopened, NoConversation):
        raise Problem(404, "not_found", "this org has no message there that asked for an answer")
    if isinstance(reopened, LeaseLost):
        detail = "it was answered or waits for its answer, or something was answered in the conversation since"
        raise Problem(409, "not_replayable", detail)
    return ReplayedTurn(conversation_id, shown(reopened.due_at), reopened.floor)


async def wanted_of(
    caller: Asking,  # noqa: ARG001  # who asks is known first, as for every other route
    kind: Annotated[Literal["customer", "direct", "group"] | None, QueryParameter(required=False)] = None,
    assignee: Annotated[
        str | None, QueryParameter(max_length=64, required=False, description="Customers that this person works on")
    ] = None,
    open_or_closed: Annotated[
        str | None,
        QueryParameter(name="state", required=False, description="Only customers' that are `closed`"),
    ] = None,
    floor: Annotated[
        str | None,
        QueryParameter(max_length=64, required=False, description="Where a person answers: `human`, or a user's id"),
    ] = None,
) -> inbox.Wanted:
    if open_or_closed not in (None, "closed"):
        raise Problem(400, "invalid_parameter", "state: only `closed` can be asked for", field="state")
    if sum(given is not None for given in (assignee, open_or_closed, floor)) > 1:
        raise Problem(400, "invalid_parameter", "only one of assignee, state and floor can be asked for", field="state")
    return inbox.Wanted(kind=kind, assignee=assignee, state=open_or_closed, floor=floor)


@get(
    "/conversations",
    dependencies={"wanted": Provide(wanted_of)},
    summary="Conversations by latest activity",
    responses=problems(400, 410),
)
async def list_conversations(
    caller: Asking,
    world: Here,
    wanted: NamedDependency[SkipValidation[inbox.Wanted]],
    phone: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    user_id: Annotated[
        str | None,
        QueryParameter(max_length=160, required=False, description="The customer's business-scoped user id"),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> ConversationList:
    """The org's customers and the caller's own chats. With `phone` or `user_id`: those with one customer, one for each
    of our numbers that they wrote to."""
    if phone is not None or user_id is not None:
        return await _with_customer(phone, user_id, caller, world)
    bound = bound_to(caller, msgspec.json.encode(wanted).decode())
    place = place_of(cursor, bound, world)
    before = NEWEST if place is None else Before(Instant(place.first), ConversationId(place.second))
    page = await inbox.conversations(caller, wanted, before, limit, world)
    last = page.shown[-1].active if page.shown else before
    return ConversationList(
        conversations=[conversation_view(shown) for shown in page.shown],
        next_cursor=cursor_at(last.active_at, last.conversation_id, bound, world) if page.more else None,
        has_more=page.more,
    )


async def _with_customer(phone: str | None, user_id: str | None, caller: Caller, world: World) -> ConversationList:
    if phone is not None and user_id is not None:
        raise Problem(400, "invalid_parameter", "only one of phone and user_id can be asked for", field="phone")
    if user_id is not None:
        found = await inbox.at(caller, f"user:{user_id}", world) if is_user_id(user_id) else []
        return ConversationList(conversations=[conversation_view(shown) for shown in found])
    shown = await inbox.at_phone(caller, phone or "", world)
    if isinstance(shown, Unreadable):
        raise Problem(400, "invalid_parameter", f"phone: {shown.reason}", field="phone")
    return ConversationList(conversations=[conversation_view(each) for each in shown])


@get("/conversations/{conversation_id:str}", summary="One conversation", responses=problems(404))
async def get_conversation(conversation_id: ConversationPath, caller: Asking, world: Here) -> ConversationView:
    return await shown_conversation(conversation_of(conversation_id), caller, world)


async def shown_conversation(where: ConversationId, caller: Caller, world: World) -> ConversationView:
    found = await inbox.conversation(caller, where, world)
    if isinstance(found, NoChat):
        raise missing()
    return conversation_view(found)


@get(
    "/conversations/{conversation_id:str}/messages",
    summary="What was said, newest first",
    responses=problems(400, 404, 410),
)
async def list_messages(
    conversation_id: ConversationPath, caller: Asking, world: Here, cursor: Cursor = None, limit: Limit = 50
) -> MessageList:
    where = conversation_of(conversation_id)
    bound = bound_to(caller, f"messages of {where}")
    if not await inbox.may_read(caller, where, world):
        raise missing()
    place = place_of(cursor, bound, world)
    page = await inbox.history(caller, where, None if place is None else Position(place.first), limit, world)
    if isinstance(page, NoChat):
        raise missing()
    last = page.said[-1].entry.position if page.said else 0
    return MessageList(
        messages=[chat_message(said) for said in page.said],
        next_cursor=cursor_at(last, 0, bound, world) if page.more else None,
        has_more=page.more,
    )


def bound_to(caller: Caller, of: str) -> dict[str, str]:
    """A cursor is of use to whoever it was made for only, and for the same list."""
    return {"org": caller.org_id, "whose": actor_of(caller), "list": of}


def place_of(text: str | None, bound: dict[str, str], world: World) -> cursors.Place | None:
    if text is None:
        return None
    found = cursors.read(text, bound, world.vault.key_for(CURSORS), world.clock.now(), world.tuning.cursor_kept)
    match found:
        case cursors.Forged():
            raise Problem(400, "invalid_cursor", "cursor: not one of this list: begin without one", field="cursor")
        case cursors.Expired():
            raise Problem(410, "cursor_expired", "cursor: too old: begin without one", field="cursor")
        case _:
            return found


def cursor_at(first: int, second: int, bound: dict[str, str], world: World) -> str:
    place = cursors.Place(first, second, world.clock.now())
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
    caller: Asking,
    world: Here,
) -> ConversationView:
    """While a person has the floor the bot is silent: its running turn is lost, and what it said and was not sent is
    cancelled. When it has it back it answers what came meanwhile, or not, as the org's policy says."""
    where = conversation_of(conversation_id)
    given = await turns.give_floor(caller, where, data.holder, actor_of(caller), world)
    match given:
        case NoConversation():
            raise missing()
        case turns.NoPerson():
            detail = "holder: a key is nobody: write `human`, or the id of a person"
            raise Problem(422, "not_a_person", detail, field="holder")
        case turns.NotTheirs():
            raise Problem(403, "wrong_role", "only an admin gives the floor to others: write `me` or `bot`")
        case turns.UnknownUser():
            raise Problem(422, "unknown_user", "holder: this org has no person with that id", field="holder")
        case _:
            return await shown_conversation(where, caller, world)


@get("/team", summary="Who works here", responses=problems())
async def list_team(caller: Asking, world: Here) -> Team:
    """The names of colleagues, for whoever sees their ids in conversations."""
    people = await world.ledger.accounts.users(caller.org_id)
    return Team([Colleague(user_id=each.id, name=each.name, role=each.role.value) for each in people])


HANDLERS = [
    list_team,
    list_turns,
    replay_turn,
    list_conversations,
    get_conversation,
    list_messages,
    give_floor,
]
