"""The idempotency key of a bot's reply, which identifies its turn."""

from __future__ import annotations

import re

import msgspec

from waypost.model.conversation import ConversationId, Position

_KEY = re.compile(r"turn:([1-9][0-9]{0,18})-([0-9]{1,18})-([1-9][0-9]{0,17}):[0-9]{1,9}", re.ASCII)


class TurnOf(msgspec.Struct, frozen=True, kw_only=True):
    conversation_id: ConversationId
    lo: Position
    hi: Position

    @property
    def id(self) -> str:
        return f"{self.conversation_id}-{self.lo}-{self.hi}"


def key(turn_id: str, number: int) -> str:
    """The key of the first, second, … reply of a turn."""
    return f"turn:{turn_id}:{number}"


def turn_of(idempotency_key: str) -> TurnOf | None:
    found = _KEY.fullmatch(idempotency_key)
    if found is None:
        return None
    conversation, lo, hi = map(int, found.groups())
    return TurnOf(conversation_id=ConversationId(conversation), lo=Position(lo), hi=Position(hi))
