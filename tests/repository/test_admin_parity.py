"""Every admin command that changes an org has a route, and every such route has a command."""

from __future__ import annotations

import subprocess
import sys

from litestar.routes import HTTPRoute
from typer.main import get_command

from waypost.http.app import api
from waypost.runtime.cli.admin import app

OUT = "/api/v1/outbound"
SAME: dict[str, set[str]] = {
    "connect-whatsapp": {"POST /api/v1/numbers"},
    "numbers": {"GET /api/v1/numbers"},
    "change-number": {"PATCH /api/v1/numbers/{phone_number_id}"},
    "enable": {"PATCH /api/v1/numbers/{phone_number_id}"},
    "failover": {"PATCH /api/v1/numbers/{phone_number_id}"},
    "try-number": {"POST /api/v1/numbers/{phone_number_id}/try"},
    "disconnect": {"DELETE /api/v1/numbers/{phone_number_id}"},
    "create-key": {"POST /api/v1/keys"},
    "keys": {"GET /api/v1/keys"},
    "rotate-key": {"POST /api/v1/keys/{key_id}/rotate"},
    "revoke-key": {"DELETE /api/v1/keys/{key_id}"},
    "create-user": {"POST /api/v1/users"},
    "users": {"GET /api/v1/users"},
    "renew-token": {"POST /api/v1/users/{user_id}/token"},
    "remove-user": {"DELETE /api/v1/users/{user_id}"},
    "connect-mailbox": {"POST /api/v1/mailboxes"},
    "mailboxes": {"GET /api/v1/mailboxes"},
    "change-mailbox": {"PATCH /api/v1/mailboxes/{mailbox_id}"},
    "disconnect-mailbox": {"DELETE /api/v1/mailboxes/{mailbox_id}"},
    "quick-replies": {"GET /api/v1/quick-replies"},
    "set-quick-reply": {"PUT /api/v1/quick-replies/{name}"},
    "remove-quick-reply": {"DELETE /api/v1/quick-replies/{name}"},
    "journal": {"GET /api/v1/webhook-journal"},
    "replay-journal": {"POST /api/v1/webhook-journal/{item_id}/replay"},
    "media": {"GET /api/v1/media"},
    "save-media": {"GET /api/v1/media/{media_id}"},
    "retry-media": {"POST /api/v1/media/{media_id}/retry"},
    "conversations": {"GET /api/v1/conversations"},
    "messages": {"GET /api/v1/conversations/{conversation_id}/messages"},
    "search": {"GET /api/v1/search"},
    "floor": {"POST /api/v1/conversations/{conversation_id}/floor"},
    "change-conversation": {"PATCH /api/v1/conversations/{conversation_id}"},
    "note": {"POST /api/v1/conversations/{conversation_id}/notes"},
    "replay-turn": {"POST /api/v1/turns/{conversation_id}/{position}/replay"},
    "settings": {"GET /api/v1/settings"},
    "policy": {"GET /api/v1/policy", "PUT /api/v1/policy", "PATCH /api/v1/policy"},
    "spend": {f"GET {OUT}/spend"},
    "quota": {f"GET {OUT}/quota"},
    "set-quota": {f"PUT {OUT}/quota"},
    "gates": {f"GET {OUT}/gates"},
    "release": {f"POST {OUT}/gates/{{gate_id}}/release"},
    "window": {f"GET {OUT}/session-windows/{{phone}}"},
    "stats": {f"GET {OUT}/stats"},
    "error-codes": {f"GET {OUT}/error-codes"},
    "outbox": {f"GET {OUT}/messages"},
    "retry": {f"POST {OUT}/messages/{{message_id}}/retry"},
    "cancel": {f"POST {OUT}/messages/{{message_id}}/cancel"},
    "dead-letters": {f"GET {OUT}/dead-letters"},
    "replay": {f"POST {OUT}/dead-letters/replay"},
    "templates": {f"GET {OUT}/templates", f"POST {OUT}/templates/sync"},
    "dossier": {"POST /api/v1/dossiers"},
    "change-dossier": {"PATCH /api/v1/dossiers/{dossier_id}"},
    "dossiers": {"GET /api/v1/dossiers", "GET /api/v1/dossiers/{dossier_id}"},
    "consent": {f"PUT {OUT}/consents"},
    "consents": {f"GET {OUT}/consents"},
    "audit": {f"GET {OUT}/audit"},
    "activities": {f"GET {OUT}/activities"},
}
ONLY_COMMANDS = {
    "create-org": "a key belongs to one org, so nobody can be authorised to make another",
    "orgs": "no key may see other orgs than its own",
    "backup": "writes a file on the operator's machine",
    "restored": "only while no server runs",
    "copy": "only while no server runs",
    "rotate-secret-key": "the key is in the environment of every server, which no request can change",
}
OTHER_COMMANDS = {
    "POST /api/v1/conversations": "people's own: nobody opens a chat in their name",
    "POST /api/v1/conversations/{conversation_id}/members": "people's own",
    "POST /api/v1/conversations/{conversation_id}/read": "people's own",
    "GET /api/v1/turns": "`waypost turns`",
    "GET /api/v1/team": "part of `waypost admin users`",
    "GET /api/v1/conversations/{conversation_id}": "part of `waypost admin conversations`",
}
ONLY_ROUTES = {
    f"{OUT}/messages": "a caller's own traffic: `waypost send` and `waypost why` are its commands",
    f"{OUT}/media": "part of sending a message",
    f"{OUT}/read-receipts": "part of a conversation",
    f"{OUT}/templates/{{name}}/preview": "part of writing a message",
    "/api/v1/messages": "somebody's own words",
    "/api/v1/sync": "somebody's own screen",
    "/api/v1/devices": "somebody's own",
    "/api/v1/presence": "asks one server about the moment",
    "/api/v1/push-key": "a browser asks it for itself",
    "/api/v1/session": "a browser signs in for itself",
    "/healthz": "asks one server about itself: `waypost doctor`",
    "/readyz": "asks one server about itself: `waypost doctor`",
    "/metrics": "asks one server about itself",
    "/api/v1/overview": "many answers at once, for a page: `stats`, `gates` and `waypost doctor` are its commands",
    "/api/v1/openapi.json": "the routes themselves",
}
"""By the beginning of their paths."""


def commands() -> set[str]:
    return set(get_command(app.whole()).commands)  # type: ignore[attr-defined]  # a group has them


def routes() -> set[str]:
    found = [route for route in api().routes if isinstance(route, HTTPRoute)]  # type: ignore[attr-defined]  # an ASGI app
    return {f"{method} {route.path_format}" for route in found for method in route.methods - {"OPTIONS", "HEAD"}}


def is_only_a_route(route: str) -> bool:
    return any(route.partition(" ")[2].startswith(path) for path in ONLY_ROUTES)


def test_every_command_has_its_route_or_a_reason_to_have_none() -> None:
    assert commands() == SAME.keys() | ONLY_COMMANDS.keys()


def test_every_route_has_its_command_or_a_reason_to_have_none() -> None:
    named = set().union(*SAME.values(), OTHER_COMMANDS)
    assert {route for route in routes() if route in named or not is_only_a_route(route)} == named


def test_no_reason_is_left_over() -> None:
    assert not SAME.keys() & ONLY_COMMANDS.keys()
    paths = {route.partition(" ")[2] for route in routes()}
    assert all(any(path.startswith(only) for path in paths) for only in ONLY_ROUTES)


def test_a_command_does_not_load_the_web_framework() -> None:
    """A quarter of a second, for every command."""
    found = "from waypost.runtime.cli.admin import app; app.whole(); import sys; print('litestar' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
