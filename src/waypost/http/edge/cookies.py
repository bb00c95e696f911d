"""The sign-in cookie of the browser page: read from requests and handshakes, never by scripts."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.flow.accounts import sign_in
from waypost.flow.accounts.sign_in import SignedIn
from waypost.flow.world import World
from waypost.model.time import as_seconds
from waypost.ports.live.live_connection import HandshakeInfo

NAME = "waypost_session"
_OURS_ALONE = "Path=/; HttpOnly; SameSite=Strict"
"""Only for our own pages, and unreadable for scripts."""
TAKEN_BACK = f"{NAME}=; Max-Age=0; {_OURS_ALONE}"


def token_of(header: str | None, world: World) -> str | None:
    """The token in the request's cookie, if the cookie is valid."""
    cookie = _ours(header or "")
    return sign_in.token_in(cookie, world) if cookie is not None else None


def _ours(header: str) -> str | None:
    """Tolerates invalid cookies of others, at which the library's parser stops."""
    pairs = (pair.partition("=") for pair in header.split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == NAME), None)


def token_of_handshake(handshake: HandshakeInfo, world: World) -> str:
    """From the header or the cookie; the handshake has already refused pages of other origins."""
    scheme, _, secret = (handshake.authorization or "").partition(" ")
    return secret if scheme.lower() == "bearer" else token_of(handshake.cookie, world) or ""


def given(signed: SignedIn, *, secure: bool) -> str:
    lasts = int(as_seconds(sign_in.LASTS))
    return f"{NAME}={signed.cookie}; Max-Age={lasts}; {_OURS_ALONE}" + ("; Secure" if secure else "")


def is_secure(headers: Mapping[str, str], scheme: str) -> bool:
    """True also behind a proxy that terminates TLS."""
    return scheme == "https" or headers.get("x-forwarded-proto", "").partition(",")[0].strip() == "https"


def is_own_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether the request comes from a page of this server, by headers that browsers set and pages cannot change."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin", "")
    return bool(host) and origin.partition("://")[2].lower() == host.lower()


def is_foreign_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether the request comes from a page of another site; without these headers it is not a browser."""
    from_browser = "sec-fetch-site" in headers or "origin" in headers
    return from_browser and not is_own_page(headers, host)
