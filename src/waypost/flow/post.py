"""Somebody writes in a conversation: to a customer, to one other person, or to a group. One path for all."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.flow import submit
from waypost.flow.audit import actor_of
from waypost.flow.submit import Refusal
from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.chat import NewPost
from waypost.model.conversation import Conversation, ConversationId
from waypost.model.message import Channel, Draft
from waypost.ports.chats import NoChat, NoConsent, OtherContent, Posted
from waypost.ports.hints import LANES, MEDIA, OUTBOX
from waypost.rules import chat_content, inbound, replies
from waypost.rules.chat_content import Written
from waypost.rules.retry import SHORT
from waypost.rules.shape import Invalid

LONGEST_ID = 128


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to say, as it came."""

    client_message_id: str
    conversation_id: ConversationId
    content: Any


Answer: TypeAlias = Posted | Refusal | NoChat


async def post(words: Words, caller: Caller, world: World) -> Answer:
    if not 0 < len(words.client_message_id) <= LONGEST_ID or not words.client_message_id.isprintable():
        return Refusal("invalid_payload", "client_message_id", f"must have 1 to {LONGEST_ID} printable characters")
    talk = await world.ledger.conversations.get(caller.org_id, words.conversation_id)
    if talk is None and caller.user_id is None:
        return NoChat()  # a key takes part in nothing
    written = chat_content.read(words.content, with_customer=talk is not None)
    if isinstance(written, Invalid):
        return NoChat() if talk is None and await _is_strange(words, caller, world) else _refused(written)
    return await _post(words.client_message_id, words.conversation_id, written, talk, caller, world)


async def note(text: str, conversation: ConversationId, caller: Caller, world: World) -> Answer:
    """For the team only: nothing goes out."""
    talk = await world.ledger.conversations.get(caller.org_id, conversation)
    if talk is None:
        return NoChat()
    written = chat_content.note(text)
    if isinstance(written, Invalid):
        return _refused(written)
    return await _post(world.ids.token(16), conversation, written, talk, caller, world, goes_out=False)


async def _is_strange(words: Words, caller: Caller, world: World) -> bool:
    """Who takes no part is not told what is wrong with their words, nor that the conversation exists."""
    user = caller.user_id
    return user is None or await world.ledger.chats.member(words.conversation_id, user) is None


def _refused(wrong: Invalid) -> Refusal:
    return Refusal("invalid_payload", wrong.field, wrong.reason)


async def _post(
    name: str,
    where: ConversationId,
    written: Written,
    talk: Conversation | None,
    caller: Caller,
    world: World,
    *,
    goes_out: bool = True,
) -> Answer:
    sender = actor_of(caller)
    draft = await _draft(name, written, talk, sender, world) if talk is not None and goes_out else None
    if isinstance(draft, Refusal):
        return draft
    body = msgspec.json.encode(written.body, order="deterministic")
    new = NewPost(
        org_id=caller.org_id,
        conversation_id=where,
        sender=sender,
        client_message_id=name,
        type=written.type,
        body=body.decode(),
        digest=hashlib.sha256(b"%d\0%b\0%b" % (where, written.type.encode(), body)).digest(),
        with_customer=talk is not None,
        draft=draft,
        file=inbound.sent_file(written.body, written.type) if draft is not None else None,
    )
    answer = _told(await world.ledger.chats.post(new, world.clock.now()), world)
    if new.file is not None:
        world.hints.give([MEDIA])
    return answer


async def _draft(name: str, written: Written, talk: Conversation, sender: str, world: World) -> Draft | Refusal:
    """Checked as every message is that goes out; in the conversation's own queue, soon and not for long.

    What was stored before under this name passes, whatever was paused or revoked in between: only the Ledger knows
    whether it is the same, and answers with it.
    """
    request = submit.Request(
        channel=Channel.WHATSAPP.value,
        to=talk.address,
        sender=talk.number,
        template=written.template,
        subject=None,
        payload=written.payload or written.body,
        dossier_id=None,
        idempotency_key=f"post:{sender}:{name}",
        priority=replies.PRIORITY,
        scheduled_at=None,
        expires_at=None,
        ordered=True,
        max_attempts=len(SHORT.steps),
        ours=True,
    )
    checked = await submit.check(request, talk.org_id, world, sender)
    if isinstance(checked, Refusal):
        field = checked.field.replace("payloadJson", "content").replace("templateCode", "content.template.name")
        return replace(checked, field=field)
    return replace(checked, conversation_id=talk.id)


def _told(posted: Posted | OtherContent | NoChat | NoConsent, world: World) -> Answer:
    match posted:
        case OtherContent():
            used = "was used for another message: take a new id for a new message"
            return Refusal("idempotency_conflict", "client_message_id", used)
        case NoConsent():
            return Refusal("consent_required", "conversation_id", posted.reason)
        case NoChat():
            return posted
        case _:
            if posted.message_id is not None:
                world.hints.give([OUTBOX, LANES])
            return posted
