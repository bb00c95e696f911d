"""/api/v1/session: a browser signs in with a user token, reads who is signed in, and signs out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, delete, get, post
from litestar.datastructures import ResponseHeader
from litestar.di import Provide
from litestar.params import JSONBody
from msgspec import Meta

from waypost.flow.accounts import sign_in
from waypost.flow.world import World
from waypost.http.edge import cookies
from waypost.http.edge.context import CurrentCaller, CurrentHost, Host, reader
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.edge.strict_body import FOR_ANYBODY
from waypost.model.account import Role, User
from waypost.model.time import Instant, to_datetime

LONGEST_BODY = 4096


class SignIn(msgspec.Struct):
    """Exactly one of the two."""

    token: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    code: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """From the link that the demo prints; it works once, within ten minutes."""


class SessionView(msgspec.Struct, kw_only=True):
    user_id: str
    name: str
    role: Role
    org_id: str
    expires_at: datetime | None = None
    """When the cookie expires; only in the response that sets it."""
    bot: bool
    """Whether a bot answers customers on this server."""
    sandbox: bool
    """Whether this is a demo with simulated phones."""


@post(
    "/",
    status_code=200,
    summary="Sign in with a user token, or with the code of a link",
    responses=problems(400, 403, 413, 422),
    security=[{}],
    opt={FOR_ANYBODY: True},
    request_max_body_size=LONGEST_BODY,
)
async def begin(data: JSONBody[SignIn], request: Request[Any, Any, Any], host: CurrentHost) -> Response[SessionView]:
    """Sets a cookie that scripts cannot read; only pages of this server may use it."""
    if cookies.is_foreign_page(request.headers, request.headers.get("host", "")):
        raise Problem(403, "foreign_page", "sign in on a page of this server")
    signed = await _sign_in(data, host.world)
    secure = cookies.is_secure(request.headers, request.url.scheme)
    return Response(
        _view(signed.user, signed.until, host), headers={"set-cookie": cookies.given(signed, secure=secure)}
    )


async def _sign_in(data: SignIn, world: World) -> sign_in.SignedIn:
    if (data.token is None) == (data.code is None):
        raise Problem(422, "invalid_payload", "token: send either a token or a code", field="token")
    if data.code is not None:
        signed, why = await sign_in.sign_in_by_code(data.code, world), "this link was already used or has expired"
    else:
        signed = await sign_in.sign_in(data.token or "", world)
        why = "this user token is invalid or has expired: an admin can renew it"
    if signed is None:
        raise Problem(401, "not_authenticated", why)
    return signed


@get("/", summary="Who is signed in", responses=problems(), dependencies={"caller": Provide(reader)})
async def whoami(caller: CurrentCaller, host: CurrentHost) -> SessionView:
    user = await sign_in.who(caller, host.world)
    if user is None:
        raise Problem(403, "key_is_nobody", "this endpoint needs a user token, not an API key")
    return _view(user, None, host)


@delete(
    "/",
    summary="Sign out",
    responses=problems(),
    security=[{}],
    response_headers=[ResponseHeader(name="set-cookie", value=cookies.TAKEN_BACK)],
)
async def end() -> None:
    """Deletes the cookie in the browser; a copy of it works until it expires or the token is renewed."""


def _view(user: User, until: Instant | None, host: Host) -> SessionView:
    ends = to_datetime(until) if until is not None else None
    return SessionView(
        user_id=user.id,
        name=user.name,
        role=user.role,
        org_id=user.org_id,
        expires_at=ends,
        bot=host.world.tuning.answering,
        sandbox=host.phones is not None,
    )


router = Router("/api/v1/session", tags=["People"], route_handlers=[begin, whoami, end])
