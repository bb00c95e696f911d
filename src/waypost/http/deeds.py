"""What somebody does over a live line, and how it is answered."""

from __future__ import annotations

from waypost.flow import inbox
from waypost.flow import post as posting
from waypost.flow.submit import Refusal
from waypost.flow.world import World
from waypost.http import frames
from waypost.model.account import Caller
from waypost.model.conversation import ConversationId
from waypost.model.time import to_datetime
from waypost.ports.chats import NoChat, Posted, ReadUp
from waypost.ports.failure import LedgerError, Rejected
from waypost.rules import entry_ids
from waypost.rules.entry_ids import LARGEST_CONVERSATION, EntryId


async def post(frame: frames.Send, caller: Caller, world: World) -> frames.Acked | frames.Error:
    name = frame.client_message_id
    words = posting.Words(
        client_message_id=name,
        conversation_id=conversation_of(frame.conversation_id) or LARGEST_CONVERSATION,
        content=frame.content,
    )
    answer = await posting.post(words, caller, world)
    match answer:
        case Refusal():
            detail = f"{answer.field}: {answer.reason}"
            return frames.Error(
                code=answer.code, retryable=False, detail=detail, client_message_id=name, field=answer.field
            )
        case NoChat():
            return _missing("conversation", name)
        case _:
            return _acked(answer, name)


def _acked(posted: Posted, name: str) -> frames.Acked:
    named = EntryId(conversation_id=posted.conversation_id, position=posted.position, id_at=posted.id_at)
    return frames.Acked(
        client_message_id=name,
        message_id=entry_ids.made(named),
        conversation_id=str(posted.conversation_id),
        position=posted.position,
        timestamp=to_datetime(posted.id_at),
        duplicate=posted.duplicate,
    )


async def read(frame: frames.Read, caller: Caller, world: World) -> frames.Error | None:
    """None: it is done, and every device of theirs is told."""
    where, message = conversation_of(frame.conversation_id), entry_ids.read(frame.message_id)
    if where is None:
        return _missing("message in that conversation")
    answer = await inbox.read_up_to(caller, where, message, world)
    return None if isinstance(answer, ReadUp) else _missing("message in that conversation")


def failed(frame: frames.FromClient, failure: Exception) -> frames.Error:
    """Of a bug, nothing but that it is one: as a 500, it may be tried again."""
    about = frame.client_message_id if isinstance(frame, frames.Send) else None
    match failure:
        case Rejected():
            code, detail = "cannot_be_stored", "the database cannot store this"
        case LedgerError():
            code, detail = "unavailable", "try again"
        case _:
            code, detail = "internal_error", "something went wrong here; the log says what"
    retryable = not isinstance(failure, Rejected)
    return frames.Error(code=code, retryable=retryable, detail=detail, client_message_id=about)


def _missing(what: str, about: str | None = None) -> frames.Error:
    return frames.Error(code="not_found", retryable=False, detail=f"there is no such {what}", client_message_id=about)


def conversation_of(text: str) -> ConversationId | None:
    """An id as we give them out, or none that there could be."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0
    return ConversationId(number) if 0 < number <= LARGEST_CONVERSATION and text == str(number) else None
