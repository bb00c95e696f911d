"""A journaled item is taken through the same path again, because whoever could not read it then may be able to now."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from waypost.flow import account_updates, confirm
from waypost.flow.numbers import Connected
from waypost.flow.world import World
from waypost.model.ids import NumberId, OrgId
from waypost.model.report import JournalItem
from waypost.model.update import Deed, JournalState
from waypost.ports.journal import Journaled
from waypost.rules import envelope, webhook
from waypost.rules.envelope import Part

MESSAGE, STATUS = "message", "status"
NOT_CONNECTED = "its number is not connected any more"


class NoItem(msgspec.Struct, frozen=True):
    """The org has no such item."""


class NotReplayable(msgspec.Struct, frozen=True):
    """It was acted on already."""

    entry: Journaled


Replayed: TypeAlias = Journaled | NoItem | NotReplayable


async def replay(org: OrgId, item: int, world: World) -> Replayed:
    """The item as it stands afterwards: done, kept, or failed once more with its reason."""
    entry = await world.ledger.journal.find(org, item)
    if entry is None:
        return NoItem()
    if entry.item.state == JournalState.DONE:
        return NotReplayable(entry)
    await take_again(entry, world)
    return await world.ledger.journal.find(org, item) or NoItem()


async def take_again(entry: Journaled, world: World) -> None:
    """Through the path of its kind, and marked with what became of it."""
    owner = await world.numbers.find(NumberId(entry.item.number))
    if owner is None or owner.number.org_id != entry.item.org_id:
        await _mark(entry, JournalState.FAILED, NOT_CONNECTED, world)
    elif entry.item.kind in (MESSAGE, STATUS):
        await _read_again(entry, owner, world)
    else:
        await account_updates.heard_again(entry, owner, world)


async def _read_again(entry: Journaled, owner: Connected, world: World) -> None:
    """As if posted anew: what can be read now goes the way it would have gone."""
    part = part_of(entry, owner)
    read = webhook.read(part, OrgId(entry.item.org_id), owner.number.id, world.clock.now())
    if read.reports or read.arrivals:
        await confirm.take([(part, owner)], world)
        await _mark(entry, JournalState.DONE, None, world)
    else:
        await _mark(entry, *_left(read.items), world)


def _left(items: list[JournalItem]) -> tuple[JournalState, str | None]:
    return (JournalState(items[0].state), items[0].error) if items else (JournalState.KEPT, None)


def part_of(entry: Journaled, owner: Connected) -> Part:
    """The change that brought a message or a status, with nothing else in it."""
    listed = {MESSAGE: "messages", STATUS: "statuses"}[entry.item.kind]
    value = {"metadata": {"phone_number_id": owner.number.id}, listed: [msgspec.Raw(entry.item.body.encode())]}
    changes = [{"field": "messages", "value": value}]
    (part,) = envelope.parts(msgspec.json.encode({"entry": [{"id": owner.number.waba_id, "changes": changes}]}))
    return part


async def _mark(entry: Journaled, state: JournalState, why: str | None, world: World) -> None:
    deed = Deed(
        org_id=entry.item.org_id,
        number=entry.item.number,
        waba_id="",
        kind=entry.item.kind,
        key=entry.item.key,
        at=entry.received_at,
        state=state,
        error=why,
    )
    await world.ledger.journal.act([deed], world.clock.now())
