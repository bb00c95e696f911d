"""The edge of a process without the role `api`: it can be looked at, and takes no work."""

from __future__ import annotations

from waypost.http.app import Edge
from waypost.http.problems import MEDIA_TYPE, Problem, body
from waypost.http.webhook_door import Receive, Scope, Send

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

_NOT_HERE = body(Problem(404, "not_found", "this process has not the role api: only /healthz, /readyz and /metrics"))
_HEADERS = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(_NOT_HERE)).encode())]


class OperationsEdge:
    def __init__(self, whole: Edge) -> None:
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PATHS:
            await self._whole(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 404, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _NOT_HERE})
