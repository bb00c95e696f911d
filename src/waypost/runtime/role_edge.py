"""The edge of a process that has not every role: what another role takes is refused, and the role is named."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.http.app import Edge
from waypost.http.problems import MEDIA_TYPE, Problem, body
from waypost.http.webhook_door import Receive, Scope, Send
from waypost.http.websocket_handshake import PATH as WEBSOCKET
from waypost.runtime.roles import Role

OPEN_TO_ALL = frozenset({"/healthz", "/readyz", "/metrics"})
SYNC = "/api/v1/sync"
OF_THE_GATEWAY = frozenset({WEBSOCKET, SYNC})


def role_for(path: str) -> Role | None:
    """Who takes requests there; None: every process."""
    bare = path.rstrip("/")
    if bare in OPEN_TO_ALL:
        return None
    return Role.GATEWAY if bare in OF_THE_GATEWAY else Role.API


def _refusal(role: Role) -> bytes:
    what = f"{WEBSOCKET} and {SYNC} are" if role is Role.GATEWAY else "the API and the webhook are"
    return body(Problem(503, "role_missing", f"this process has not the role {role}: {what} served by one that has it"))


_REFUSALS: Mapping[Role, bytes] = {role: _refusal(role) for role in (Role.API, Role.GATEWAY)}


class RoleEdge:
    def __init__(self, whole: Edge, roles: frozenset[Role]) -> None:
        self._whole = whole
        self._roles = roles

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        needed = role_for(scope["path"]) if scope["type"] == "http" else None
        if needed is None or needed in self._roles:
            await self._whole(scope, receive, send)
            return
        refusal = _REFUSALS[needed]
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(refusal)).encode())]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": refusal})
