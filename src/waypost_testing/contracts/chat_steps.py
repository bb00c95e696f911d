"""Shared steps of the chat and feed contracts: users open chats, post, and read their feeds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.model.chat import Chat, ChatKind, FeedName, HistoryVisibility, LoadedItem, NewChat, NewPost
from waypost.model.conversation import Conversation, ConversationId, Position
from waypost.model.ids import OrgId, UserId
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.ports.conversations.chats import ChatMessageNotFound, ChatNotFound, NotTheAuthor, Posted, ReadMarker
from waypost.ports.ledger import Ledger
from waypost.rules.conversations.entry_ids import EntryId
from waypost_testing.contracts.examples import ORG, T0, a_draft, fresh

ANN, BOB, CLEO = UserId("ann"), UserId("bob"), UserId("cleo")


def person(n: int) -> UserId:
    return UserId(f"person{n:04}")


def a_chat(
    *members: UserId, org: OrgId = ORG, history: HistoryVisibility = "all", kind: ChatKind = ChatKind.GROUP
) -> NewChat:
    pair = "direct:" + " ".join(sorted(members)) if kind is ChatKind.DIRECT else fresh("group")
    return NewChat(org_id=org, kind=kind, pair=pair, title=None, history=history, members=members)


async def open_chat(ledger: Ledger, *members: UserId, now: Instant = T0, **fields: Any) -> Chat:
    return await ledger.chats.open(a_chat(*members, **fields), now)


def a_post(where: Chat | Conversation, sender: str = ANN, text: str = "hello", *, id_: str | None = None) -> NewPost:
    return NewPost(
        org_id=where.org_id,
        conversation_id=where.id,
        sender=sender,
        client_message_id=id_ or fresh("post"),
        type="text",
        body=msgspec.json.encode({"text": text}).decode(),
        digest=hashlib.sha256(f"{where.id} {text}".encode()).digest(),
        with_customer=isinstance(where, Conversation),
        draft=_draft(where, sender, text) if isinstance(where, Conversation) else None,
    )


def _draft(conversation: Conversation, sender: str, text: str) -> Draft:
    return a_draft(
        content=text,
        sender=conversation.number,
        recipient=conversation.address,
        ordered=True,
        created_by=sender,
        conversation_id=conversation.id,
    )


async def say(
    ledger: Ledger, where: Chat | Conversation, sender: str = ANN, text: str = "hello", now: Instant = T0
) -> Posted:
    posted = await ledger.chats.post(a_post(where, sender, text), now)
    assert isinstance(posted, Posted), posted
    return posted


async def named(ledger: Ledger, where: ConversationId, position: int) -> EntryId:
    """As a device would name it; for a missing entry, a guess."""
    found = await ledger.conversations.entries(where, Position(position + 1), 1)
    id_at = found[0].id_at if found and found[0].position == position else T0
    return EntryId(conversation_id=where, position=Position(position), id_at=id_at)


async def erase(
    ledger: Ledger, where: ConversationId, position: int, by: UserId | None, org: OrgId = ORG
) -> ChatNotFound | ChatMessageNotFound | NotTheAuthor | None:
    """With no user given, any message may be deleted."""
    message = await named(ledger, where, position)
    return await ledger.chats.erase(org, message, by or "boss", T0, anybodys=by is None)


async def read_up_to(
    ledger: Ledger, user: UserId, where: ConversationId, position: int, org: OrgId = ORG
) -> ReadMarker | ChatNotFound | ChatMessageNotFound:
    return await ledger.chats.read_up_to(org, user, await named(ledger, where, position), T0)


async def feed(ledger: Ledger, name: str) -> Sequence[LoadedItem]:
    """The whole feed; asserts that its numbers have no gap."""
    found = await ledger.device_feeds.items({FeedName(name): 0}, 10_000)
    assert [loaded.item.seq for loaded in found] == list(range(1, len(found) + 1)), "the feed has a gap"
    return found


async def kinds(ledger: Ledger, name: str, of: ConversationId | None = None) -> list[str]:
    return [loaded.item.kind for loaded in await feed(ledger, name) if of in (None, loaded.item.conversation_id)]


def text_of(loaded: LoadedItem) -> str:
    return "" if loaded.entry is None else str(msgspec.json.decode(loaded.entry.body).get("text"))


async def message_texts(ledger: Ledger, name: str) -> list[str]:
    """The message texts in a feed, in order."""
    return [text_of(loaded) for loaded in await feed(ledger, name) if loaded.item.kind == "message"]
