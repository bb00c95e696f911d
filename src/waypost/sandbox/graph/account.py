"""The Graph API endpoints of business accounts, templates and numbers."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from waypost.ports.platform.clock import Ids
from waypost.sandbox.content.templates import TemplateRegistry
from waypost.sandbox.edge.asgi import SandboxRequest, SandboxResponse, answer, refused
from waypost.sandbox.edge.graph_errors import GraphError, bad_parameter, no_such_object
from waypost.sandbox.store.numbers import Numbers, SandboxNumber

_PAGE: Final = 25
_FILTERS: Final = ("name", "language", "status", "category")
_ONLY_WHEN_ASKED: Final = (
    "whatsapp_business_manager_messaging_limit",
    "messaging_limit_tier",
    "name_status",
    "account_mode",
    "status",
)


class AccountEndpoints:
    def __init__(self, ids: Ids, numbers: Numbers, templates: TemplateRegistry) -> None:
        self._ids = ids
        self._numbers = numbers
        self._templates = templates

    def templates(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, GraphError):
            return self.refused(allowed)
        query = request.query
        filters = {key: query[key] for key in _FILTERS if key in query}
        found = [
            one for one in self._templates.of(waba_id) if all(getattr(one, key) == filters[key] for key in filters)
        ]
        return self._page(request, [msgspec.to_builtins(one) for one in found])

    def create_template(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, GraphError):
            return self.refused(allowed)
        definition = json_object(request.body)
        if definition is None:
            return self.refused(bad_parameter("The request body must be a JSON object."))
        made = self._templates.create(waba_id, definition)
        if isinstance(made, GraphError):
            return self.refused(made)
        return answer(200, {"id": made.id, "status": made.status, "category": made.category})

    def delete_template(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, GraphError):
            return self.refused(allowed)
        if not self._templates.delete(waba_id, request.query.get("name", "")):
            return self.refused(bad_parameter("Message template not found."))
        return answer(200, {"success": True})

    def phone_numbers(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, GraphError):
            return self.refused(allowed)
        return self._page(request, [_described(number) for number in allowed])

    def subscribe(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        return self.refused(allowed) if isinstance(allowed, GraphError) else answer(200, {"success": True})

    def subscriptions(self, request: SandboxRequest, waba_id: str) -> SandboxResponse:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, GraphError):
            return self.refused(allowed)
        app = {"id": "1", "name": "Sandbox", "link": "https://www.facebook.com/games/?app_id=1"}
        return answer(200, {"data": [{"whatsapp_business_api_data": app}]})

    def node(self, request: SandboxRequest, node_id: str) -> SandboxResponse:
        """A number, an account or a template by its id."""
        if unauthorized := self._numbers.unauthorized(request):
            return self.refused(unauthorized)
        found = self._found(request, node_id)
        if found is None:
            return self.refused(no_such_object(request.method, node_id))
        return answer(200, _selected(found, request.query.get("fields")))

    def _found(self, request: SandboxRequest, node_id: str) -> dict[str, Any] | None:
        number = self._numbers.get(node_id)
        if number is not None:
            return _described(number) if number.token == request.token else None
        owned = [one for one in self._numbers.of_account(node_id) if one.token == request.token]
        if owned:
            return {"id": node_id, "name": owned[0].verified_name, "timezone_id": "1", "currency": "USD"}
        known = self._templates.by_id(node_id)
        if known is None or isinstance(self._numbers.account(request, known[0]), GraphError):
            return None
        template: dict[str, Any] = msgspec.to_builtins(known[1])
        return template

    def _page(self, request: SandboxRequest, items: list[dict[str, Any]]) -> SandboxResponse:
        query = request.query
        limit = int(query["limit"]) if query.get("limit", "").isdecimal() else _PAGE
        start = _position(query["after"]) if query.get("after") else 0
        if start is None or limit < 1:
            return self.refused(bad_parameter("Invalid cursors values"))
        page = items[start : start + limit]
        shown = [_selected(item, query.get("fields")) for item in page]
        if not page:
            return answer(200, {"data": []})
        after = _cursor(start + len(page))
        paging: dict[str, Any] = {"cursors": {"before": _cursor(start), "after": after}}
        if start + limit < len(items):
            paging["next"] = f"{_here(request)}?{urlencode({**query, 'limit': limit, 'after': after})}"
        return answer(200, {"data": shown, "paging": paging})

    def refused(self, refusal: GraphError) -> SandboxResponse:
        return refused(refusal, self._ids.token(12))


def json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _described(number: SandboxNumber) -> dict[str, Any]:
    webhook = {"webhook_configuration": {"application": number.webhook_url}} if number.webhook_url else {}
    return {
        "verified_name": number.verified_name,
        "code_verification_status": "VERIFIED",
        "display_phone_number": number.display_phone_number,
        "quality_rating": "GREEN",
        "platform_type": "CLOUD_API",
        "throughput": {"level": "STANDARD"},
        **webhook,
        "id": number.phone_number_id,
        "whatsapp_business_manager_messaging_limit": "TIER_UNLIMITED",
        "messaging_limit_tier": "TIER_UNLIMITED",
        "name_status": "APPROVED",
        "account_mode": "SANDBOX",
        "status": "CONNECTED",
    }


def _selected(item: dict[str, Any], fields: str | None) -> dict[str, Any]:
    """The requested fields, or those that Meta returns by default."""
    if not fields:
        numbers_extra = _ONLY_WHEN_ASKED if "display_phone_number" in item else ()
        return {key: value for key, value in item.items() if key not in numbers_extra}
    asked = [field.strip() for field in fields.split(",")]
    return {key: item[key] for key in dict.fromkeys([*asked, "id"]) if key in item}


def _here(request: SandboxRequest) -> str:
    return f"{request.scheme}://{request.header(b'host')}{request.path}"


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(str(position).encode()).decode()


def _position(cursor: str) -> int | None:
    try:
        return int(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError):
        return None
