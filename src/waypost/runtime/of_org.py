"""What commands about an org have in common: it must be there, and what is given is checked as the API would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.time import Instant, to_datetime
from waypost.runtime.cli import Failed, with_world

Body = TypeVar("Body")
Found = TypeVar("Found")


def day(moment: Instant) -> str:
    return f"{to_datetime(moment):%Y-%m-%d %H:%M}"


async def known(org: str, world: World) -> OrgId:
    if await world.ledger.accounts.org(OrgId(org)) is None:
        raise Failed(f"there is no org {org}: make it with `waypost admin create-org {org}`")
    return OrgId(org)


def of_known(org: str, read: Callable[[World], Awaitable[Found]]) -> Found:
    async def of_known_org(world: World) -> Found:
        await known(org, world)
        return await read(world)

    return with_world(of_known_org, existing=True)


def checked(kind: type[Body], **given: object) -> Body:
    """What the API would take; its bounds hold here, too."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise Failed(f"{field.rstrip('`').replace('_', '-')}: {what}") from None
