"""Explains why a message failed, from the error catalogue of its number."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow.world import World
from waypost.model.chat import DeliveryFailure, LoadedItem
from waypost.model.ids import NumberId
from waypost.model.message import Status
from waypost.rules.operations import failures

_FAILED = (Status.FAILED, Status.CANCELLED)


class _StatusItem(msgspec.Struct):
    """The parts of a status item that explain a failure."""

    status: str | None = None
    error_code: str | None = None
    error: str | None = None


async def failure(
    status: Status | None, code: str | None, error: str | None, number: NumberId | None, world: World
) -> DeliveryFailure | None:
    """None if the message did not fail."""
    if status not in _FAILED:
        return None
    connected = await world.numbers.find(number) if number else None
    catalogue = world.catalogues[connected.number.error_catalogue if connected else "meta"]
    return failures.delivery_failure(status, code, error, catalogue)


async def add_failure_text(items: Sequence[LoadedItem], world: World) -> list[LoadedItem]:
    """The same items; those of failed messages get an explanation."""
    return [await _explained(item, world) for item in items]


async def _explained(item: LoadedItem, world: World) -> LoadedItem:
    status, code, error = item.status, item.error_code, item.error_message
    if item.item.kind == "status":
        update = msgspec.json.decode(item.item.body, type=_StatusItem)
        status, code, error = Status.FAILED if update.status == "failed" else None, update.error_code, update.error
    if status not in _FAILED:
        return item
    return replace(item, failure=await failure(status, code, error, item.number, world))
