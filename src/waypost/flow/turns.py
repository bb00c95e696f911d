"""What people see of turns, and what they may do to them: replay, take over, hand back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from waypost.flow.world import World
from waypost.model.account import Caller, Role
from waypost.model.conversation import (
    ANYBODY,
    BOT,
    Conversation,
    ConversationId,
    EndedTurn,
    Lane,
    Position,
)
from waypost.model.ids import OrgId
from waypost.model.turn import Customer
from waypost.ports.hints import LANES, OUTBOX, about_message
from waypost.ports.lanes import NoConversation, OpenTurn
from waypost.rules.customers import customer
from waypost.rules.lane import LeaseLost

ME = "me"
T = TypeVar("T")


class Of(msgspec.Struct, Generic[T], frozen=True):
    """A turn, and whose it is."""

    turn: T
    customer: Customer | None


class NoPerson(msgspec.Struct, frozen=True, tag=True):
    """Whoever asked is a key, and a key cannot answer a customer."""


class NotTheirs(msgspec.Struct, frozen=True, tag=True):
    """Only an org's key or an admin gives the floor to somebody else."""


class UnknownUser(msgspec.Struct, frozen=True, tag=True):
    """This org has no such person."""


async def open_turns(org: OrgId, limit: int, world: World) -> list[Of[OpenTurn]]:
    """Held, or waiting for their time; the longest first."""
    found = await world.ledger.lanes.open(org, limit)
    known = await _customers(org, [turn.conversation for turn in found], world)
    return [Of(turn, known[turn.conversation.id]) for turn in found]


async def failed_turns(org: OrgId, limit: int, world: World) -> list[Of[EndedTurn]]:
    """Dead letters, the newest first."""
    found = await world.ledger.lanes.failed(org, limit)
    talks = await world.ledger.conversations.some(org, [turn.conversation_id for turn in found])
    known = await _customers(org, talks, world)
    return [Of(turn, known.get(turn.conversation_id)) for turn in found]


async def _customers(org: OrgId, talks: Sequence[Conversation], world: World) -> Mapping[ConversationId, Customer]:
    contacts = await world.ledger.conversations.contacts(org, [talk.contact_id for talk in talks])
    known = {contact.id: contact for contact in contacts}
    return {talk.id: customer(talk, known.get(talk.contact_id)) for talk in talks}


async def replay(
    org: OrgId, conversation: ConversationId, hi: Position, actor: str, world: World
) -> Lane | NoConversation | LeaseLost:
    """The bot answers a burst after all that was given up."""
    reopened = await world.ledger.lanes.replay(org, conversation, hi, world.clock.now(), actor)
    if isinstance(reopened, Lane):
        world.hints.give([LANES])
    return reopened


async def give_floor(
    caller: Caller, conversation: ConversationId, holder: str, actor: str, world: World
) -> Lane | NoConversation | NoPerson | NotTheirs | UnknownUser:
    """To the bot, to whoever asks (`me`), to any person (`human`), or to one by id."""
    if await world.ledger.conversations.get(caller.org_id, conversation) is None:
        return NoConversation()
    wanted = await _holder(caller, holder, world)
    if not isinstance(wanted, str):
        return wanted
    return await put_floor(caller.org_id, conversation, wanted, actor, world)


async def _holder(caller: Caller, holder: str, world: World) -> str | NoPerson | NotTheirs | UnknownUser:
    if holder == ME:
        return caller.user_id or NoPerson()
    if holder in (BOT, caller.user_id):
        return holder
    if caller.user_id is not None and caller.role is not Role.ADMIN:
        return NotTheirs()
    if holder == ANYBODY:
        return holder
    known = {str(user.id) for user in await world.ledger.accounts.users(caller.org_id)}
    return holder if holder in known else UnknownUser()


async def put_floor(
    org: OrgId, conversation: ConversationId, holder: str, actor: str, world: World
) -> Lane | NoConversation:
    """What the bot said and was not sent is cancelled when a person takes over."""
    lanes, now = world.ledger.lanes, world.clock.now()
    if holder == BOT:
        times = (await world.policies.of(org)).turns
        given = await lanes.hand_back(org, conversation, times, now, actor)
    else:
        given = await lanes.take_floor(org, conversation, holder, now, actor)
    if isinstance(given, NoConversation):
        return given
    silenced = [about_message(message) for message in given.cancelled]
    world.hints.give([LANES, *silenced, OUTBOX] if silenced else [LANES])
    return given.lane
