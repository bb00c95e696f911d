"""Lists conversations and chats, reads their messages, and changes members, assignments and read markers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from waypost.flow.conversations import archived_bodies, failure_text
from waypost.flow.operations.audit import actor_of
from waypost.flow.world import World
from waypost.model.account import Caller, Role
from waypost.model.chat import (
    MOST_MEMBERS,
    Chat,
    ChatKind,
    ChatListItem,
    ConversationListItem,
    DeliveryFailure,
    FeedName,
    HistoryVisibility,
    Member,
    MemberChange,
    NewChat,
    WorkChange,
)
from waypost.model.conversation import Contact, ContactId, Conversation, ConversationId, Entry, Position
from waypost.model.ids import MessageId, UserId
from waypost.model.media import FileSummary
from waypost.model.message import Message, Status
from waypost.ports.conversations.chats import (
    ActivityCursor,
    ChatMessageNotFound,
    ChatNotFound,
    GroupFull,
    NotTheAuthor,
    ReadMarker,
)
from waypost.rules.content import recipient
from waypost.rules.conversations import message_text, phone_forms
from waypost.rules.conversations.chat_status import ChatStatus, chat_status
from waypost.rules.conversations.entry_ids import EntryId

MOST_UNREAD = 100
"""Counting stops here: a screen shows 99+."""


class ShownConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation or chat as a list shows it."""

    listed: ConversationListItem | ChatListItem
    contact: Contact | None = None
    members: tuple[Member, ...] = ()
    """Empty for a large group, except where a single conversation is read."""
    failure: DeliveryFailure | None = None
    """Of the last message."""

    @property
    def active(self) -> ActivityCursor:
        of = self.listed.conversation if isinstance(self.listed, ConversationListItem) else self.listed.chat
        return ActivityCursor(of.last_id_at, of.id)


class ShownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry and its delivery status."""

    entry: Entry
    contact_id: ContactId | None
    status: ChatStatus | None
    failure: DeliveryFailure | None = None
    provider_id: str | None = None
    """Of outbound messages; an inbound message's is in the entry."""
    file: FileSummary | None = None


class EntryPage(msgspec.Struct, frozen=True):
    entries: Sequence[ShownEntry]
    more: bool


class ConversationPage(msgspec.Struct, frozen=True):
    shown: Sequence[ShownConversation]
    more: bool


class ConversationFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations a list shows."""

    kind: str | None = None
    assignee: str | None = None
    state: str | None = None
    floor: str | None = None


class UnknownUsers(msgspec.Struct, frozen=True, tag=True):
    """The org has no such users."""

    users: tuple[str, ...]


class InvalidDirectChat(msgspec.Struct, frozen=True, tag=True):
    """A direct chat needs exactly two users."""


class UserRequired(msgspec.Struct, frozen=True, tag=True):
    """The caller is an API key; only users are members of chats."""


class NotAGroup(msgspec.Struct, frozen=True, tag=True):
    """A direct chat's members and title cannot change."""


MembersAnswer: TypeAlias = Sequence[Member] | ChatNotFound | GroupFull | UnknownUsers | NotAGroup


async def conversations(
    caller: Caller, wanted: ConversationFilter, before: ActivityCursor, limit: int, world: World
) -> ConversationPage:
    """By latest activity: the org's customer conversations and the caller's chats."""
    customers, chats = await asyncio.gather(
        _customers(caller, wanted, before, limit + 1, world), _chats(caller, wanted, before, limit + 1, world)
    )
    both: list[Conversation | Chat] = [*customers, *chats]
    found = sorted(both, key=lambda c: (c.last_id_at, c.id), reverse=True)
    page = await _shown(found[:limit], caller, world)
    return ConversationPage(page, more=len(found) > limit)


