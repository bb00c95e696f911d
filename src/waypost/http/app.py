"""The edge of a server: the hot door first, then the API."""

from __future__ import annotations

from functools import cache
from typing import Any

from litestar import Litestar, Request, Response, Router
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp

import waypost
from waypost.http import (
    accounts,
    batch,
    chats,
    conversations,
    dossiers,
    error_codes,
    extras,
    mailboxes,
    media,
    operating,
    operations,
    org_policy,
    outbound,
    overview,
    problems,
    push,
    quick_replies,
    search,
    sign_in,
    spend,
    sync,
    templates,
)
from waypost.http.context import SCOPE_KEY, Host, host_of, reader, world_of
from waypost.http.documented import Document
from waypost.http.sandbox_door import BELOW, sandbox_door
from waypost.http.strict_body import StrictRequest
from waypost.http.web_app import WebApp, is_of_the_page
from waypost.http.webhook_door import PATH, Receive, Scope, Send, webhook_door
from waypost.ports.failure import LedgerError

ROUTES = [
    outbound.router,
    batch.router,
    operating.router,
    spend.router,
    dossiers.router,
    error_codes.router,
    extras.router,
    templates.router,
    org_policy.router,
    accounts.router,
    sign_in.router,
    mailboxes.router,
    media.router,
    Router(  # of two modules, since both have routes at the same paths
        "/api/v1",
        dependencies={"caller": Provide(reader)},
        tags=["Conversations"],
        route_handlers=[*conversations.HANDLERS, *chats.HANDLERS, search.search],
    ),
    sync.router,
    push.router,
    quick_replies.router,
    overview.router,
    operations.router,
]


def _on_ledger_error(request: Request[Any, Any, Any], failure: LedgerError) -> Response[bytes]:
    host: Host = request.scope[SCOPE_KEY]  # type: ignore[literal-required]  # our own key in the ASGI scope
    host.world.meters.ledger_failed(failure)
    return problems.on_ledger_error(request, failure)


@cache
def api() -> ASGIApp:
    """The routes, built once: they find their server in the request."""
    return Litestar(
        ROUTES,
        dependencies={"host": Provide(host_of), "world": Provide(world_of)},
        exception_handlers={
            problems.Problem: problems.on_problem,
            LedgerError: _on_ledger_error,
            ValidationException: problems.on_validation,
            RequestEntityTooLarge: problems.on_too_large,
            HTTPException: problems.on_http,
            Exception: problems.on_bug,
        },
        openapi_config=OpenAPIConfig(
            title="Waypost",
            version=waypost.__version__,
            description="Send WhatsApp messages durably and read what became of them.",
            path="/api/v1/openapi.json",  # whatever is unknown below it is answered by Litestar's own page
            render_plugins=[Document(path=["/", "/openapi.json"])],
            components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
            security=[{"key": []}],
        ),
        request_class=StrictRequest,
        logging_config=None,
    )


page = cache(WebApp)
"""One for all servers of a process: its files are the same."""


class Edge:
    """One server's ASGI application."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._api = api()
        self._page = page()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"] == PATH:
                await webhook_door(scope, receive, send, self._host.world)
                return
            if self._host.phones is not None and scope["path"].startswith(BELOW):
                await sandbox_door(scope, receive, send, self._host.phones, self._host.world)
                return
            if is_of_the_page(scope):
                await self._page(scope, send)
                return
            scope[SCOPE_KEY] = self._host
        await self._api(scope, receive, send)  # type: ignore[arg-type]  # Litestar's own names for the same shapes
