"""What people see of conversations and do in them: lists, histories, chats and their members, the team's work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from waypost.flow import bodies, explain
from waypost.flow.audit import actor_of
from waypost.flow.world import World
from waypost.model.account import Caller, Role
from waypost.model.chat import (
    MOST_MEMBERS,
    Chat,
    ChatKind,
    Failure,
    FeedName,
    History,
    Member,
    MemberChange,
    NewChat,
    ShownChat,
    ShownTalk,
    WorkChange,
)
from waypost.model.conversation import Contact, ContactId, Conversation, ConversationId, Entry, Position
from waypost.model.ids import MessageId, UserId
from waypost.model.media import FileNote
from waypost.model.message import Message, Status
from waypost.ports.chats import Before, NoChat, NoMessage, NotYours, ReadUp, TooMany
from waypost.rules import people, recipient
from waypost.rules.chat_status import ChatStatus, chat_status
from waypost.rules.entry_ids import EntryId

MOST_UNREAD = 100
"""Counted no further: a screen shows 99+."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as somebody sees it in a list."""

    talk: ShownTalk | ShownChat
    contact: Contact | None = None
    members: tuple[Member, ...] = ()
    """Of a large group only where one conversation is looked at."""
    failure: Failure | None = None
    """Of what was said last."""

    @property
    def active(self) -> Before:
        of = self.talk.conversation if isinstance(self.talk, ShownTalk) else self.talk.chat
        return Before(of.last_id_at, of.id)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, and how far it came."""

    entry: Entry
    contact_id: ContactId | None
    status: ChatStatus | None
    failure: Failure | None = None
    provider_id: str | None = None
    """Of what we sent; a customer's is in the entry."""
    file: FileNote | None = None


class Page(msgspec.Struct, frozen=True):
    said: Sequence[Said]
    more: bool


class Listing(msgspec.Struct, frozen=True):
    shown: Sequence[Shown]
    more: bool


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations a list shows."""

    kind: str | None = None
    assignee: str | None = None
    state: str | None = None
    floor: str | None = None


class UnknownPeople(msgspec.Struct, frozen=True, tag=True):
    """The org has no such people."""

    users: tuple[str, ...]


class BadDirect(msgspec.Struct, frozen=True, tag=True):
    """A direct chat is of two."""


class KeyCannot(msgspec.Struct, frozen=True, tag=True):
    """A key is nobody, so it takes part in no chat."""


class NotAGroup(msgspec.Struct, frozen=True, tag=True):
    """Who is in a direct chat does not change."""


MembersAnswer: TypeAlias = Sequence[Member] | NoChat | TooMany | UnknownPeople | NotAGroup


async def conversations(caller: Caller, wanted: Wanted, before: Before, limit: int, world: World) -> Listing:
    """By latest activity: the org's customers, and the chats of whoever asks."""
    customers, chats = await asyncio.gather(
        _customers(caller, wanted, before, limit + 1, world), _chats(caller, wanted, before, limit + 1, world)
    )
    both: list[Conversation | Chat] = [*customers, *chats]
    found = sorted(both, key=lambda c: (c.last_id_at, c.id), reverse=True)
    page = await _shown(found[:limit], caller, world)
    return Listing(page, more=len(found) > limit)


async def _customers(
    caller: Caller, wanted: Wanted, before: Before, limit: int, world: World
) -> Sequence[Conversation]:
    chats, org = world.ledger.chats, caller.org_id
    if wanted.kind not in (None, "customer"):
        return []
    if wanted.assignee is not None:
        return await chats.assigned_to(org, wanted.assignee, before, limit)
    if wanted.floor is not None:
        return await chats.of_floor(org, wanted.floor, before, limit)
    if wanted.state == "closed":
        return await chats.closed(org, before, limit)
    return await chats.latest(org, before, limit)


async def _chats(caller: Caller, wanted: Wanted, before: Before, limit: int, world: World) -> Sequence[Chat]:
    of_customers = wanted.assignee is not None or wanted.floor is not None or wanted.state is not None
    if caller.user_id is None or of_customers or wanted.kind == "customer":
        return []
    return await world.ledger.chats.of_user(caller.user_id, wanted.kind, before, limit)


async def _shown(page: Sequence[Conversation | Chat], caller: Caller, world: World) -> list[Shown]:
    """In the order of the page; a few reads, however long it is."""
    ledger, user = world.ledger.chats, caller.user_id
    talks = [c for c in page if isinstance(c, Conversation)]
    chats = [c for c in page if isinstance(c, Chat)]
    shown_talks = await ledger.shown_talks(caller.org_id, user, [t.id for t in talks], MOST_UNREAD)
    shown_chats = await ledger.shown_chats(user, [c.id for c in chats], MOST_UNREAD) if user else []
    lasts = iter(await bodies.lasts([*(t.last for t in shown_talks), *(c.last for c in shown_chats)], world.log))
    contacts = await world.ledger.conversations.contacts(caller.org_id, [t.contact_id for t in talks])
    known = {contact.id: contact for contact in contacts}
    members = await _members([c.id for c in chats if not c.own_feed], world)
    found: dict[ConversationId, Shown] = {}
    for talk in shown_talks:
        whole, of = msgspec.structs.replace(talk, last=next(lasts)), talk.conversation
        failed = await explain.failure(talk.status, talk.error_code, talk.error_message, of.number, world)
        found[of.id] = Shown(talk=whole, contact=known.get(of.contact_id), failure=failed)
    for each in shown_chats:
        shown = msgspec.structs.replace(each, last=next(lasts))
        found[each.chat.id] = Shown(talk=shown, members=members.get(each.chat.id, ()))
    return [found[c.id] for c in page if c.id in found]


