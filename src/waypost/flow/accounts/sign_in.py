"""Signs a browser in: exchanges a user token for an encrypted cookie that expires.

The cookie holds the encrypted token, so it ends with the token, and servers keep no sessions.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from waypost.flow.accounts import access
from waypost.flow.world import World
from waypost.model.account import Caller, User
from waypost.model.sign_in import OfferedCode
from waypost.model.time import Instant, Span, hours, minutes
from waypost.ports.platform.vault import UnsealError

LASTS: Span = hours(12)
CODE_LASTS: Span = minutes(10)
LONGEST = 1024
"""The longest cookie that can be ours, in characters."""
_PURPOSE = "session"


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    user: User
    cookie: str
    until: Instant

    def __repr__(self) -> str:
        """Without the cookie, since this may be logged."""
        return f"SignedIn({self.user.id})"


class _Session(msgspec.Struct, array_like=True):
    token: str
    until: Instant


async def sign_in(token: str, world: World) -> SignedIn | None:
    """None if the token is not a user's; an API key cannot sign in."""
    caller = await access.caller(token, world)
    user = await who(caller, world) if caller is not None else None
    if user is None:
        return None
    until = Instant(world.clock.now() + LASTS)
    sealed = world.vault.seal(msgspec.json.encode(_Session(token, until)).decode(), _PURPOSE)
    return SignedIn(user=user, cookie=base64.urlsafe_b64encode(sealed).decode().rstrip("="), until=until)


def offer(token: str, world: World) -> str:
    """A code for a sign-in link: valid once, for ten minutes, on this process."""
    code = world.ids.token(18)
    world.offered_codes[code] = OfferedCode(token, Instant(world.clock.now() + CODE_LASTS))
    return code


async def sign_in_by_code(code: str, world: World) -> SignedIn | None:
    """None if the code was used, has expired, or is from another process."""
    offered = world.offered_codes.pop(code, None)
    if offered is None or world.clock.now() >= offered.until:
        return None
    return await sign_in(offered.token, world)


async def who(caller: Caller, world: World) -> User | None:
    users = await world.ledger.accounts.users(caller.org_id) if caller.user_id is not None else ()
    return next((user for user in users if user.id == caller.user_id), None)


def token_in(cookie: str, world: World) -> str | None:
    """The token in a cookie; None if the cookie has expired or is not ours."""
    if len(cookie) > LONGEST:
        return None
    try:
        sealed = base64.b64decode(cookie + "=" * (-len(cookie) % 4), altchars=b"-_", validate=True)
        session = msgspec.json.decode(world.vault.open(sealed, _PURPOSE), type=_Session)
    except (binascii.Error, ValueError, UnsealError):
        return None
    return session.token if world.clock.now() < session.until else None
