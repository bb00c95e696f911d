"""The endpoints of a business account: its templates, its numbers, and the numbers themselves."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from waypost.ports.clock import Ids
from waypost.sandbox.asgi import Answer, Request, answer, refused
from waypost.sandbox.graph_errors import Refusal, bad_parameter, no_such_object
from waypost.sandbox.numbers import Numbers, SandboxNumber
from waypost.sandbox.templates import Templates

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
    def __init__(self, ids: Ids, numbers: Numbers, templates: Templates) -> None:
        self._ids = ids
        self._numbers = numbers
        self._templates = templates

    def templates(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, Refusal):
            return self.refused(allowed)
        query = request.query
        filters = {key: query[key] for key in _FILTERS if key in query}
        found = [
            one for one in self._templates.of(waba_id) if all(getattr(one, key) == filters[key] for key in filters)
        ]
        return self._page(request, [msgspec.to_builtins(one) for one in found])

    def create_template(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, Refusal):
            return self.refused(allowed)
        definition = json_object(request.body)
        if definition is None:
            return self.refused(bad_parameter("The request body must be a JSON object."))
        made = self._templates.create(waba_id, definition)
        if isinstance(made, Refusal):
            return self.refused(made)
        return answer(200, {"id": made.id, "status": made.status, "category": made.category})

    def delete_template(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, Refusal):
            return self.refused(allowed)
        if not self._templates.delete(waba_id, request.query.get("name", "")):
            return self.refused(bad_parameter("Message template not found."))
        return answer(200, {"success": True})

    def phone_numbers(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, Refusal):
            return self.refused(allowed)
        return self._page(request, [_described(number) for number in allowed])

    def subscribe(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        return self.refused(allowed) if isinstance(allowed, Refusal) else answer(200, {"success": True})

    def subscriptions(self, request: Request, waba_id: str) -> Answer:
        allowed = self._numbers.account(request, waba_id)
        if isinstance(allowed, Refusal):
            return self.refused(allowed)
        app = {"id": "1", "name": "Sandbox", "link": "https://www.facebook.com/games/?app_id=1"}
        return answer(200, {"data": [{"whatsapp_business_api_data": app}]})

    def node(self, request: Request, node_id: str) -> Answer:
        """A number, an account or a template by its id."""
        if stranger := self._numbers.stranger(request):
            return self.refused(stranger)
        found = self._found(request, node_id)
        if found is None:
            return self.refused(no_such_object(request.method, node_id))
        return answer(200, _selected(found, request.query.get("fields")))

    def _found(self, request: Request, node_id: str) -> dict[str, Any] | None:
        number = self._numbers.get(node_id)
        if number is not None:
            return _described(number) if number.token == request.token else None
        owned = [one for one in self._numbers.of_account(node_id) if one.token == request.token]
        if owned:
            return {"id": node_id, "name": owned[0].verified_name, "timezone_id": "1", "currency": "USD"}
        known = self._templates.by_id(node_id)
        if known is None or isinstance(self._numbers.account(request, known[0]), Refusal):
            return None
        template: dict[str, Any] = msgspec.to_builtins(known[1])
        return template

    def _page(self, request: Request, items: list[dict[str, Any]]) -> Answer:
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

    def refused(self, refusal: Refusal) -> Answer:
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
    """The fields that were asked for; without a wish, those that Meta gives by itself."""
    if not fields:
        numbers_extra = _ONLY_WHEN_ASKED if "display_phone_number" in item else ()
        return {key: value for key, value in item.items() if key not in numbers_extra}
    asked = [field.strip() for field in fields.split(",")]
    return {key: item[key] for key in dict.fromkeys([*asked, "id"]) if key in item}


def _here(request: Request) -> str:
    return f"{request.scheme}://{request.header(b'host')}{request.path}"


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(str(position).encode()).decode()


def _position(cursor: str) -> int | None:
    try:
        return int(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError):
        return None
