"""The part of an HTTP server that speaks ASGI to an app: one request, or its lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from waypost.ports.platform.http_transport import HttpReply

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
AsgiEvent = MutableMapping[str, Any]

_VERSION = {"version": "3.0", "spec_version": "2.4"}
_PORTS = {"http": 80, "https": 443}


class StartupFailed(Exception):
    """The app refused to start."""


class SimulatedRequest(msgspec.Struct, frozen=True):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return _host(self.url)

    @property
    def target(self) -> str:
        """Path and query, for the trace."""
        parts = urlsplit(self.url)
        return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


@lru_cache(512)
def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def scope_of(request: SimulatedRequest, client: str, state: Mapping[str, Any]) -> dict[str, Any]:
    parts = urlsplit(request.url)
    path = parts.path or "/"
    return {
        "type": "http",
        "asgi": _VERSION,
        "http_version": "1.1",
        "method": request.method.upper(),
        "scheme": parts.scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": _headers(request, parts.netloc),
        "client": (client, 0),
        "server": (request.host, parts.port or _PORTS.get(parts.scheme, 80)),
        "state": dict(state),
        "extensions": {},
    }


def _headers(request: SimulatedRequest, netloc: str) -> list[tuple[bytes, bytes]]:
    named = {name.lower(): value for name, value in request.headers.items()}
    named.setdefault("host", netloc)
    if request.body:
        named.setdefault("content-length", str(len(request.body)))
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]


class SimulatedCall:
    """One request to an app. `answered` is called once, with the whole reply, or None when the connection broke."""

    def __init__(self, scope: dict[str, Any], body: bytes, answered: Callable[[HttpReply | None], None]) -> None:
        self._scope = scope
        self._unread: bytes | None = body
        self._answered = answered
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []
        self._over = asyncio.Event()
        self._finished = False
        self.error: str | None = None

    async def run(self, app: AsgiApp) -> None:
        """Like uvicorn: 500 when the app fails before its response starts, a broken connection after that."""
        try:
            await app(self._scope, self._receive, self._send)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever the app raises ends here
            self.error = type(error).__name__
        self._finish(None if self._status is not None else _internal_error())

    def cut(self) -> None:
        """The process died: the caller gets no complete reply."""
        self._finish(None)

    def hang_up(self) -> None:
        """The caller hung up; the app may notice."""
        self._over.set()

    async def _receive(self) -> AsgiEvent:
        if self._unread is not None:
            body, self._unread = self._unread, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: AsgiEvent) -> None:
        await asyncio.sleep(0)  # a kill may land between the app's work and its answer
        match message["type"], self._status:
            case "http.response.start", None:
                self._status = message["status"]
                self._headers = _join(message.get("headers", ()))
            case "http.response.body", int(status) if not self._finished:
                self._chunks.append(bytes(message.get("body", b"")))
                if not message.get("more_body", False):
                    body = b"" if self._scope["method"] == "HEAD" else b"".join(self._chunks)
                    self._finish(HttpReply(status=status, headers=self._headers, body=body))
            case unexpected, _:
                raise RuntimeError(f"ASGI message {unexpected!r} is out of turn")

    def _finish(self, reply: HttpReply | None) -> None:
        if not self._finished:
            self._finished = True
            self._over.set()
            self._answered(reply)


def _join(headers: Any) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        key, text = bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1")
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


def _internal_error() -> HttpReply:
    return HttpReply(status=500, headers={"content-type": "text/plain; charset=utf-8"}, body=b"Internal Server Error")


class Lifespan:
    """The startup and orderly shutdown of an app."""

    def __init__(self, app: AsgiApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._stop = asyncio.Event()
        self._asked = False
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.failure: str | None = None

    async def run(self) -> None:
        """An app that raises at once does not support lifespan, which is allowed."""
        scope = {"type": "lifespan", "asgi": _VERSION, "state": self.state}
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001 - see above; a failed start has said so before it raised
            if self.started.is_set() and self.failure is None:
                self.failure = type(error).__name__
        self.started.set()
        self.ended.set()

    def stop(self) -> None:
        self._stop.set()

    async def _receive(self) -> AsgiEvent:
        if not self._asked:
            self._asked = True
            return {"type": "lifespan.startup"}
        await self._stop.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: AsgiEvent) -> None:
        match message["type"]:
            case "lifespan.startup.complete":
                self.started.set()
            case "lifespan.startup.failed":
                self.failure = message.get("message") or "startup failed"
                self.started.set()
            case _:
                self.ended.set()
