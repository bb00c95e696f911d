"""Commands that a user sends over a live connection, and their answers."""

from __future__ import annotations

from waypost.flow.conversations import inbox
from waypost.flow.conversations import post as posting
from waypost.flow.sending.submit import SubmitRefusal
from waypost.flow.world import World
from waypost.http.live import frames
from waypost.model.account import Caller
from waypost.model.conversation import ConversationId
from waypost.model.time import to_datetime
from waypost.ports.conversations.chats import ChatNotFound, Posted, ReadMarker
from waypost.ports.platform.failure import LedgerError, Rejected
from waypost.rules.conversations import entry_ids
from waypost.rules.conversations.entry_ids import LARGEST_CONVERSATION, EntryId


async def post(frame: frames.SendFrame, caller: Caller, world: World) -> frames.SendAckFrame | frames.ErrorFrame:
    name = frame.client_message_id
    request = posting.PostRequest(
        client_message_id=name,
        conversation_id=conversation_of(frame.conversation_id) or LARGEST_CONVERSATION,
        content=frame.content,
    )
    answer = await posting.post(request, caller, world)
    match answer:
        case SubmitRefusal():
            detail = f"{answer.field}: {answer.reason}"
            return frames.ErrorFrame(
                code=answer.code, retryable=False, detail=detail, client_message_id=name, field=answer.field
            )
        case ChatNotFound():
            return _missing("conversation", name)
        case _:
            return _acked(answer, name)


def _acked(posted: Posted, name: str) -> frames.SendAckFrame:
    named = EntryId(conversation_id=posted.conversation_id, position=posted.position, id_at=posted.id_at)
    return frames.SendAckFrame(
        client_message_id=name,
        message_id=entry_ids.made(named),
        conversation_id=str(posted.conversation_id),
        position=posted.position,
        timestamp=to_datetime(posted.id_at),
        duplicate=posted.duplicate,
    )


async def read(frame: frames.ReadFrame, caller: Caller, world: World) -> frames.ErrorFrame | None:
    """None when it was stored; all of the user's devices get it as an item."""
    where, message = conversation_of(frame.conversation_id), entry_ids.read(frame.message_id)
    if where is None:
        return _missing("message in that conversation")
    answer = await inbox.read_up_to(caller, where, message, world)
    return None if isinstance(answer, ReadMarker) else _missing("message in that conversation")


def error_frame(frame: frames.FromClient, failure: Exception) -> frames.ErrorFrame:
    """A bug is reported without details; like a 500, it may be retried."""
    about = frame.client_message_id if isinstance(frame, frames.SendFrame) else None
    match failure:
        case Rejected():
            code, detail = "cannot_be_stored", "the database cannot store this"
        case LedgerError():
            code, detail = "unavailable", "try again"
        case _:
            code, detail = "internal_error", "internal error; the server's log has the details"
    retryable = not isinstance(failure, Rejected)
    return frames.ErrorFrame(code=code, retryable=retryable, detail=detail, client_message_id=about)


def _missing(what: str, about: str | None = None) -> frames.ErrorFrame:
    return frames.ErrorFrame(
        code="not_found", retryable=False, detail=f"there is no such {what}", client_message_id=about
    )


def conversation_of(text: str) -> ConversationId | None:
    """The id, or None if the text is not a valid one."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0
    return ConversationId(number) if 0 < number <= LARGEST_CONVERSATION and text == str(number) else None
