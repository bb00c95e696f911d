"""The WebSocket handshake: checks path, upgrade, origin and the connection limit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias
from urllib.parse import urlsplit

from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from waypost.http.edge.problems import MEDIA_TYPE, Problem, body
from waypost.http.edge.webhook_endpoint import AsgiScope, AsgiSend
from waypost.ports.live.live_connection import HandshakeInfo

PATH = "/api/v1/ws"

Origins: TypeAlias = Callable[[str, str], bool]
"""Whether a page of this origin may connect under this host name."""

NOT_HERE = Problem(404, "not_found", f"WebSockets connect at {PATH}")
NO_UPGRADE = Problem(
    426,
    "upgrade_required",
    f"{PATH} accepts WebSockets only; where they are blocked, GET /api/v1/sync returns the same items",
    headers={"upgrade": "websocket", "connection": "upgrade"},
)
FOREIGN = Problem(403, "origin_not_allowed", "pages of this origin may not connect")
FULL = Problem(503, "busy", "connection limit reached; retry shortly", headers={"retry-after": "5"})
_BAD = "not a valid WebSocket handshake (RFC 6455)"


def same_host(also: Collection[str] = ()) -> Origins:
    """Allows pages from the request's own host, and from these origins (`https://chat.example.org`)."""
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
    """A request without an origin does not come from a browser, so no page can misuse a login."""
    try:
        origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
    except MultipleValuesError:
        return FOREIGN
    return None if origin is None or origins(origin, host) else FOREIGN


def caller_of(request: Request, address: str) -> HandshakeInfo:
    """A header that is sent twice is ignored."""
    sent = {name: request.headers.get_all(name) for name in ("origin", "authorization", "cookie")}
    return HandshakeInfo(address=address, **{name: values[0] for name, values in sent.items() if len(values) == 1})


def refused(problem: Problem) -> Response:
    content = body(problem)
    headers = Headers({"Connection": "close", "Content-Type": MEDIA_TYPE, "Content-Length": str(len(content))})
    for name, value in problem.headers.items():
        headers[name] = value
    return Response(problem.status, "Refused", headers, content)


def malformed(answer: Response) -> Problem:
    """The library's refusal of a handshake, as problem+json."""
    if answer.status_code == 426:
        return NO_UPGRADE
    if answer.status_code == 405:
        return Problem(405, "method_not_allowed", _BAD, headers={"allow": "GET"})
    reason = answer.body.decode(errors="replace").partition(": ")[2].strip().rstrip(".")
    return Problem(answer.status_code, "bad_handshake", f"{_BAD}: {reason}")


async def ask_for_upgrade(send: AsgiSend) -> None:
    """The answer to a plain HTTP request to the path."""
    content = body(NO_UPGRADE)
    headers = [(name.encode(), value.encode()) for name, value in NO_UPGRADE.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": NO_UPGRADE.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def is_for_us(scope: AsgiScope) -> bool:
    return bool(scope["type"] == "http" and scope["path"] == PATH)
