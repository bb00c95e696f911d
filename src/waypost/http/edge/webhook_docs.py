"""The OpenAPI description of the webhook endpoint, which is not one of the routes."""

from __future__ import annotations

from typing import Any

from waypost.http.edge.problems import MEDIA_TYPE

BUSY = "The database is busy or unreachable: retry after Retry-After seconds"


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemBody"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def _asked(name: str, example: str) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": f"hub.{name}", "in": "query", "required": True, "schema": schema, "example": example}


_STATUS = {
    "id": "wamid.HBgLMTU1NTAwMDExMTEVAgARGBI",
    "status": "delivered",
    "timestamp": "1760000000",
    "recipient_id": "15550001111",
}
_POSTED = {
    "object": "whatsapp_business_account",
    "entry": [
        {
            "id": "102290129340398",
            "changes": [
                {
                    "field": "messages",
                    "value": {
                        "messaging_product": "whatsapp",
                        "metadata": {"display_phone_number": "15550783881", "phone_number_id": "106540352242922"},
                        "statuses": [_STATUS],
                    },
                }
            ],
        }
    ],
}
_SIGNATURE = {
    "name": "X-Hub-Signature-256",
    "in": "header",
    "required": True,
    "description": "`sha256=` and the HMAC-SHA256 of the body as it was sent, in hex, with the number's app secret",
    "schema": {"type": "string"},
}
WEBHOOK = {
    "get": {
        "tags": ["Webhook"],
        "operationId": "VerifyWebhook",
        "summary": "Meta verifies the webhook",
        "security": [],
        "parameters": [
            _asked("mode", "subscribe"),
            _asked("verify_token", "chosen by you"),
            _asked("challenge", "1158201444"),
        ],
        "responses": {
            "200": {
                "description": "The challenge",
                "content": {"text/plain": {"schema": {"type": "string"}, "example": "1158201444"}},
            },
            "403": _problem("The verify token is not the one of a connected number"),
            "503": _problem(BUSY),
        },
    },
    "post": {
        "tags": ["Webhook"],
        "operationId": "TakeWebhook",
        "summary": "Meta sends status updates and inbound messages",
        "security": [],
        "parameters": [_SIGNATURE],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}, "example": _POSTED}},
        },
        "responses": {
            "200": {
                "description": "Everything in it is stored",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "400": _problem("The body is not a JSON object"),
            "401": _problem("The signature is missing or invalid for the number's app secret"),
            "403": _problem("X-Org-Id is not the owner of the number"),
            "404": _problem("Nothing in it is for a connected number"),
            "413": _problem("More than 3 MB"),
            "503": _problem(BUSY),
        },
    },
}
