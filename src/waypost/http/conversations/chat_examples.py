"""Examples of requests of the chat routes."""

from __future__ import annotations

from litestar.openapi.spec import Example

CHAT_EXAMPLES = [
    Example(id="direct", summary="With one other user", value={"kind": "direct", "members": ["user_9fK2"]}),
    Example(
        id="group",
        summary="With several",
        value={"kind": "group", "members": ["user_9fK2", "user_Qm71"], "title": "Returns"},
    ),
]
POST_EXAMPLES = [
    Example(
        id="text",
        summary="A text",
        value={
            "client_message_id": "0d1f6f1e-6a4b-4a7e-9d8e-2b1c3d4e5f60",
            "conversation_id": "7",
            "content": {"type": "text", "text": "How can I help?"},
        },
    ),
    Example(
        id="template",
        summary="A template to a customer whose window is closed",
        value={
            "client_message_id": "5a7c9b2e-1f3d-4e6a-8b0c-7d9e1f2a3b4c",
            "conversation_id": "7",
            "content": {"type": "template", "template": {"name": "hello_world", "language": "en_US"}},
        },
    ),
]
WORK_EXAMPLES = [
    Example(id="assign", summary="Assign", value={"assignee": "user_9fK2"}),
    Example(id="close", summary="Close", value={"state": "closed", "labels": ["refund"]}),
]
