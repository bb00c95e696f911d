"""The public id of a message in a conversation: a TimeUUID that tells its place, and sorts by when it was stored."""

from __future__ import annotations

from uuid import UUID

import msgspec

from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.time import Instant

_EPOCH = 0x01B21DD213814000
"""Ticks of 100 ns from 1582-10-15, where these ids begin to count, to 1970."""
_TICKS = 10
"""In a microsecond."""
_POSITION = 25
_CONVERSATION = 36
"""Bits: together with the mark of a node that is no network card they fill clock sequence and node."""
_NO_CARD = 1 << 40
LARGEST_POSITION = Position((1 << _POSITION) - 1)
LARGEST_CONVERSATION = ConversationId((1 << _CONVERSATION) - 1)
LATEST = Instant(((1 << 60) - 1 - _EPOCH) // _TICKS)


class EntryId(msgspec.Struct, frozen=True, kw_only=True):
    conversation_id: ConversationId
    position: Position
    id_at: Instant


def made(of: EntryId) -> UUID:
    """Later in `id_at` is later in the id's own time; what is out of its bounds raises ValueError."""
    if not (0 < of.conversation_id <= LARGEST_CONVERSATION and 0 < of.position <= LARGEST_POSITION):
        raise ValueError("a conversation or a position that no id can name")
    if not 0 <= of.id_at <= LATEST:
        raise ValueError("a moment that no id can name")
    ticks = of.id_at * _TICKS + _EPOCH
    place = of.conversation_id << _POSITION | of.position
    node = place >> 40 << 41 | _NO_CARD | place & (_NO_CARD - 1)
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 1 << 12
    return UUID(int=low << 96 | middle << 80 | high << 64 | 0b10 << 62 | node)


def shown(entry: Entry) -> str:
    found = EntryId(conversation_id=entry.conversation_id, position=entry.position, id_at=entry.id_at)
    return str(made(found))


def read(text: str) -> EntryId | None:
    """What an id names; None for whatever `made` does not make."""
    try:
        given = UUID(text)
    except ValueError:
        return None
    ticks = given.time - _EPOCH
    node = given.int & (1 << 62) - 1
    place = node >> 41 << 40 | node & (_NO_CARD - 1)
    found = EntryId(
        conversation_id=ConversationId(place >> _POSITION),
        position=Position(place & LARGEST_POSITION),
        id_at=Instant(ticks // _TICKS),
    )
    try:
        return found if str(made(found)) == text.lower() else None
    except ValueError:
        return None
