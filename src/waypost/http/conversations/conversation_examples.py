"""Examples of requests and responses of the turn and conversation routes."""

from __future__ import annotations

from typing import Any

from litestar.openapi.spec import Example

FLOOR_EXAMPLES = [
    Example(id="human", summary="Let a user answer", value={"holder": "human"}),
    Example(id="bot", summary="Hand back to the bot", value={"holder": "bot"}),
]

_CONTACT: dict[str, Any] = {
    "contact_id": "3",
    "name": "Ada",
    "username": None,
    "phone": "+15550001111",
    "user_id": None,
    "dossier_id": 1,
}
_INBOUND: dict[str, Any] = {
    "message_id": "678d4000-a4ed-11f0-8000-01000e000003",
    "conversation_id": "7",
    "position": 3,
    "sender_id": "contact:3",
    "client_message_id": None,
    "content": {"type": "text", "text": "Where is my order?"},
    "timestamp": "2026-11-15T09:30:00Z",
    "status": None,
}
_ANSWERED: dict[str, Any] = _INBOUND | {
    "message_id": "6a873980-a4ed-11f0-8000-01000e000004",
    "position": 4,
    "sender_id": "bot",
    "content": {"type": "text", "text": "It arrives on Monday."},
    "timestamp": "2026-11-15T09:30:05Z",
    "status": "delivered",
}
_TURN: dict[str, Any] = {
    "conversation_id": "7",
    "contact": _CONTACT,
    "owner": "kX2v9QmZb1cD",
    "since": "2026-11-15T09:30:03Z",
    "fence": 5,
    "due": None,
    "lease": "2026-11-15T09:30:09Z",
    "waiting": 3,
    "attempts": 0,
    "floor": "bot",
}
_FAILED: dict[str, Any] = {
    "conversation_id": "8",
    "position": 12,
    "contact": _CONTACT | {"contact_id": "4", "name": "Ben", "phone": "+15550002222"},
    "error": "no answer within 120 s",
    "attempts": 4,
    "since": "2026-11-15T09:20:00Z",
    "ended": "2026-11-15T09:22:00Z",
}
_CONVERSATION: dict[str, Any] = {
    "conversation_id": "7",
    "kind": "customer",
    "phone_number_id": "106540352242922",
    "contact": _CONTACT,
    "floor": "bot",
    "last_message": _ANSWERED,
    "created_at": "2026-11-01T10:00:00Z",
}
_ONE = "/api/v1/conversations/{conversation_id}"
ANSWERS: dict[tuple[str, str, str], Any] = {
    ("/api/v1/turns", "get", "200"): {"turns": [_TURN], "failed": [_FAILED]},
    ("/api/v1/turns/{conversation_id}/{position}/replay", "post", "200"): {
        "conversation_id": "8",
        "due": "2026-11-15T09:30:00Z",
        "floor": "bot",
    },
    ("/api/v1/conversations", "get", "200"): {"conversations": [_CONVERSATION]},
    (_ONE, "get", "200"): _CONVERSATION,
    (_ONE + "/messages", "get", "200"): {"messages": [_ANSWERED, _INBOUND], "has_more": True},
    (_ONE + "/floor", "post", "200"): _CONVERSATION | {"floor": "user_7hQm2xVbT0aK"},
}
