"""What a request stands in: the server that took it and the caller who sent it.

The routes know no server: one set of them serves any number of servers in one process, as the simulation needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, cast

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from waypost.flow import admit, policies
from waypost.flow.world import World
from waypost.http import cookies
from waypost.http.gateway import Gateway
from waypost.http.problems import Problem
from waypost.http.webhook_door import Receive, Scope, Send
from waypost.model.account import Caller, Role
from waypost.model.overview import Part
from waypost.model.setting import SettingInForce
from waypost.rules.rate import retry_after

SCOPE_KEY = "waypost"
CALLER_KEY = "waypost.caller"
HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Another site can make a browser ask these, and learns nothing by it."""

Here: TypeAlias = NamedDependency[SkipValidation[World]]
Asking: TypeAlias = NamedDependency[SkipValidation[Caller]]


Phones: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""A sandbox as an ASGI application: the edge knows no more of it."""


class Host(Protocol):
    """The server as its edge sees it."""

    @property
    def world(self) -> World: ...

    @property
    def gateway(self) -> Gateway: ...

    @property
    def phones(self) -> Phones | None:
        """Of a demo only."""

    def metrics(self) -> bytes:
        """Everything that is counted, in Prometheus' text format."""

    async def readiness(self) -> dict[str, list[str]]:
        """By the process's roles: what keeps each from doing its work; nothing when it is ready."""

    async def parts(self) -> list[Part]:
        """How those parts are that only the process itself knows of."""

    async def violations(self) -> dict[str, int]:
        """By invariant, how often it was found broken since the server started, by any of its processes."""

    async def settings_in_force(self) -> list[SettingInForce]:
        """What the server was told to do, and by whom."""


Hosting: TypeAlias = NamedDependency[SkipValidation[Host]]


# Each of these needs the one before it, so that they are found in this order: what could be found at once, Litestar
# finds in an order that differs from process to process, and in a task for each.


async def host_of(request: Request[Any, Any, Any]) -> Host:
    return cast(Host, request.scope[SCOPE_KEY])  # type: ignore[literal-required]  # our own key in the ASGI scope


async def world_of(host: Hosting) -> World:
    return host.world


async def authenticated(request: Request[Any, Any, Any], world: World) -> Caller:
    """Whoever holds the bearer key, looked up once per request."""
    known = request.scope.get(CALLER_KEY)
    if known is None:
        known = request.scope[CALLER_KEY] = await _authenticate(request, world)  # type: ignore[literal-required]
    return cast(Caller, known)


async def _authenticate(request: Request[Any, Any, Any], world: World) -> Caller:
    """`X-Org-Id`, where sent, must be the caller's own org."""
    caller = await admit.caller(_secret(request, world), world)
    if caller is None:
        raise _not_authenticated("this key is unknown or revoked")
    claimed = request.headers.get("x-org-id")
    if claimed is not None and claimed != caller.org_id:
        raise Problem(403, "wrong_org", "X-Org-Id is not the org of this key", field="X-Org-Id")
    await _within_rate(caller, world)
    return caller


def _secret(request: Request[Any, Any, Any], world: World) -> str:
    """A key in the header, or the token of who signed in with this browser."""
    header = request.headers.get("authorization")
    if header is None and (token := cookies.token_of(request.headers.get("cookie"), world)):
        if request.method not in HARMLESS and not cookies.is_own_page(request.headers, request.headers.get("host", "")):
            raise Problem(403, "foreign_page", "a cookie is only taken from a page of this server: send a key instead")
        return token
    scheme, _, secret = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise _not_authenticated("send your key as `Authorization: Bearer <key>`")
    return secret.strip()


async def _within_rate(caller: Caller, world: World) -> None:
    too_soon = await policies.take_request(caller.org_id, world)
    if too_soon is not None:
        detail = "this org makes more requests than its requestRate allows: come back after Retry-After seconds"
        raise Problem(429, "rate_limited", detail, headers={"retry-after": retry_after(too_soon.wait)})


def _not_authenticated(detail: str) -> Problem:
    return Problem(401, "not_authenticated", detail, headers={"www-authenticate": "Bearer"})


async def _with_role(request: Request[Any, Any, Any], world: World, *roles: Role) -> Caller:
    caller = await authenticated(request, world)
    if caller.role not in roles:
        wanted = " or ".join(role.value for role in roles)
        raise Problem(403, "wrong_role", f"this needs a key with the role {wanted}; yours is {caller.role.value}")
    return caller


async def reader(request: Request[Any, Any, Any], world: Here) -> Caller:
    return await authenticated(request, world)


async def writer(request: Request[Any, Any, Any], world: Here) -> Caller:
    return await _with_role(request, world, Role.SENDER, Role.ADMIN, Role.AGENT)


async def admin(request: Request[Any, Any, Any], world: Here) -> Caller:
    return await _with_role(request, world, Role.ADMIN)
