"""The context of a bot's turn: the burst and the history, as the customer sees them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waypost.model.chat import NOTE
from waypost.model.conversation import CONTACT, Entry
from waypost.model.time import to_datetime
from waypost.model.turn import TurnMessage
from waypost.rules.conversations import message_text


def burst(entries: Iterable[Entry], files: Mapping[int, str]) -> list[TurnMessage]:
    """The messages with edits applied, in the order of writing, without deleted ones."""
    by_name = {_name(entry): entry for entry in entries if entry.deleted_at is None}
    messages = message_text.burst((name, message_text.read(entry.body, entry.type)) for name, entry in by_name.items())
    return [_line(by_name[name], message, files) for name, message in messages]


def history(earlier: Sequence[Entry], written: Sequence[Entry], files: Mapping[int, str]) -> list[TurnMessage]:
    """The earlier messages with edits applied, without deleted ones and notes."""
    contacts = [entry for entry in [*earlier, *written] if entry.sender == CONTACT]
    latest = dict(message_text.burst((_name(entry), message_text.read(entry.body, entry.type)) for entry in contacts))
    lines = []
    for entry in earlier:
        if entry.deleted_at is not None or entry.type == NOTE:
            continue
        if entry.sender != CONTACT:
            lines.append(_line(entry, message_text.read(entry.body, entry.type), files))
        elif _name(entry) in latest:
            lines.append(_line(entry, latest[_name(entry)], files))
    return lines


def _name(entry: Entry) -> str:
    return entry.wamid or str(entry.position)


def _line(entry: Entry, message: dict[str, Any], files: Mapping[int, str]) -> TurnMessage:
    return TurnMessage(
        sender=entry.sender,
        type=entry.type,
        text=message_text.words(message),
        content=message,
        timestamp=to_datetime(entry.at),
        media_id=files.get(entry.position),
    )
