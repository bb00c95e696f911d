"""One server's ASGI application: the webhook endpoint first, then the API."""

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
from waypost.http.accounts import accounts, dossiers, mailboxes, org_policy, quick_replies, sign_in
from waypost.http.conversations import chats, conversations, media, search
from waypost.http.edge import problems
from waypost.http.edge.context import SCOPE_KEY, Host, host_of, reader, world_of
from waypost.http.edge.last_answer import LastAnswer
from waypost.http.edge.sandbox_proxy import BELOW, sandbox_proxy
from waypost.http.edge.strict_body import StrictRequest
from waypost.http.edge.web_app import WebApp, is_of_the_page
from waypost.http.edge.webhook_endpoint import PATH, AsgiReceive, AsgiScope, AsgiSend, webhook_endpoint
from waypost.http.limits import limits, spend
from waypost.http.live import long_poll, push
from waypost.http.openapi import OpenApiDocument
from waypost.http.operations import operations, overview
from waypost.http.sending import batch, error_codes, media_upload, outbound, read_receipts, templates
from waypost.ports.platform.failure import LedgerError

ROUTES = [
    outbound.router,
    batch.router,
    limits.router,
    spend.router,
    dossiers.router,
    error_codes.router,
    read_receipts.router,
    media_upload.router,
    templates.router,
    org_policy.router,
    accounts.router,
    sign_in.router,
    mailboxes.router,
    media.router,
    Router(  # one router for two modules, since both have routes at the same paths
        "/api/v1",
        dependencies={"caller": Provide(reader)},
        tags=["Conversations"],
        route_handlers=[*conversations.HANDLERS, *chats.HANDLERS, search.search],
    ),
    long_poll.router,
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
    """The routes, built once; each request carries its server."""
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
            description="Send WhatsApp messages durably and read their status.",
            path="/api/v1/openapi.json",  # Litestar answers unknown paths below it with a page of its own
            render_plugins=[OpenApiDocument(path=["/", "/openapi.json"])],
            components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
            security=[{"key": []}],
        ),
        request_class=StrictRequest,
        logging_config=None,
    )


page = cache(WebApp)
"""One for all servers of a process, since its files are the same."""


class ServerApp:
    """One server's ASGI application."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._api = api()
        self._page = page()

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] == "http":
            last = LastAnswer(scope, receive, send)
            receive, send = last.receive, last.send
            if scope["path"] == PATH:
                await webhook_endpoint(scope, receive, send, self._host.world)
                return
            if self._host.phones is not None and scope["path"].startswith(BELOW):
                await sandbox_proxy(scope, receive, send, self._host.phones, self._host.world)
                return
            if is_of_the_page(scope):
                await self._page(scope, send)
                return
            scope[SCOPE_KEY] = self._host
        await self._api(scope, receive, send)  # type: ignore[arg-type]  # Litestar's own names for the same shapes
