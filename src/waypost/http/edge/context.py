"""A request's context: its server and its caller, since one set of routes serves every server of a process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, cast

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from waypost.flow.accounts import access, policies
from waypost.flow.live.follow import Tails
from waypost.flow.world import World
from waypost.http.edge import cookies
from waypost.http.edge.problems import Problem
from waypost.http.edge.webhook_endpoint import AsgiReceive, AsgiScope, AsgiSend
from waypost.model.account import Caller, Role
from waypost.model.overview import Component
from waypost.model.setting import SettingInForce
from waypost.rules.limits.request_rate import retry_after

SCOPE_KEY = "waypost"
CALLER_KEY = "waypost.caller"
HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Another site can make a browser send these, but cannot read the answers."""

CurrentWorld: TypeAlias = NamedDependency[SkipValidation[World]]
CurrentCaller: TypeAlias = NamedDependency[SkipValidation[Caller]]


SandboxApp: TypeAlias = Callable[[AsgiScope, AsgiReceive, AsgiSend], Awaitable[None]]
"""A sandbox as an ASGI application."""


class LiveGateway(Protocol):
    """The process's live connections, as the routes see them."""

    @property
    def tails(self) -> Tails[Any]: ...


class Host(Protocol):
    """What the routes need of their server."""

    @property
    def world(self) -> World: ...

    @property
    def gateway(self) -> LiveGateway: ...

    @property
    def phones(self) -> SandboxApp | None:
        """Only in a demo."""

    def metrics(self) -> bytes:
        """All metrics, in the Prometheus text format."""

    async def readiness(self) -> dict[str, list[str]]:
        """By role of the process: why it is not ready; empty when it is."""

    def warnings(self) -> list[str]:
        """What an operator should know although the process is ready."""

    async def parts(self) -> list[Component]:
        """The health of components that only the process itself knows."""

    async def violations(self) -> dict[str, int]:
        """By invariant, how often any process of the server found it violated since the start."""

    async def settings_in_force(self) -> list[SettingInForce]:
        """The settings in force, and where each comes from."""


CurrentHost: TypeAlias = NamedDependency[SkipValidation[Host]]


# Each of these depends on the one before it, which fixes their order: Litestar resolves independent dependencies in an
# order that differs from process to process, and in a task for each.


async def host_of(request: Request[Any, Any, Any]) -> Host:
    return cast(Host, request.scope[SCOPE_KEY])  # type: ignore[literal-required]  # our own key in the ASGI scope


async def world_of(host: CurrentHost) -> World:
    return host.world


async def authenticated(request: Request[Any, Any, Any], world: World) -> Caller:
    """The owner of the bearer key, looked up once per request."""
    known = request.scope.get(CALLER_KEY)
    if known is None:
        known = request.scope[CALLER_KEY] = await _authenticate(request, world)  # type: ignore[literal-required]
    return cast(Caller, known)


async def _authenticate(request: Request[Any, Any, Any], world: World) -> Caller:
    """`X-Org-Id`, if sent, must be the caller's own org."""
    caller = await access.caller(_secret(request, world), world)
    if caller is None:
        raise _not_authenticated("this key is unknown or revoked")
    claimed = request.headers.get("x-org-id")
    if claimed is not None and claimed != caller.org_id:
        raise Problem(403, "wrong_org", "X-Org-Id is not the org of this key", field="X-Org-Id")
    await _within_rate(caller, world)
    return caller


def _secret(request: Request[Any, Any, Any], world: World) -> str:
    """The key in the header, or the token of the user who signed in with this browser."""
    header = request.headers.get("authorization")
    if header is None and (token := cookies.token_of(request.headers.get("cookie"), world)):
        if request.method not in HARMLESS and not cookies.is_own_page(request.headers, request.headers.get("host", "")):
            raise Problem(
                403, "foreign_page", "cookies are accepted only from pages of this server: send an API key instead"
            )
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


async def reader(request: Request[Any, Any, Any], world: CurrentWorld) -> Caller:
    return await authenticated(request, world)


async def writer(request: Request[Any, Any, Any], world: CurrentWorld) -> Caller:
    return await _with_role(request, world, Role.SENDER, Role.ADMIN, Role.AGENT)


async def admin(request: Request[Any, Any, Any], world: CurrentWorld) -> Caller:
    return await _with_role(request, world, Role.ADMIN)
