"""Who may come in by WebSocket: path, upgrade, origin and room are looked at before a line is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias
from urllib.parse import urlsplit

from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from waypost.http.problems import MEDIA_TYPE, Problem, body
from waypost.http.webhook_door import Scope, Send
from waypost.ports.link import Caller

PATH = "/api/v1/ws"

Origins: TypeAlias = Callable[[str, str], bool]
"""Whether a page of this origin may talk to us under this host name."""

NOT_HERE = Problem(404, "not_found", f"WebSockets are taken at {PATH}")
NO_UPGRADE = Problem(
    426,
    "upgrade_required",
    f"{PATH} takes WebSockets only; where they cannot pass, GET /api/v1/sync gives the same items",
    headers={"upgrade": "websocket", "connection": "upgrade"},
)
FOREIGN = Problem(403, "origin_not_allowed", "pages of this origin may not connect")
FULL = Problem(503, "busy", "as many are connected as may be: come back in a moment", headers={"retry-after": "5"})
_BAD = "not a WebSocket handshake as RFC 6455 has it"


def same_host(also: Collection[str] = ()) -> Origins:
    """Pages from the host that they talk to, and from the origins named here (`https://chat.example.org`)."""
    named = frozenset(origin.rstrip("/").lower() for origin in also)

    def allows(origin: str, host: str) -> bool:
        lowered = origin.lower()
        return lowered in named or bool(host and _host_of(lowered) == host.lower())

    return allows


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def misplaced(request: Request) -> Problem | None:
    return None if request.path.partition("?")[0] == PATH else NOT_HERE


def foreign(request: Request, origins: Origins) -> Problem | None:
    """Whoever sends no origin is no browser: there is no page that could misuse somebody's login."""
    try:
        origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
    except MultipleValuesError:
        return FOREIGN
    return None if origin is None or origins(origin, host) else FOREIGN


def caller_of(request: Request, address: str) -> Caller:
    """A header that is there twice says nothing."""
    said = {name: request.headers.get_all(name) for name in ("origin", "authorization", "cookie")}
    return Caller(address=address, **{name: values[0] for name, values in said.items() if len(values) == 1})


def refused(problem: Problem) -> Response:
    content = body(problem)
    headers = Headers({"Connection": "close", "Content-Type": MEDIA_TYPE, "Content-Length": str(len(content))})
    for name, value in problem.headers.items():
        headers[name] = value
    return Response(problem.status, "Refused", headers, content)


def malformed(answer: Response) -> Problem:
    """The library's own refusal of a handshake, as every other error looks."""
    if answer.status_code == 426:
        return NO_UPGRADE
    if answer.status_code == 405:
        return Problem(405, "method_not_allowed", _BAD, headers={"allow": "GET"})
    said = answer.body.decode(errors="replace").partition(": ")[2].strip().rstrip(".")
    return Problem(answer.status_code, "bad_handshake", f"{_BAD}: {said}")


async def ask_for_upgrade(send: Send) -> None:
    """For who comes to the path without one."""
    content = body(NO_UPGRADE)
    headers = [(name.encode(), value.encode()) for name, value in NO_UPGRADE.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": NO_UPGRADE.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def is_for_us(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["path"] == PATH)
