"""Examples of requests and responses of the account routes."""

from __future__ import annotations

from typing import Any

from litestar.openapi.spec import Example

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
        summary="Ada agreed to be messaged",
        value={"dossierId": 1, "channel": "WHATSAPP", "status": "GRANTED"},
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
_TRIAL = {
    "phone_number_id": "106540352242922",
    "at": "2026-11-15T09:30:00Z",
    "state": "works",
    "said": "the provider knows it as The Shop +1 555-078-3881, quality GREEN, messaging limit TIER_2K",
    "remedy": None,
    "code": None,
    "display_phone_number": "+1 555-078-3881",
    "verified_name": "The Shop",
    "quality": "GREEN",
    "messaging_limit": "TIER_2K",
    "status": "CONNECTED",
    "webhook_url": "https://chat.example.com/api/v1/webhooks/whatsapp/inbound",
}
ANSWERS: dict[tuple[str, str, str], Any] = {
    ("/api/v1/outbound/audit", "get", "200"): {"content": _AUDITED},
    ("/api/v1/outbound/activities", "get", "200"): {"content": [_ACTIVITY]},
    ("/api/v1/numbers/{phone_number_id}/try", "post", "200"): _TRIAL,
    ("/api/v1/quick-replies", "get", "200"): {"quick_replies": [_QUICK_REPLY]},
    ("/api/v1/quick-replies/{name}", "put", "200"): _QUICK_REPLY,
}
