"""Reads ASGI requests and sends responses for the sandbox's handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from waypost.model.time import Instant, to_datetime
from waypost.sandbox.edge.graph_errors import GraphError, error_body, http_status_of

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]

JSON = "application/json; charset=UTF-8"
LARGEST_BODY = 110 * 1024 * 1024


class SandboxRequest(msgspec.Struct, frozen=True):
    method: str
    path: str
    query_string: bytes
    headers: dict[bytes, bytes]
    body: bytes
    token: str | None
    scheme: str = "http"

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True))


class SandboxResponse(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cut: bool = False
    """Whether the connection breaks in the middle of the response."""


class BodyTooLarge(Exception):
    """The request body is larger than any endpoint accepts."""


class CallerGone(Exception):
    """The caller disconnected before the request was complete."""


def answer(status: int, value: object, headers: tuple[tuple[bytes, bytes], ...] = ()) -> SandboxResponse:
    return SandboxResponse(status, msgspec.json.encode(value), headers=headers)


def refused(refusal: GraphError, trace: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> SandboxResponse:
    status = http_status_of(refusal)
    if status == 401:
        headers = (*headers, (b"www-authenticate", b'OAuth "Facebook Platform" "invalid_token"'))
    return answer(status, error_body(refusal, trace), headers)


def iso(moment: Instant) -> str:
    """How the sandbox's own API writes a time."""
    return to_datetime(moment).isoformat(timespec="microseconds").replace("+00:00", "Z")


def gateway_page(status: int) -> SandboxResponse:
    """The HTML page that a proxy answers if it cannot reach the Graph API."""
    page = f"<html><head><title>{status}</title></head><body><h1>{status} Bad Gateway</h1></body></html>"
    return SandboxResponse(status, page.encode(), content_type="text/html; charset=UTF-8")


async def read_request(scope: AsgiMessage, receive: Receive) -> SandboxRequest:
    headers = dict(scope["headers"])
    return SandboxRequest(
        method=scope["method"],
        path=scope["path"],
        query_string=scope.get("query_string", b""),
        headers=headers,
        body=await _read_body(receive),
        token=_token(headers, scope.get("query_string", b"")),
        scheme=scope.get("scheme", "http"),
    )


async def _read_body(receive: Receive) -> bytes:
    event = await receive()
    if event["type"] == "http.request" and not event.get("more_body"):
        return bytes(event.get("body", b""))
    body = bytearray(event.get("body", b""))
    while event.get("more_body"):
        event = await receive()
        body += event.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
    if event["type"] == "http.disconnect":
        raise CallerGone
    return bytes(body)


def _token(headers: dict[bytes, bytes], query_string: bytes) -> str | None:
    """From the header or from `?access_token=`."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if token and scheme.lower() in ("bearer", "oauth"):
        return token.strip()
    if b"access_token=" not in query_string:
        return None
    return dict(parse_qsl(query_string.decode("latin-1"))).get("access_token")


async def transmit(reply: SandboxResponse, send: Send) -> None:
    """A cut response announces a body but does not send it, so that the server breaks the connection."""
    headers = [
        (b"content-type", reply.content_type.encode()),
        (b"content-length", str(len(reply.body)).encode()),
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if reply.cut else reply.body
    await send({"type": "http.response.body", "body": body, "more_body": reply.cut})