async def _members(chats: Sequence[ConversationId], world: World) -> Mapping[ConversationId, tuple[Member, ...]]:
    found: dict[ConversationId, tuple[Member, ...]] = {}
    for member in await world.ledger.chats.members(chats):
        found[member.conversation_id] = (*found.get(member.conversation_id, ()), member)
    return found


async def conversation(caller: Caller, where: ConversationId, world: World) -> Shown | NoChat:
    """With all of its members."""
    talk = await world.ledger.conversations.get(caller.org_id, where)
    chat = await world.ledger.chats.get(caller.org_id, where) if talk is None else None
    found = talk or chat
    shown = await _shown([found], caller, world) if found is not None else []
    if not shown:
        return NoChat()
    if chat is not None and chat.own_feed:
        return msgspec.structs.replace(shown[0], members=(await _members([where], world)).get(where, ()))
    return shown[0]


async def may_read(caller: Caller, where: ConversationId, world: World) -> bool:
    """Asked before anything else is said of it: to whoever may not, it does not exist."""
    if await world.ledger.conversations.get(caller.org_id, where) is not None:
        return True
    chat, user = await world.ledger.chats.get(caller.org_id, where), caller.user_id
    return chat is not None and user is not None and await world.ledger.chats.member(where, user) is not None


async def at_phone(caller: Caller, phone: str, world: World) -> list[Shown] | recipient.Unreadable:
    """The conversations with whoever has this number, in any spelling, one for each of ours that they wrote to."""
    region = (await world.policies.of(caller.org_id)).default_region
    number = recipient.read(phone, region)
    if isinstance(number, recipient.Unreadable):
        return number
    return await at(caller, f"phone:{people.alias(number)}", world)


async def at(caller: Caller, address: str, world: World) -> list[Shown]:
    return await _shown(await world.ledger.conversations.at(caller.org_id, address), caller, world)


async def history(
    caller: Caller, where: ConversationId, before: Position | None, limit: int, world: World
) -> Page | NoChat:
    """Newest first, as far as whoever asks may see it; while the Log does not answer, only what is recent."""
    talk = await world.ledger.conversations.get(caller.org_id, where)
    if talk is not None:
        return await _history_of_customer(talk, before, limit, world)
    chat = await world.ledger.chats.get(caller.org_id, where)
    member = await world.ledger.chats.member(where, caller.user_id) if chat and caller.user_id else None
    if chat is None or member is None:
        return NoChat()
    found = await world.ledger.conversations.entries(where, before or Position(chat.position + 1), limit + 1)
    seen = [entry for entry in found if entry.position > member.sees_after]
    page = await bodies.first_part(seen[:limit], world.log)
    members, reads = ([], {}) if chat.own_feed else await _readers(where, world)
    said = [Said(entry=e, contact_id=None, status=_read_by_all(e, members, reads)) for e in page]
    return Page(said, more=len(seen) > len(page))


async def _readers(where: ConversationId, world: World) -> tuple[Sequence[UserId], Mapping[UserId, Position]]:
    """Who takes part, and up to where each has read it; of a large group nobody asks whether all have."""
    members = await world.ledger.chats.members([where])
    return [member.user_id for member in members], await world.ledger.chats.reads(where)


def _read_by_all(entry: Entry, members: Sequence[UserId], reads: Mapping[UserId, Position]) -> ChatStatus:
    others = [user for user in members if user != entry.sender]
    everybody = bool(others) and all(reads.get(user, 0) >= entry.position for user in others)
    return "read" if everybody else "sent"


async def _history_of_customer(talk: Conversation, before: Position | None, limit: int, world: World) -> Page:
    found = await world.ledger.conversations.entries(talk.id, before or Position(talk.position + 1), limit + 1)
    ours = [MessageId(entry.message_id) for entry in found if entry.message_id is not None]
    sent = {message.id: message for message in await world.ledger.messages.some(talk.org_id, ours)}
    page = await bodies.first_part(found[:limit], world.log)
    files = await _files(talk, page, world)
    said = []
    for entry in page:
        one = await said_of(entry, talk.contact_id, sent.get(entry.message_id or MessageId(0)), world)
        said.append(msgspec.structs.replace(one, file=files.get(entry.position)))
    return Page(said, more=len(found) > len(page))


