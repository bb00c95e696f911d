"""Examples of requests and responses of the outbox routes."""

from __future__ import annotations

from typing import Any

from litestar.openapi.spec import Example

from waypost.http.edge.route_docs import shows
from waypost.http.sending.views import MessageView

_TEXT = {"channel": "WHATSAPP", "to": "+15550001111", "payloadJson": {"text": "Your order is on its way"}}
_TEMPLATE = {
    "channel": "WHATSAPP",
    "to": "+15550001111",
    "templateCode": "order_confirmation",
    "payloadJson": {
        "language": "en",
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": "Ada"}, {"type": "text", "text": "7"}]}
        ],
    },
    "idempotencyKey": "order-7-confirmed",
}
_EMAIL = {
    "channel": "EMAIL",
    "to": "ann@example.com",
    "subject": "Your order is on its way",
    "payloadJson": {"text": "It arrives on Monday.", "html": "<p>It arrives on <b>Monday</b>.</p>"},
}
MESSAGE_EXAMPLES = [
    Example(id="text", summary="A text", value=_TEXT),
    Example(id="template", summary="A template with an idempotency key", value=_TEMPLATE),
    Example(id="email", summary="An email", value=_EMAIL),
]
BATCH_EXAMPLES = [Example(id="batch", summary="Two messages", value={"messages": [_TEXT, _TEMPLATE]})]
REPLAY_EXAMPLES = [Example(id="code", summary="All that failed with one error", value={"errorCode": "131016"})]
RECEIPT_EXAMPLES = [
    Example(
        id="typing",
        summary="Read, with a typing indicator",
        value={"messageId": "wamid.HBgLMTU1NTAwMDExMTEVAgARGBI", "typing": True},
    )
]
_MESSAGE = {
    "id": 456,
    "orgId": "acme",
    "from": "106540352242922",
    "dossierId": None,
    "channel": "WHATSAPP",
    "direction": "OUTBOUND",
    "to": "+15550001111",
    "templateCode": None,
    "subject": None,
    "payloadJson": {"text": "Your order is on its way"},
    "status": "SENDING",
    "providerMessageId": None,
    "idempotencyKey": "order-7-confirmed",
    "attemptCount": 1,
    "maxAttempts": 5,
    "errorCode": None,
    "errorMessage": None,
    "nextRetryAt": None,
    "priority": 5,
    "ordered": False,
    "scheduledAt": None,
    "expiresAt": None,
    "createdAt": "2026-11-15T09:30:00Z",
    "updatedAt": "2026-11-15T09:30:00.020000Z",
    "sentAt": None,
    "deliveredAt": None,
    "readAt": None,
    "deferredBy": None,
    "behind": None,
}
_SENT = {
    "status": "SENT",
    "providerMessageId": "wamid.HBgLMTU1NTAwMDExMTEVAgARGBI",
    "sentAt": "2026-11-15T09:30:00.120000Z",
}
_TIMELINE = {
    "why": "the provider has it; no delivery was reported yet",
    "nextAt": None,
    "events": [
        {
            "at": "2026-11-15T09:30:00Z",
            "kind": "submitted",
            "detail": "freeform to +15550001111 from 106540352242922, priority 5",
        },
        {"at": "2026-11-15T09:30:00.020000Z", "kind": "claimed", "detail": "try 1"},
        {"at": "2026-11-15T09:30:00.120000Z", "kind": "accepted", "detail": ""},
    ],
}
_ERROR_CODES = [
    {
        "code": "130429",
        "title": "Rate limit hit",
        "action": "wait",
        "retryable": True,
        "rateLimit": True,
        "scope": "number",
    },
    {
        "code": "131026",
        "title": "Message undeliverable",
        "action": "fail",
        "retryable": False,
        "rateLimit": False,
        "scope": None,
    },
]
_ORDER_CONFIRMATION = {
    "wabaId": "102290129340398",
    "id": "1000000000000002",
    "name": "order_confirmation",
    "language": "en",
    "status": "APPROVED",
    "category": "UTILITY",
    "parameterFormat": "POSITIONAL",
    "parameters": [
        {"component": "body", "index": None, "kind": "text", "name": "1"},
        {"component": "body", "index": None, "kind": "text", "name": "2"},
    ],
    "components": [{"type": "BODY", "text": "Hello {{1}}, your order {{2}} is confirmed."}],
}
_SYNCED = {"wabaId": "102290129340398", "templates": 1, "syncedAt": "2026-11-15T09:30:00Z", "error": None}
_PREVIEW: dict[str, Any] = {
    "name": "order_confirmation",
    "language": "en",
    "status": "APPROVED",
    "header": None,
    "body": "Hello Ada, your order 7 is confirmed.",
    "footer": None,
    "buttons": [],
    "text": "Hello Ada, your order 7 is confirmed.",
}
_WAITING = {"status": "QUEUED", "attemptCount": 0}
_DEAD = {"status": "FAILED", "errorCode": "131016", "errorMessage": "Service unavailable", "attemptCount": 6}
_REFUSED: dict[str, Any] = {
    "status": 422,
    "error": {
        "type": "about:blank",
        "title": "Invalid content",
        "status": 422,
        "code": "invalid_recipient",
        "detail": "to: has fewer than 7 digits",
        "field": "to",
    },
}


CREATED = {
    200: shows(MessageView, "The key was used before with the same content; that message is returned"),
    201: shows(MessageView, "Stored"),
    202: shows(MessageView, "Stored; the status to wait for did not come within the sync timeout"),
}
_OUTBOUND = "/api/v1/outbound"
_MESSAGES = "/api/v1/outbound/messages"
_TEMPLATES = "/api/v1/outbound/templates"
ANSWERS: dict[tuple[str, str, str], Any] = {
    (_MESSAGES, "post", "200"): _MESSAGE | _SENT,
    (_MESSAGES, "post", "201"): _MESSAGE | {"status": "QUEUED", "attemptCount": 0},
    (_MESSAGES, "post", "202"): _MESSAGE,
    (_MESSAGES, "get", "200"): [_MESSAGE | _SENT],
    (_MESSAGES + "/{message_id}", "get", "200"): _MESSAGE | _SENT,
    (_MESSAGES + "/{message_id}/timeline", "get", "200"): _TIMELINE,
    ("/api/v1/outbound/error-codes", "get", "200"): _ERROR_CODES,
    (_MESSAGES + "/batch", "post", "207"): {"results": [{"status": 201, "message": _MESSAGE | _WAITING}, _REFUSED]},
    (_OUTBOUND + "/dead-letters", "get", "200"): {"content": [_MESSAGE | _DEAD]},
    (_OUTBOUND + "/dead-letters/replay", "post", "200"): {"replayed": 12, "more": False},
    (_TEMPLATES, "get", "200"): {"content": [_ORDER_CONFIRMATION], "accounts": [_SYNCED]},
    (_TEMPLATES + "/sync", "post", "200"): [_SYNCED],
    (_TEMPLATES + "/{name}/preview", "post", "200"): _PREVIEW,
}
