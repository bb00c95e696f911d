"""Lists and replays turns, moves the floor and removes users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from waypost.flow.world import World
from waypost.model.account import Caller, Role
from waypost.model.audit import SYSTEM
from waypost.model.chat import MemberChange
from waypost.model.conversation import ANYBODY, BOT, Conversation, ConversationId, EndedTurn, Position, TurnState
from waypost.model.ids import OrgId, UserId
from waypost.model.turn import Customer
from waypost.ports.conversations.chats import NEWEST
from waypost.ports.conversations.turn_queue import NoConversation, OpenTurn
from waypost.ports.platform.hints import OUTBOX, TOKENS, TURNS, about_message
from waypost.rules.conversations.customers import customer
from waypost.rules.conversations.turn_state import LeaseLost

ME = "me"
CHATS_AT_ONCE = 100
T = TypeVar("T")


class TurnWithCustomer(msgspec.Struct, Generic[T], frozen=True):
    """A turn and its customer."""

    turn: T
    customer: Customer | None


class NotAUser(msgspec.Struct, frozen=True, tag=True):
    """The caller is an API key, which cannot hold the floor."""


class FloorForbidden(msgspec.Struct, frozen=True, tag=True):
    """Only an API key or an admin may give the floor to another user."""


class UnknownUser(msgspec.Struct, frozen=True, tag=True):
    """The org has no such user."""


async def open_turns(org: OrgId, limit: int, world: World) -> list[TurnWithCustomer[OpenTurn]]:
    """The running and waiting turns, the longest first."""
    found = await world.ledger.turn_queue.open(org, limit)
    known = await _customers(org, [turn.conversation for turn in found], world)
    return [TurnWithCustomer(turn, known[turn.conversation.id]) for turn in found]


async def failed_turns(org: OrgId, limit: int, world: World) -> list[TurnWithCustomer[EndedTurn]]:
    """The turns that were given up, the newest first."""
    found = await world.ledger.turn_queue.failed(org, limit)
    conversations = await world.ledger.conversations.some(org, [turn.conversation_id for turn in found])
    known = await _customers(org, conversations, world)
    return [TurnWithCustomer(turn, known.get(turn.conversation_id)) for turn in found]


async def _customers(
    org: OrgId, conversations: Sequence[Conversation], world: World
) -> Mapping[ConversationId, Customer]:
    contacts = await world.ledger.conversations.contacts(
        org, [conversation.contact_id for conversation in conversations]
    )
    known = {contact.id: contact for contact in contacts}
    return {
        conversation.id: customer(conversation, known.get(conversation.contact_id)) for conversation in conversations
    }


async def replay(
    org: OrgId, conversation: ConversationId, hi: Position, actor: str, world: World
) -> TurnState | NoConversation | LeaseLost:
    """Lets the bot answer a burst that was given up."""
    reopened = await world.ledger.turn_queue.replay(org, conversation, hi, world.clock.now(), actor)
    if isinstance(reopened, TurnState):
        world.hints.give([TURNS])
    return reopened


async def give_floor(
    caller: Caller, conversation: ConversationId, holder: str, actor: str, world: World
) -> TurnState | NoConversation | NotAUser | FloorForbidden | UnknownUser:
    """`holder` is the bot, the caller (`me`), any user (`human`) or a user id."""
    if await world.ledger.conversations.get(caller.org_id, conversation) is None:
        return NoConversation()
    wanted = await _holder(caller, holder, world)
    if not isinstance(wanted, str):
        return wanted
    return await put_floor(caller.org_id, conversation, wanted, actor, world)


async def _holder(caller: Caller, holder: str, world: World) -> str | NotAUser | FloorForbidden | UnknownUser:
    if holder == ME:
        return caller.user_id or NotAUser()
    if holder in (BOT, caller.user_id):
        return holder
    if caller.user_id is not None and caller.role is not Role.ADMIN:
        return FloorForbidden()
    if holder == ANYBODY:
        return holder
    known = {str(user.id) for user in await world.ledger.accounts.users(caller.org_id)}
    return holder if holder in known else UnknownUser()


async def put_floor(
    org: OrgId, conversation: ConversationId, holder: str, actor: str, world: World
) -> TurnState | NoConversation:
    """When a user takes over, the bot's unsent replies are cancelled."""
    turn_queue, now = world.ledger.turn_queue, world.clock.now()
    if holder == BOT:
        times = (await world.policies.of(org)).turns
        given = await turn_queue.hand_back(org, conversation, times, now, actor)
    else:
        given = await turn_queue.take_floor(org, conversation, holder, now, actor)
    if isinstance(given, NoConversation):
        return given
    cancelled = [about_message(message) for message in given.cancelled]
    world.hints.give([TURNS, *cancelled, OUTBOX] if cancelled else [TURNS])
    return given.turn_state


async def remove_user(org: OrgId, user: UserId, world: World, actor: str = SYSTEM) -> bool:
    """Also ends their connections, removes them from every chat and gives their floors to any user (`human`).
    A repeated call finishes what an interrupted one left."""
    found = await world.ledger.accounts.remove_user(org, user, actor)
    world.hints.give([f"{TOKENS}:{user}"])
    await _leave_chats(org, user, world)
    await _leave_floors(org, user, actor, world)
    return found


async def _leave_chats(org: OrgId, user: UserId, world: World) -> None:
    """Else no message there would count as read by all, and posts would go to an unused feed."""
    chats, gone = world.ledger.chats, MemberChange(remove=(user,))
    while theirs := [chat for chat in await chats.of_user(user, None, NEWEST, CHATS_AT_ONCE) if chat.org_id == org]:
        for chat in theirs:
            await chats.change_members(org, chat.id, gone, user, world.clock.now())


async def _leave_floors(org: OrgId, user: UserId, actor: str, world: World) -> None:
    """Else their customers would wait for a removed user."""
    while theirs := await world.ledger.chats.of_floor(org, user, NEWEST, CHATS_AT_ONCE):
        for conversation in theirs:
            await put_floor(org, conversation.id, ANYBODY, actor, world)