async def said_of(entry: Entry, contact: ContactId | None, sent: Message | None, world: World) -> Said:
    """With how far it came, and why no further."""
    if sent is None:
        return Said(entry=entry, contact_id=contact, status=None)
    of = sent.delivery
    return Said(
        entry=entry,
        contact_id=contact,
        status=shown_status(of.status, of.read_at is not None),
        failure=await explain.failure(of.status, of.error_code, of.error_message, sent.draft.sender, world),
        provider_id=of.provider_id,
    )


async def _files(talk: Conversation, page: Sequence[Entry], world: World) -> Mapping[Position, FileNote]:
    """One read, and none where nothing of the page has a file."""
    places = [entry.position for entry in page if entry.type in people.MEDIA]
    if not places:
        return {}
    found = await world.ledger.files.between(talk.org_id, talk.id, min(places), max(places))
    return {
        file.position: FileNote(
            id=file.id, state=file.state, mime_type=file.mime_type, filename=file.filename, size=file.size
        )
        for file in found
    }


def shown_status(status: Status | None, was_read: bool) -> ChatStatus | None:
    return None if status is None else chat_status(status, was_read)


async def open_chat(
    caller: Caller, kind: ChatKind, members: Sequence[str], title: str | None, history_of: History, world: World
) -> Chat | UnknownPeople | BadDirect | TooMany | KeyCannot:
    """The caller is a member; a direct chat of the same two is the same one."""
    if caller.user_id is None:
        return KeyCannot()
    everybody = tuple(dict.fromkeys([caller.user_id, *map(UserId, members)]))
    if len(everybody) > MOST_MEMBERS:
        return TooMany()
    if kind is ChatKind.DIRECT and len(everybody) != 2:
        return BadDirect()
    if strangers := await _strangers(caller, everybody, world):
        return UnknownPeople(strangers)
    pair = "direct:" + " ".join(sorted(everybody)) if kind is ChatKind.DIRECT else f"group:{world.ids.token(12)}"
    new = NewChat(org_id=caller.org_id, kind=kind, pair=pair, title=title, history=history_of, members=everybody)
    return await world.ledger.chats.open(new, world.clock.now())


async def _strangers(caller: Caller, users: Sequence[str], world: World) -> tuple[str, ...]:
    known = {str(user.id) for user in await world.ledger.accounts.users(caller.org_id)}
    return tuple(user for user in users if user not in known)


async def change_members(caller: Caller, where: ConversationId, change: MemberChange, world: World) -> MembersAnswer:
    """Everyone in a group may add, remove and leave."""
    user = caller.user_id
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or user is None or await world.ledger.chats.member(where, user) is None:
        return NoChat()
    if chat.kind is ChatKind.DIRECT:
        return NotAGroup()
    if strangers := await _strangers(caller, change.add, world):
        return UnknownPeople(strangers)
    return await world.ledger.chats.change_members(caller.org_id, where, change, user, world.clock.now())


async def rename(caller: Caller, where: ConversationId, title: str | None, world: World) -> Chat | NoChat | NotAGroup:
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or caller.user_id is None or await world.ledger.chats.member(where, caller.user_id) is None:
        return NoChat()
    if chat.kind is ChatKind.DIRECT:
        return NotAGroup()
    return await world.ledger.chats.rename(caller.org_id, where, title, caller.user_id, world.clock.now())


async def work(
    caller: Caller, where: ConversationId, change: WorkChange, world: World
) -> Conversation | NoChat | UnknownPeople:
    if await world.ledger.conversations.get(caller.org_id, where) is None:
        return NoChat()
    if isinstance(change.assignee, str) and await _strangers(caller, [change.assignee], world):
        return UnknownPeople((change.assignee,))
    return await world.ledger.chats.work(caller.org_id, where, change, actor_of(caller), world.clock.now())


async def audience(caller: Caller, where: ConversationId, world: World) -> list[FeedName]:
    """The feeds of whoever sees what happens there; none when whoever asks is not among them."""
    if await world.ledger.conversations.get(caller.org_id, where) is not None:
        return [FeedName(f"team:{caller.org_id}")]
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or caller.user_id is None or await world.ledger.chats.member(where, caller.user_id) is None:
        return []
    if chat.own_feed:
        return [chat.feed]
    return [FeedName(f"user:{member.user_id}") for member in await world.ledger.chats.members([where])]


async def erase(caller: Caller, message: EntryId, world: World) -> NoChat | NoMessage | NotYours | None:
    """One's own; an admin takes back anybody's, where they may read it."""
    where, now = message.conversation_id, world.clock.now()
    with_customer = await world.ledger.conversations.get(caller.org_id, where) is not None
    if not with_customer and caller.user_id is None:
        return NoChat()
    anybodys = with_customer and caller.role is Role.ADMIN
    return await world.ledger.chats.erase(caller.org_id, message, actor_of(caller), now, anybodys=anybodys)


async def read_up_to(
    caller: Caller, where: ConversationId, message: EntryId | None, world: World
) -> ReadUp | NoChat | NoMessage | KeyCannot:
    if caller.user_id is None:
        return KeyCannot()
    if message is None or message.conversation_id != where:
        return NoMessage()
    return await world.ledger.chats.read_up_to(caller.org_id, caller.user_id, message, world.clock.now())
