"""The states of one device's live connection, and the moves between them."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class SessionState(StrEnum):
    CONNECTED = "CONNECTED"
    CATCHING_UP = "CATCHING_UP"
    LIVE = "LIVE"
    RECOVERING = "RECOVERING"
    CLOSED = "CLOSED"


class SessionMove(StrEnum):
    WELCOME = "welcome"
    CATCH_UP = "catch_up"
    FALL_BEHIND = "fall_behind"
    CLOSE = "close"


MOVES: dict[tuple[SessionState, SessionMove], SessionState] = {
    (SessionState.CONNECTED, SessionMove.WELCOME): SessionState.CATCHING_UP,
    (SessionState.CATCHING_UP, SessionMove.CATCH_UP): SessionState.LIVE,
    (SessionState.LIVE, SessionMove.FALL_BEHIND): SessionState.RECOVERING,
    (SessionState.RECOVERING, SessionMove.CATCH_UP): SessionState.LIVE,
    (SessionState.CONNECTED, SessionMove.CLOSE): SessionState.CLOSED,
    (SessionState.CATCHING_UP, SessionMove.CLOSE): SessionState.CLOSED,
    (SessionState.LIVE, SessionMove.CLOSE): SessionState.CLOSED,
    (SessionState.RECOVERING, SessionMove.CLOSE): SessionState.CLOSED,
}

READING = frozenset({SessionState.CATCHING_UP, SessionState.RECOVERING})
"""Pages are being read; new items are buffered."""
ONCE_LIVE = frozenset({SessionState.LIVE, SessionState.RECOVERING})


class NextRound(IntEnum):
    """What a device that reads pages must still do before it can go live; the larger includes the smaller."""

    NOTHING = 0
    READ = 1
    """Items are missing: read another page."""
    FOLLOW = 2
    """The user joined or left a group: follow the feeds anew, then read another page."""
