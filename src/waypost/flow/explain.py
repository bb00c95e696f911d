"""Why a message failed, in words: by the catalogue of the number that it went from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow.world import World
from waypost.model.chat import Failure, Told
from waypost.model.ids import NumberId
from waypost.model.message import Status
from waypost.rules import failures

_FAILED = (Status.FAILED, Status.CANCELLED)


class _StatusTold(msgspec.Struct):
    """The part of a status item that says why."""

    status: str | None = None
    error_code: str | None = None
    error: str | None = None


async def failure(
    status: Status | None, code: str | None, said: str | None, number: NumberId | None, world: World
) -> Failure | None:
    """None of what did not fail: then nothing is looked up."""
    if status not in _FAILED:
        return None
    connected = await world.numbers.find(number) if number else None
    catalogue = world.catalogues[connected.number.error_catalogue if connected else "meta"]
    return failures.told(status, code, said, catalogue)


async def told(items: Sequence[Told], world: World) -> list[Told]:
    """The same items; those of messages that failed say why."""
    return [await _explained(item, world) for item in items]


async def _explained(item: Told, world: World) -> Told:
    status, code, said = item.status, item.error_code, item.error_message
    if item.item.kind == "status":
        told = msgspec.json.decode(item.item.body, type=_StatusTold)
        status, code, said = Status.FAILED if told.status == "failed" else None, told.error_code, told.error
    if status not in _FAILED:
        return item
    return replace(item, failure=await failure(status, code, said, item.number, world))
