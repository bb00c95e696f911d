"""What the OpenAPI document says beyond the types: the errors of a route, and examples."""

from __future__ import annotations

from typing import Any

from litestar.connection import Request
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Example

from waypost.http.conversation_examples import ANSWERS as CONVERSATIONS
from waypost.http.documented_door import BUSY, DOOR
from waypost.http.operating_examples import GATE, QUOTA, REFUSED, STATS, TRIAL, WINDOW
from waypost.http.problems import MEDIA_TYPE, ProblemBody
from waypost.http.views import MessageView
from waypost.http.webhook_door import PATH

_WHAT = {
    400: "The body is not JSON, or a parameter cannot be read",
    401: "No key, or one that is unknown or revoked",
    403: "The key's role does not allow this, or X-Org-Id is another org",
    404: "This org has no such thing",
    408: "The body did not arrive in time",
    409: "It does not fit what is there already",
    410: "It was there once",
    413: "The body is too large",
    415: "The body is no multipart form",
    416: "The file ends before the part that Range asks for",
    422: "The content cannot be taken as it is; `code` and `field` say why",
    502: "The provider refused it or did not answer",
    429: "The org makes more requests than its requestRate allows: come back after Retry-After",
    503: BUSY,
}
_ALWAYS = (401, 403, 429, 503)


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """The errors of a route that needs a key; those that any such route can answer are added."""
    return {
        status: ResponseSpec(
            data_container=ProblemBody, description=_WHAT[status], media_type=MEDIA_TYPE, generate_examples=False
        )
        for status in sorted({*statuses, *_ALWAYS})
    }


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
    Example(id="template", summary="A template, sent once however often it is posted", value=_TEMPLATE),
    Example(id="email", summary="An email", value=_EMAIL),
]

NUMBER_EXAMPLES = [
    Example(
        id="number",
        summary="A number of the Cloud API",
        value={
            "phone_number_id": "106540352242922",
            "waba_id": "102290129340398",
            "token": "EAAGm0PX4ZCpsBA",
            "app_secret": "0123456789abcdef",
            "verify_token": "chosen by you",
        },
    )
]

DOSSIER_EXAMPLES = [
    Example(id="person", summary="A customer", value={"phone": "+15550001111", "name": "Ada", "externalRef": "crm-7"})
]
CONSENT_EXAMPLES = [
    Example(
        id="granted",
        summary="Ada may be written to",
        value={"dossierId": 1, "channel": "WHATSAPP", "status": "GRANTED"},
    )
]
BATCH_EXAMPLES = [Example(id="batch", summary="Two messages", value={"messages": [_TEXT, _TEMPLATE]})]
QUOTA_EXAMPLES = [Example(id="quota", summary="5000 in 24 hours", value={"quotaLimit": 5000})]
REPLAY_EXAMPLES = [Example(id="code", summary="All that ended with one error", value={"errorCode": "131016"})]

