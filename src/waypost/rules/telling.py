"""What a bot is told of a conversation: the burst and what came before, as the customer sees it now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from waypost.model.chat import NOTE
from waypost.model.conversation import CONTACT, Entry
from waypost.model.time import to_datetime
from waypost.model.turn import Line, Turn
from waypost.rules import people

MOST_LINES = 50
"""Of one burst that a bot is asked to answer."""


def burst(entries: Iterable[Entry], files: Mapping[int, str]) -> list[Line]:
    """Edited, in the order it was written, without what was taken back."""
    by_name = {_name(entry): entry for entry in entries if entry.deleted_at is None}
    said = people.burst((name, people.read(entry.body, entry.type)) for name, entry in by_name.items())
    return [_line(by_name[name], message, files) for name, message in said]


def history(earlier: Sequence[Entry], written: Sequence[Entry], files: Mapping[int, str]) -> list[Line]:
    """What was said before, without what was taken back since, and as it was edited."""
    contacts = [entry for entry in [*earlier, *written] if entry.sender == CONTACT]
    stands = dict(people.burst((_name(entry), people.read(entry.body, entry.type)) for entry in contacts))
    told = []
    for entry in earlier:
        if entry.deleted_at is not None or entry.type == NOTE:
            continue
        if entry.sender != CONTACT:
            told.append(_line(entry, people.read(entry.body, entry.type), files))
        elif _name(entry) in stands:
            told.append(_line(entry, stands[_name(entry)], files))
    return told


def capped(turn: Turn) -> Turn:
    """After weeks without a bot a burst may be a novel: its last lines are answered, the rest is what came before."""
    if len(turn.messages) <= MOST_LINES:
        return turn
    earlier, latest = turn.messages[:-MOST_LINES], turn.messages[-MOST_LINES:]
    return replace(turn, messages=latest, history=[*turn.history, *earlier])


def _name(entry: Entry) -> str:
    return entry.wamid or str(entry.position)


def _line(entry: Entry, message: dict[str, Any], files: Mapping[int, str]) -> Line:
    return Line(
        sender=entry.sender,
        type=entry.type,
        text=people.words(message),
        content=message,
        timestamp=to_datetime(entry.at),
        media_id=files.get(entry.position),
    )
