"""The cookie that a page of ours signs in with: read from requests and handshakes, never by scripts."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.flow import sign_in
from waypost.flow.sign_in import SignedIn
from waypost.flow.world import World
from waypost.model.time import as_seconds
from waypost.ports.link import Caller

NAME = "waypost_session"
_OURS_ALONE = "Path=/; HttpOnly; SameSite=Strict"
"""For our own pages, and out of reach of every script."""
TAKEN_BACK = f"{NAME}=; Max-Age=0; {_OURS_ALONE}"


def token_of(header: str | None, world: World) -> str | None:
    """The token behind the cookie of a request, if it brings one that is good."""
    cookie = _ours(header or "")
    return sign_in.token_in(cookie, world) if cookie is not None else None


def _ours(header: str) -> str | None:
    """Whatever others put beside it: the library's parser stops at the first cookie that it dislikes."""
    pairs = (pair.partition("=") for pair in header.split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == NAME), None)


def token_of_handshake(said: Caller, world: World) -> str:
    """In its header, or of who signed in: the door lets in no page of another origin."""
    scheme, _, secret = (said.authorization or "").partition(" ")
    return secret if scheme.lower() == "bearer" else token_of(said.cookie, world) or ""


def given(signed: SignedIn, *, secure: bool) -> str:
    lasts = int(as_seconds(sign_in.LASTS))
    return f"{NAME}={signed.cookie}; Max-Age={lasts}; {_OURS_ALONE}" + ("; Secure" if secure else "")


def is_secure(headers: Mapping[str, str], scheme: str) -> bool:
    """Also behind a proxy that ends TLS."""
    return scheme == "https" or headers.get("x-forwarded-proto", "").partition(",")[0].strip() == "https"


def is_own_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether a page that this server gave out asks: a browser tells, and no page can make it tell otherwise."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin", "")
    return bool(host) and origin.partition("://")[2].lower() == host.lower()


def is_foreign_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether another site's page asks; who tells nothing of a page is no browser."""
    told = "sec-fetch-site" in headers or "origin" in headers
    return told and not is_own_page(headers, host)