RECEIPT_EXAMPLES = [
    Example(
        id="typing",
        summary="Read, and being answered",
        value={"messageId": "wamid.HBgLMTU1NTAwMDExMTEVAgARGBI", "typing": True},
    )
]
MAILBOX_EXAMPLES = [
    Example(
        id="mailbox",
        summary="A mailbox at a mail provider",
        value={
            "address": "shop@example.com",
            "name": "The shop",
            "host": "smtp.example.com",
            "username": "shop@example.com",
            "password": "an app password",
        },
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


def shows(view: type, description: str) -> ResponseSpec:
    return ResponseSpec(data_container=view, description=description, generate_examples=False)


def _message(description: str) -> ResponseSpec:
    return shows(MessageView, description)


CREATED = {
    200: _message("The key was used before with the same content: the same message"),
    201: _message("Stored"),
    202: _message("Stored; the status that was waited for did not come within the sync timeout"),
}
_WAITING = {"status": "QUEUED", "attemptCount": 0}
_DEAD = {"status": "FAILED", "errorCode": "131016", "errorMessage": "Service unavailable", "attemptCount": 6}
_OUTBOUND = "/api/v1/outbound"
_MESSAGES = "/api/v1/outbound/messages"
_TEMPLATES = "/api/v1/outbound/templates"
_AUDITED = [
    {
        "id": "m456-sent-1",
        "at": "2026-11-15T09:30:00.120000Z",
        "entityType": "OUTBOUND_MESSAGE",
        "entityId": "456",
        "action": "SENT",
        "actor": "system",
        "details": "the provider has it",
    },
    {
        "id": "17",
        "at": "2026-11-15T09:29:00Z",
        "entityType": "DOSSIER",
        "entityId": "1",
        "action": "CONSENT_CHANGED",
        "actor": "key_PZx7q2dLr0aB",
        "details": "WHATSAPP: GRANTED (before: not recorded)",
    },
]
_ACTIVITY = {
    "id": "m456-sent-1",
    "at": "2026-11-15T09:30:00.120000Z",
    "dossierId": 1,
    "type": "MESSAGE_SENT",
    "payload": {"outboundMessageId": 456, "channel": "WHATSAPP", "to": "+15550001111", "status": "SENT"},
}
_QUICK_REPLY = {
    "name": "hello",
    "text": "Hello {name}, how can I help?",
    "updated_at": "2026-11-15T09:30:00Z",
    "updated_by": "user_7hQm2xVbT0aK",
}
_ANSWERS: dict[tuple[str, str, str], Any] = {
    (_MESSAGES, "post", "200"): _MESSAGE | _SENT,
    (_MESSAGES, "post", "201"): _MESSAGE | {"status": "QUEUED", "attemptCount": 0},
    (_MESSAGES, "post", "202"): _MESSAGE,
    (_MESSAGES, "get", "200"): [_MESSAGE | _SENT],
    (_MESSAGES + "/{message_id}", "get", "200"): _MESSAGE | _SENT,
    (_MESSAGES + "/{message_id}/timeline", "get", "200"): _TIMELINE,
    ("/api/v1/outbound/error-codes", "get", "200"): _ERROR_CODES,
    ("/api/v1/outbound/audit", "get", "200"): {"content": _AUDITED},
    ("/api/v1/outbound/activities", "get", "200"): {"content": [_ACTIVITY]},
    (_MESSAGES + "/batch", "post", "207"): {"results": [{"status": 201, "message": _MESSAGE | _WAITING}, REFUSED]},
    (_OUTBOUND + "/quota", "get", "200"): QUOTA,
    (_OUTBOUND + "/quota", "put", "200"): QUOTA,
    (_OUTBOUND + "/gates", "get", "200"): {"content": [GATE]},
    (_OUTBOUND + "/gates/{gate_id}/release", "post", "200"): GATE | {"waiting": 0},
    (_OUTBOUND + "/session-windows/{phone}", "get", "200"): WINDOW,
    (_OUTBOUND + "/stats", "get", "200"): STATS,
    (_OUTBOUND + "/dead-letters", "get", "200"): {"content": [_MESSAGE | _DEAD]},
    (_OUTBOUND + "/dead-letters/replay", "post", "200"): {"replayed": 12, "more": False},
    (_TEMPLATES, "get", "200"): {"content": [_ORDER_CONFIRMATION], "accounts": [_SYNCED]},
    (_TEMPLATES + "/sync", "post", "200"): [_SYNCED],
    (_TEMPLATES + "/{name}/preview", "post", "200"): _PREVIEW,
    ("/api/v1/numbers/{phone_number_id}/try", "post", "200"): TRIAL,
    ("/api/v1/quick-replies", "get", "200"): {"quick_replies": [_QUICK_REPLY]},
    ("/api/v1/quick-replies/{name}", "put", "200"): _QUICK_REPLY,
    **CONVERSATIONS,
}


_ONE_OF_MANY = "#/components/schemas/CreateMessage"
"""Taken as it comes, since each is read on its own; this is what it should be."""

_MEDIA = "/api/v1/outbound/media"
_UPLOAD = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}, "from": {"type": "string"}},
            }
        }
    },
}


class Document(JsonRenderPlugin):
    """The document as it is served."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return super().render(request, completed(openapi_schema))


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """With the door before the routes, examples that have their nulls, and no refusal that is not ours."""
    paths = {path: {method: _honest(told) for method, told in item.items()} for path, item in document["paths"].items()}
    for (path, method, status), example in _ANSWERS.items():
        paths[path][method]["responses"][status]["content"]["application/json"]["example"] = example
    schemas = document["components"]["schemas"]
    one_by_one = schemas["CreateMessages"]["properties"]["messages"] | {"items": {"$ref": _ONE_OF_MANY}}
    schemas["CreateMessages"]["properties"]["messages"] = one_by_one
    paths[_MEDIA]["post"]["requestBody"] = _UPLOAD
    return document | {"paths": paths | {PATH: DOOR}}


def _honest(operation: dict[str, Any]) -> dict[str, Any]:
    """Litestar adds a 400 of its own wherever there are parameters."""
    responses = operation["responses"]
    if "application/json" in responses.get("400", {}).get("content", {}):
        responses = {status: response for status, response in responses.items() if status != "400"}
    return operation | {"responses": responses}
