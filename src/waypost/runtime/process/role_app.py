"""The application of a process without every role: refuses requests for other roles and names the role."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.http.app import ServerApp
from waypost.http.edge.last_answer import LastAnswer
from waypost.http.edge.problems import MEDIA_TYPE, Problem, body
from waypost.http.edge.webhook_endpoint import AsgiReceive, AsgiScope, AsgiSend
from waypost.http.live.websocket_handshake import PATH as WEBSOCKET
from waypost.runtime.settings.roles import ProcessRole

OPEN_TO_ALL = frozenset({"/healthz", "/readyz", "/metrics"})
SYNC = "/api/v1/sync"
OF_THE_GATEWAY = frozenset({WEBSOCKET, SYNC})


def role_for(path: str) -> ProcessRole | None:
    """The role that serves this path; None: every process."""
    bare = path.rstrip("/")
    if bare in OPEN_TO_ALL:
        return None
    return ProcessRole.GATEWAY if bare in OF_THE_GATEWAY else ProcessRole.API


def _refusal(role: ProcessRole) -> bytes:
    what = f"{WEBSOCKET} and {SYNC} are" if role is ProcessRole.GATEWAY else "the API and the webhook are"
    return body(Problem(503, "role_missing", f"this process has not the role {role}: {what} served by one that has it"))


_REFUSALS: Mapping[ProcessRole, bytes] = {role: _refusal(role) for role in (ProcessRole.API, ProcessRole.GATEWAY)}


class RoleApp:
    def __init__(self, whole: ServerApp, roles: frozenset[ProcessRole]) -> None:
        self._whole = whole
        self._roles = roles

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        needed = role_for(scope["path"]) if scope["type"] == "http" else None
        if needed is None or needed in self._roles:
            await self._whole(scope, receive, send)
            return
        refusal = _REFUSALS[needed]
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(refusal)).encode())]
        last = LastAnswer(scope, receive, send)
        await last.send({"type": "http.response.start", "status": 503, "headers": headers})
        await last.send({"type": "http.response.body", "body": refusal})
