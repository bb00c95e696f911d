"""A browser signs in: somebody's token becomes a cookie that only we can read, and that ends by itself.

The cookie holds the token, sealed: whatever ends the token ends the cookie, and no server has to remember anything.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from waypost.flow import admit
from waypost.flow.world import World
from waypost.model.account import Caller, User
from waypost.model.sign_in import OfferedCode
from waypost.model.time import Instant, Span, hours, minutes
from waypost.ports.vault import CannotOpen

LASTS: Span = hours(12)
CODE_LASTS: Span = minutes(10)
LONGEST = 1024
"""Characters of a cookie that can be one of ours."""
_PURPOSE = "session"


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    user: User
    cookie: str
    until: Instant

    def __repr__(self) -> str:
        """Without the cookie: this may reach a log."""
        return f"SignedIn({self.user.id})"


class _Kept(msgspec.Struct, array_like=True):
    token: str
    until: Instant


async def sign_in(token: str, world: World) -> SignedIn | None:
    """None when the token is nobody's: a key is nobody, too."""
    caller = await admit.caller(token, world)
    user = await who(caller, world) if caller is not None else None
    if user is None:
        return None
    until = Instant(world.clock.now() + LASTS)
    sealed = world.vault.seal(msgspec.json.encode(_Kept(token, until)).decode(), _PURPOSE)
    return SignedIn(user=user, cookie=base64.urlsafe_b64encode(sealed).decode().rstrip("="), until=until)


def offer(token: str, world: World) -> str:
    """A code for a link: it signs in once, here, and soon."""
    code = world.ids.token(18)
    world.offered_codes[code] = OfferedCode(token, Instant(world.clock.now() + CODE_LASTS))
    return code


async def sign_in_by_code(code: str, world: World) -> SignedIn | None:
    """None when it was used, has ended, or was never offered by this process."""
    offered = world.offered_codes.pop(code, None)
    if offered is None or world.clock.now() >= offered.until:
        return None
    return await sign_in(offered.token, world)


async def who(caller: Caller, world: World) -> User | None:
    people = await world.ledger.accounts.users(caller.org_id) if caller.user_id is not None else ()
    return next((user for user in people if user.id == caller.user_id), None)


def token_in(cookie: str, world: World) -> str | None:
    """The token of whoever signed in; None when it is over, or not ours."""
    if len(cookie) > LONGEST:
        return None
    try:
        sealed = base64.b64decode(cookie + "=" * (-len(cookie) % 4), altchars=b"-_", validate=True)
        kept = msgspec.json.decode(world.vault.open(sealed, _PURPOSE), type=_Kept)
    except (binascii.Error, ValueError, CannotOpen):
        return None
    return kept.token if world.clock.now() < kept.until else None
