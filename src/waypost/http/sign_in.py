"""/api/v1/session: a browser signs in with somebody's token, asks who it is, and signs out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, delete, get, post
from litestar.datastructures import ResponseHeader
from litestar.di import Provide
from litestar.params import JSONBody
from msgspec import Meta

from waypost.flow import sign_in
from waypost.flow.world import World
from waypost.http import cookies
from waypost.http.context import Asking, Host, Hosting, reader
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.http.strict_body import FOR_ANYBODY
from waypost.model.account import Role, User
from waypost.model.time import Instant, to_datetime

LONGEST_BODY = 4096


class SignIn(msgspec.Struct):
    """One of the two."""

    token: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    code: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """Of the link that the demo prints: it works once, and for ten minutes."""


class SessionView(msgspec.Struct, kw_only=True):
    user_id: str
    name: str
    role: Role
    org_id: str
    expires_at: datetime | None = None
    """When the cookie ends; only told with it."""
    bot: bool
    """Whether a bot answers here: else customers wait for people only."""
    sandbox: bool
    """Whether this is a demo, whose page has phones to play the customers with."""


@post(
    "/",
    status_code=200,
    summary="Sign in with a person's token, or with the code of a link",
    responses=problems(400, 403, 413, 422),
    security=[{}],
    opt={FOR_ANYBODY: True},
    request_max_body_size=LONGEST_BODY,
)
async def begin(data: JSONBody[SignIn], request: Request[Any, Any, Any], host: Hosting) -> Response[SessionView]:
    """Sets a cookie that the page's scripts cannot read; requests with it must come from a page of this server."""
    if cookies.is_foreign_page(request.headers, request.headers.get("host", "")):
        raise Problem(403, "foreign_page", "people sign in on a page of this server")
    signed = await _sign_in(data, host.world)
    secure = cookies.is_secure(request.headers, request.url.scheme)
    return Response(
        _view(signed.user, signed.until, host), headers={"set-cookie": cookies.given(signed, secure=secure)}
    )


async def _sign_in(data: SignIn, world: World) -> sign_in.SignedIn:
    if (data.token is None) == (data.code is None):
        raise Problem(422, "invalid_payload", "token: either a token or a code is needed", field="token")
    if data.code is not None:
        signed, why = await sign_in.sign_in_by_code(data.code, world), "this link was used before, or has ended"
    else:
        signed = await sign_in.sign_in(data.token or "", world)
        why = "this is no person's token, or it has ended: an admin can renew it"
    if signed is None:
        raise Problem(401, "not_authenticated", why)
    return signed


@get("/", summary="Who is signed in", responses=problems(), dependencies={"caller": Provide(reader)})
async def whoami(caller: Asking, host: Hosting) -> SessionView:
    user = await sign_in.who(caller, host.world)
    if user is None:
        raise Problem(403, "key_is_nobody", "a key is nobody: this is about people who signed in")
    return _view(user, None, host)


@delete(
    "/",
    summary="Sign out",
    responses=problems(),
    security=[{}],
    response_headers=[ResponseHeader(name="set-cookie", value=cookies.TAKEN_BACK)],
)
async def end() -> None:
    """The cookie is taken back; who kept a copy of it can use it until it ends or the token is renewed."""


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
