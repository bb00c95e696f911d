"""The status that a conversation shows for an outbound message: sent, delivered, read or failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

from waypost.model.message import Status

ChatStatus: TypeAlias = Literal["sent", "delivered", "read", "failed"]
RANKS: Mapping[ChatStatus, int] = {"sent": 3, "delivered": 4, "read": 5, "failed": 6}
"""Within one generation the higher rank is the later status."""


def chat_status(status: Status, was_read: bool) -> ChatStatus | None:
    """None while it is queued or being sent."""
    match status:
        case Status.QUEUED | Status.SENDING:
            return None
        case Status.SENT:
            return "sent"
        case Status.DELIVERED:
            return "read" if was_read else "delivered"
        case Status.FAILED | Status.CANCELLED:
            return "failed"
        case _:
            assert_never(status)
