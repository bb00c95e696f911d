"""The demo's phones and faults, for signed-in users on the server's own page."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.flow.accounts import access
from waypost.flow.world import World
from waypost.http.edge import cookies
from waypost.http.edge.context import HARMLESS, SandboxApp
from waypost.http.edge.problems import MEDIA_TYPE, Problem, body, ledger_problem
from waypost.http.edge.webhook_endpoint import AsgiReceive, AsgiScope, AsgiSend
from waypost.ports.platform.failure import LedgerError

BELOW = "/_sandbox/"
OPEN = tuple(BELOW + part for part in ("phones/", "faults", "media/"))
"""The paths that the page needs; not the numbers, which contain secrets."""
_NONE = Problem(404, "not_found", "the sandbox has no such path here")
_FOREIGN = Problem(403, "foreign_page", "the phones can only be used from a page of this server")
_SIGN_IN_FIRST = Problem(401, "not_authenticated", "sign in on the page first")


async def sandbox_proxy(
    scope: AsgiScope, receive: AsgiReceive, send: AsgiSend, phones: SandboxApp, world: World
) -> None:
    try:
        problem = await _refusal(scope, world)
    except LedgerError as failure:
        world.meters.ledger_failed(failure)
        problem = ledger_problem(failure)
    if problem is None:
        await phones(scope, receive, send)
    else:
        await _refuse(send, problem)


async def _refusal(scope: AsgiScope, world: World) -> Problem | None:
    if not scope["path"].startswith(OPEN):
        return _NONE
    headers: Mapping[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "")
    if cookies.is_foreign_page(headers, host):
        return _FOREIGN
    if scope["method"] not in HARMLESS and not cookies.is_own_page(headers, host):
        return _FOREIGN
    token = cookies.token_of(headers.get("cookie"), world)
    caller = await access.caller(token, world) if token is not None else None
    return None if caller is not None else _SIGN_IN_FIRST


async def _refuse(send: AsgiSend, problem: Problem) -> None:
    content = body(problem)
    named = {"content-type": MEDIA_TYPE, "content-length": str(len(content)), **problem.headers}
    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
