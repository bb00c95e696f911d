"""The public id of an entry: a TimeUUID that contains its position and sorts by storage time."""

from __future__ import annotations

import re

import msgspec

from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.time import Instant

_EPOCH = 0x01B21DD213814000
"""Ticks of 100 ns from 1582-10-15, the epoch of UUID time, to 1970."""
_TICKS = 10
"""Ticks per microsecond."""
_POSITION = 25
_CONVERSATION = 36
"""Bits; with the multicast bit, which marks a node id that is not a MAC address, they fill clock sequence and node."""
_NO_CARD = 1 << 40
_ID = re.compile("-".join(f"([0-9a-fA-F]{{{digits}}})" for digits in (8, 4, 4, 4, 12)), re.ASCII)
LARGEST_POSITION = Position((1 << _POSITION) - 1)
LARGEST_CONVERSATION = ConversationId((1 << _CONVERSATION) - 1)
LATEST = Instant(((1 << 60) - 1 - _EPOCH) // _TICKS)


class EntryId(msgspec.Struct, frozen=True, kw_only=True):
    conversation_id: ConversationId
    position: Position
    id_at: Instant


def made(of: EntryId) -> str:
    """The id of an entry; ids sort by `id_at`. Raises ValueError if a value is out of range."""
    if not (0 < of.conversation_id <= LARGEST_CONVERSATION and 0 < of.position <= LARGEST_POSITION):
        raise ValueError("the conversation or position is out of range for an id")
    if not 0 <= of.id_at <= LATEST:
        raise ValueError("the time is out of range for an id")
    ticks = of.id_at * _TICKS + _EPOCH
    place = of.conversation_id << _POSITION | of.position
    node = place >> 40 << 41 | _NO_CARD | place & (_NO_CARD - 1)
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 1 << 12
    return f"{low:08x}-{middle:04x}-{high:04x}-{0b10 << 14 | node >> 48:04x}-{node & (1 << 48) - 1:012x}"


def shown(entry: Entry) -> str:
    return made(EntryId(conversation_id=entry.conversation_id, position=entry.position, id_at=entry.id_at))


def read(text: str) -> EntryId | None:
    """The entry of an id; None if `made` cannot produce it."""
    parts = _ID.fullmatch(text)
    if parts is None:
        return None
    low, middle, high, sequence, node = (int(part, 16) for part in parts.groups())
    ticks = (high & 0xFFF) << 48 | middle << 32 | low
    where = (sequence & 0x3FFF) << 48 | node
    place = where >> 41 << 40 | where & (_NO_CARD - 1)
    found = EntryId(
        conversation_id=ConversationId(place >> _POSITION),
        position=Position(place & LARGEST_POSITION),
        id_at=Instant((ticks - _EPOCH) // _TICKS),
    )
    try:
        return found if made(found) == text.lower() else None
    except ValueError:
        return None