async def _customers(
    caller: Caller, wanted: ConversationFilter, before: ActivityCursor, limit: int, world: World
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


async def _chats(
    caller: Caller, wanted: ConversationFilter, before: ActivityCursor, limit: int, world: World
) -> Sequence[Chat]:
    of_customers = wanted.assignee is not None or wanted.floor is not None or wanted.state is not None
    if caller.user_id is None or of_customers or wanted.kind == "customer":
        return []
    return await world.ledger.chats.of_user(caller.user_id, wanted.kind, before, limit)


async def _shown(page: Sequence[Conversation | Chat], caller: Caller, world: World) -> list[ShownConversation]:
    """In the order of the page; the number of reads does not depend on its length."""
    ledger, user = world.ledger.chats, caller.user_id
    customers = [c for c in page if isinstance(c, Conversation)]
    chats = [c for c in page if isinstance(c, Chat)]
    shown_customers = await ledger.shown_conversations(caller.org_id, user, [c.id for c in customers], MOST_UNREAD)
    shown_chats = await ledger.shown_chats(user, [c.id for c in chats], MOST_UNREAD) if user else []
    lasts = iter(
        await archived_bodies.load_last_bodies(
            [*(c.last for c in shown_customers), *(c.last for c in shown_chats)], world.history
        )
    )
    contacts = await world.ledger.conversations.contacts(caller.org_id, [c.contact_id for c in customers])
    known = {contact.id: contact for contact in contacts}
    members = await _members([c.id for c in chats if not c.own_feed], world)
    found: dict[ConversationId, ShownConversation] = {}
    for each in shown_customers:
        whole, of = msgspec.structs.replace(each, last=next(lasts)), each.conversation
        failed = await failure_text.failure(each.status, each.error_code, each.error_message, of.number, world)
        found[of.id] = ShownConversation(listed=whole, contact=known.get(of.contact_id), failure=failed)
    for item in shown_chats:
        shown = msgspec.structs.replace(item, last=next(lasts))
        found[item.chat.id] = ShownConversation(listed=shown, members=members.get(item.chat.id, ()))
    return [found[c.id] for c in page if c.id in found]


async def _members(chats: Sequence[ConversationId], world: World) -> Mapping[ConversationId, tuple[Member, ...]]:
    found: dict[ConversationId, tuple[Member, ...]] = {}
    for member in await world.ledger.chats.members(chats):
        found[member.conversation_id] = (*found.get(member.conversation_id, ()), member)
    return found


async def conversation(caller: Caller, where: ConversationId, world: World) -> ShownConversation | ChatNotFound:
    """One conversation or chat, with all its members."""
    customer = await world.ledger.conversations.get(caller.org_id, where)
    chat = await world.ledger.chats.get(caller.org_id, where) if customer is None else None
    found = customer or chat
    shown = await _shown([found], caller, world) if found is not None else []
    if not shown:
        return ChatNotFound()
    if chat is not None and chat.own_feed:
        return msgspec.structs.replace(shown[0], members=(await _members([where], world)).get(where, ()))
    return shown[0]


async def may_read(caller: Caller, where: ConversationId, world: World) -> bool:
    """Checked first: for a caller who may not read it, the conversation does not exist."""
    if await world.ledger.conversations.get(caller.org_id, where) is not None:
        return True
    chat, user = await world.ledger.chats.get(caller.org_id, where), caller.user_id
    return chat is not None and user is not None and await world.ledger.chats.member(where, user) is not None


async def conversations_at_phone(
    caller: Caller, phone: str, world: World
) -> list[ShownConversation] | recipient.InvalidPhone:
    """The customer's conversations, one for each of our numbers; the phone may be in any format."""
    region = (await world.policies.of(caller.org_id)).default_region
    number = recipient.read(phone, region)
    if isinstance(number, recipient.InvalidPhone):
        return number
    return await conversations_at_address(caller, f"phone:{phone_forms.alias(number)}", world)


async def conversations_at_address(caller: Caller, address: str, world: World) -> list[ShownConversation]:
    return await _shown(await world.ledger.conversations.at(caller.org_id, address), caller, world)


async def history(
    caller: Caller, where: ConversationId, before: Position | None, limit: int, world: World
) -> EntryPage | ChatNotFound:
    """Newest first, as far as the caller may see; if the history store does not answer, only recent entries."""
    customer = await world.ledger.conversations.get(caller.org_id, where)
    if customer is not None:
        return await _history_of_customer(customer, before, limit, world)
    chat = await world.ledger.chats.get(caller.org_id, where)
    member = await world.ledger.chats.member(where, caller.user_id) if chat and caller.user_id else None
    if chat is None or member is None:
        return ChatNotFound()
    found = await world.ledger.conversations.entries(where, before or Position(chat.position + 1), limit + 1)
    seen = [entry for entry in found if entry.position > member.sees_after]
    page = await archived_bodies.load_leading_bodies(seen[:limit], world.history)
    members, reads = ([], {}) if chat.own_feed else await _readers(where, world)
    shown = [ShownEntry(entry=e, contact_id=None, status=_read_by_all(e, members, reads)) for e in page]
    return EntryPage(shown, more=len(seen) > len(page))


async def _readers(where: ConversationId, world: World) -> tuple[Sequence[UserId], Mapping[UserId, Position]]:
    """The members and their read positions; not used for large groups."""
    members = await world.ledger.chats.members([where])
    return [member.user_id for member in members], await world.ledger.chats.reads(where)


def _read_by_all(entry: Entry, members: Sequence[UserId], reads: Mapping[UserId, Position]) -> ChatStatus:
    others = [user for user in members if user != entry.sender]
    read_by_all = bool(others) and all(reads.get(user, 0) >= entry.position for user in others)
    return "read" if read_by_all else "sent"


async def _history_of_customer(customer: Conversation, before: Position | None, limit: int, world: World) -> EntryPage:
    found = await world.ledger.conversations.entries(customer.id, before or Position(customer.position + 1), limit + 1)
    ours = [MessageId(entry.message_id) for entry in found if entry.message_id is not None]
    sent = {message.id: message for message in await world.ledger.messages.some(customer.org_id, ours)}
    page = await archived_bodies.load_leading_bodies(found[:limit], world.history)
    files = await _files(customer, page, world)
    shown = []
    for entry in page:
        one = await shown_entry(entry, customer.contact_id, sent.get(entry.message_id or MessageId(0)), world)
        shown.append(msgspec.structs.replace(one, file=files.get(entry.position)))
    return EntryPage(shown, more=len(found) > len(page))


async def shown_entry(entry: Entry, contact: ContactId | None, sent: Message | None, world: World) -> ShownEntry:
    """The entry with its delivery status and the reason of a failure."""
    if sent is None:
        return ShownEntry(entry=entry, contact_id=contact, status=None)
    of = sent.delivery
    return ShownEntry(
        entry=entry,
        contact_id=contact,
        status=shown_status(of.status, of.read_at is not None),
        failure=await failure_text.failure(of.status, of.error_code, of.error_message, sent.draft.sender, world),
        provider_id=of.provider_id,
    )


async def _files(customer: Conversation, page: Sequence[Entry], world: World) -> Mapping[Position, FileSummary]:
    """The files of the page, with at most one read."""
    positions = [entry.position for entry in page if entry.type in message_text.MEDIA]
    if not positions:
        return {}
    found = await world.ledger.files.between(customer.org_id, customer.id, min(positions), max(positions))
    return {
        file.position: FileSummary(
            id=file.id, state=file.state, mime_type=file.mime_type, filename=file.filename, size=file.size
        )
        for file in found
    }


def shown_status(status: Status | None, was_read: bool) -> ChatStatus | None:
    return None if status is None else chat_status(status, was_read)


async def open_chat(
    caller: Caller,
    kind: ChatKind,
    members: Sequence[str],
    title: str | None,
    history_of: HistoryVisibility,
    world: World,
) -> Chat | UnknownUsers | InvalidDirectChat | GroupFull | UserRequired:
    """The caller becomes a member; two users share one direct chat."""
    if caller.user_id is None:
        return UserRequired()
    users = tuple(dict.fromkeys([caller.user_id, *map(UserId, members)]))
    if len(users) > MOST_MEMBERS:
        return GroupFull()
    if kind is ChatKind.DIRECT and len(users) != 2:
        return InvalidDirectChat()
    if unknown := await _unknown(caller, users, world):
        return UnknownUsers(unknown)
    key = "direct:" + " ".join(sorted(users)) if kind is ChatKind.DIRECT else f"group:{world.ids.token(12)}"
    new = NewChat(org_id=caller.org_id, kind=kind, pair=key, title=title, history=history_of, members=users)
    return await world.ledger.chats.open(new, world.clock.now())


async def _unknown(caller: Caller, users: Sequence[str], world: World) -> tuple[str, ...]:
    known = {str(user.id) for user in await world.ledger.accounts.users(caller.org_id)}
    return tuple(user for user in users if user not in known)


async def change_members(caller: Caller, where: ConversationId, change: MemberChange, world: World) -> MembersAnswer:
    """Every member of a group may add and remove members."""
    user = caller.user_id
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or user is None or await world.ledger.chats.member(where, user) is None:
        return ChatNotFound()
    if chat.kind is ChatKind.DIRECT:
        return NotAGroup()
    if unknown := await _unknown(caller, change.add, world):
        return UnknownUsers(unknown)
    return await world.ledger.chats.change_members(caller.org_id, where, change, user, world.clock.now())


async def rename(
    caller: Caller, where: ConversationId, title: str | None, world: World
) -> Chat | ChatNotFound | NotAGroup:
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or caller.user_id is None or await world.ledger.chats.member(where, caller.user_id) is None:
        return ChatNotFound()
    if chat.kind is ChatKind.DIRECT:
        return NotAGroup()
    return await world.ledger.chats.rename(caller.org_id, where, title, caller.user_id, world.clock.now())


async def change_work(
    caller: Caller, where: ConversationId, change: WorkChange, world: World
) -> Conversation | ChatNotFound | UnknownUsers:
    if await world.ledger.conversations.get(caller.org_id, where) is None:
        return ChatNotFound()
    if isinstance(change.assignee, str) and await _unknown(caller, [change.assignee], world):
        return UnknownUsers((change.assignee,))
    return await world.ledger.chats.work(caller.org_id, where, change, actor_of(caller), world.clock.now())


async def audience(caller: Caller, where: ConversationId, world: World) -> list[FeedName]:
    """The feeds that receive events of this conversation; none if the caller may not see it."""
    if await world.ledger.conversations.get(caller.org_id, where) is not None:
        return [FeedName(f"team:{caller.org_id}")]
    chat = await world.ledger.chats.get(caller.org_id, where)
    if chat is None or caller.user_id is None or await world.ledger.chats.member(where, caller.user_id) is None:
        return []
    if chat.own_feed:
        return [chat.feed]
    return [FeedName(f"user:{member.user_id}") for member in await world.ledger.chats.members([where])]


async def erase(
    caller: Caller, message: EntryId, world: World
) -> ChatNotFound | ChatMessageNotFound | NotTheAuthor | None:
    """Deletes the caller's own message; an admin may delete any message of a customer conversation."""
    where, now = message.conversation_id, world.clock.now()
    with_customer = await world.ledger.conversations.get(caller.org_id, where) is not None
    if not with_customer and caller.user_id is None:
        return ChatNotFound()
    any_author = with_customer and caller.role is Role.ADMIN
    return await world.ledger.chats.erase(caller.org_id, message, actor_of(caller), now, anybodys=any_author)


async def read_up_to(
    caller: Caller, where: ConversationId, message: EntryId | None, world: World
) -> ReadMarker | ChatNotFound | ChatMessageNotFound | UserRequired:
    if caller.user_id is None:
        return UserRequired()
    if message is None or message.conversation_id != where:
        return ChatMessageNotFound()
    return await world.ledger.chats.read_up_to(caller.org_id, caller.user_id, message, world.clock.now())
