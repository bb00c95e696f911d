"""Posts a user's message to a customer, another user or a group."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.flow.operations.audit import actor_of
from waypost.flow.sending import submit
from waypost.flow.sending.submit import SubmitRefusal
from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.chat import NewPost
from waypost.model.conversation import Conversation, ConversationId
from waypost.model.message import Channel, Draft
from waypost.ports.conversations.chats import ChatNotFound, ConsentRefused, PostConflict, Posted
from waypost.ports.platform.hints import MEDIA, OUTBOX, TURNS
from waypost.rules.conversations import chat_content, reply_draft
from waypost.rules.conversations.chat_content import PostContent
from waypost.rules.receiving import inbound
from waypost.rules.sending.retry import SHORT
from waypost.rules.text.json_validation import InvalidField

LONGEST_ID = 128


class PostRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A user's message, unchecked."""

    client_message_id: str
    conversation_id: ConversationId
    content: Any


PostResult: TypeAlias = Posted | SubmitRefusal | ChatNotFound


async def post(request: PostRequest, caller: Caller, world: World) -> PostResult:
    if not 0 < len(request.client_message_id) <= LONGEST_ID or not request.client_message_id.isprintable():
        return SubmitRefusal(
            "invalid_payload", "client_message_id", f"must have 1 to {LONGEST_ID} printable characters"
        )
    customer = await world.ledger.conversations.get(caller.org_id, request.conversation_id)
    if customer is None and caller.user_id is None:
        return ChatNotFound()  # an API key is not a member of any chat
    written = chat_content.read(request.content, with_customer=customer is not None)
    if isinstance(written, InvalidField):
        return (
            ChatNotFound() if customer is None and await _is_not_member(request, caller, world) else _refused(written)
        )
    return await _post(request.client_message_id, request.conversation_id, written, customer, caller, world)


async def note(text: str, conversation: ConversationId, caller: Caller, world: World) -> PostResult:
    """A note for the team; nothing is sent to the customer."""
    customer = await world.ledger.conversations.get(caller.org_id, conversation)
    if customer is None:
        return ChatNotFound()
    written = chat_content.note(text)
    if isinstance(written, InvalidField):
        return _refused(written)
    return await _post(world.ids.token(16), conversation, written, customer, caller, world, outbound=False)


async def _is_not_member(request: PostRequest, caller: Caller, world: World) -> bool:
    """A non-member gets no validation error, which would reveal that the chat exists."""
    user = caller.user_id
    return user is None or await world.ledger.chats.member(request.conversation_id, user) is None


def _refused(wrong: InvalidField) -> SubmitRefusal:
    return SubmitRefusal("invalid_payload", wrong.field, wrong.reason)


async def _post(
    name: str,
    where: ConversationId,
    written: PostContent,
    customer: Conversation | None,
    caller: Caller,
    world: World,
    *,
    outbound: bool = True,
) -> PostResult:
    sender = actor_of(caller)
    draft = await _draft(name, written, customer, sender, world) if customer is not None and outbound else None
    if isinstance(draft, SubmitRefusal):
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
        with_customer=customer is not None,
        draft=draft,
        file=inbound.sent_file(written.body, written.type) if draft is not None else None,
    )
    answer = _result(await world.ledger.chats.post(new, world.clock.now()), world)
    if new.file is not None:
        world.hints.give([MEDIA])
    return answer


async def _draft(
    name: str, written: PostContent, customer: Conversation, sender: str, world: World
) -> Draft | SubmitRefusal:
    """Checked like every outbound message; ordered, with the priority and the short backoff of replies.

    A retry of a stored post passes, even if something was paused or revoked in between: the Ledger compares the two.
    """
    submitted = submit.SubmitRequest(
        channel=Channel.WHATSAPP.value,
        to=customer.address,
        sender=customer.number,
        template=written.template,
        subject=None,
        payload=written.payload or written.body,
        dossier_id=None,
        idempotency_key=f"post:{sender}:{name}",
        priority=reply_draft.PRIORITY,
        scheduled_at=None,
        expires_at=None,
        ordered=True,
        max_attempts=len(SHORT.steps),
        ours=True,
    )
    checked = await submit.check(submitted, customer.org_id, world, sender)
    if isinstance(checked, SubmitRefusal):
        field = checked.field.replace("payloadJson", "content").replace("templateCode", "content.template.name")
        return replace(checked, field=field)
    return replace(checked, conversation_id=customer.id)


def _result(posted: Posted | PostConflict | ChatNotFound | ConsentRefused, world: World) -> PostResult:
    match posted:
        case PostConflict():
            used = "was used for another message: use a new id for a new message"
            return SubmitRefusal("idempotency_conflict", "client_message_id", used)
        case ConsentRefused():
            return SubmitRefusal("consent_required", "conversation_id", posted.reason)
        case ChatNotFound():
            return posted
        case _:
            if posted.message_id is not None:
                world.hints.give([OUTBOX, TURNS])
            return posted
