"""The OpenAPI document as it is served: Litestar's, completed with our examples and the webhook endpoint."""

from __future__ import annotations

from typing import Any

from litestar.connection import Request
from litestar.openapi.plugins import JsonRenderPlugin

from waypost.http.accounts import examples as accounts
from waypost.http.conversations import conversation_examples as conversations
from waypost.http.edge.webhook_docs import WEBHOOK
from waypost.http.edge.webhook_endpoint import PATH
from waypost.http.limits import examples as limits
from waypost.http.sending import examples as sending

_ANSWERS = {**sending.ANSWERS, **limits.ANSWERS, **accounts.ANSWERS, **conversations.ANSWERS}
_ONE_OF_MANY = "#/components/schemas/CreateMessage"
"""Each item is decoded on its own, so its schema is given here."""
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


class OpenApiDocument(JsonRenderPlugin):
    """The served OpenAPI document."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return super().render(request, completed(openapi_schema))


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """Adds the webhook endpoint, keeps nulls in examples, and removes Litestar's own error responses."""
    paths = {
        path: {method: _honest(operation) for method, operation in item.items()}
        for path, item in document["paths"].items()
    }
    for (path, method, status), example in _ANSWERS.items():
        paths[path][method]["responses"][status]["content"]["application/json"]["example"] = example
    schemas = document["components"]["schemas"]
    one_by_one = schemas["CreateMessages"]["properties"]["messages"] | {"items": {"$ref": _ONE_OF_MANY}}
    schemas["CreateMessages"]["properties"]["messages"] = one_by_one
    paths[_MEDIA]["post"]["requestBody"] = _UPLOAD
    return document | {"paths": paths | {PATH: WEBHOOK}}


def _honest(operation: dict[str, Any]) -> dict[str, Any]:
    """Litestar adds a 400 of its own to every route with parameters."""
    responses = operation["responses"]
    if "application/json" in responses.get("400", {}).get("content", {}):
        responses = {status: response for status, response in responses.items() if status != "400"}
    return operation | {"responses": responses}
