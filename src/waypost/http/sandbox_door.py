"""The demo's phones and faults, beside its page: for who is signed in there, and for no other site's page."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.flow import admit
from waypost.flow.world import World
from waypost.http import cookies
from waypost.http.context import HARMLESS, Phones
from waypost.http.problems import MEDIA_TYPE, Problem, body, ledger_problem
from waypost.http.webhook_door import Receive, Scope, Send
from waypost.ports.failure import LedgerError

BELOW = "/_sandbox/"
OPEN = tuple(BELOW + part for part in ("phones/", "faults", "media/"))
"""What the page needs. The numbers are left out: they come with their secrets."""
_NONE = Problem(404, "not_found", "there is no such call of the sandbox here")
_FOREIGN = Problem(403, "foreign_page", "the phones are only for a page of this server")
_NOBODY = Problem(401, "not_authenticated", "sign in on the page first")


async def sandbox_door(scope: Scope, receive: Receive, send: Send, phones: Phones, world: World) -> None:
    try:
        problem = await _refusal(scope, world)
    except LedgerError as failure:
        world.meters.ledger_failed(failure)
        problem = ledger_problem(failure)
    if problem is None:
        await phones(scope, receive, send)
    else:
        await _refuse(send, problem)


async def _refusal(scope: Scope, world: World) -> Problem | None:
    if not scope["path"].startswith(OPEN):
        return _NONE
    headers: Mapping[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "")
    if cookies.is_foreign_page(headers, host):
        return _FOREIGN
    if scope["method"] not in HARMLESS and not cookies.is_own_page(headers, host):
        return _FOREIGN
    token = cookies.token_of(headers.get("cookie"), world)
    caller = await admit.caller(token, world) if token is not None else None
    return None if caller is not None else _NOBODY


async def _refuse(send: Send, problem: Problem) -> None:
    content = body(problem)
    named = {"content-type": MEDIA_TYPE, "content-length": str(len(content)), **problem.headers}
    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
