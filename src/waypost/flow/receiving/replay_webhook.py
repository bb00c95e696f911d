"""Applies a journal item again on request, for example after an update that can read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.receiving import account_updates, receive_webhook
from waypost.flow.world import World
from waypost.model.ids import NumberId, OrgId
from waypost.model.update import AccountUpdate, JournalState
from waypost.model.webhook import JournalItem
from waypost.ports.receiving.journal import JournalEntry
from waypost.rules.receiving import envelope, webhook
from waypost.rules.receiving.envelope import WebhookChange

MESSAGE, STATUS = "message", "status"
NOT_CONNECTED = "its number is no longer connected"


class JournalItemNotFound(msgspec.Struct, frozen=True):
    """The org has no such item."""


class NotReplayable(msgspec.Struct, frozen=True):
    """The item was already applied."""

    entry: JournalEntry


ReplayResult: TypeAlias = JournalEntry | JournalItemNotFound | NotReplayable


async def replay(org: OrgId, item: int, world: World) -> ReplayResult:
    """The item after the replay: done, kept, or failed again with the reason."""
    entry = await world.ledger.journal.find(org, item)
    if entry is None:
        return JournalItemNotFound()
    if entry.item.state == JournalState.DONE:
        return NotReplayable(entry)
    await replay_item(entry, world)
    return await world.ledger.journal.find(org, item) or JournalItemNotFound()


async def replay_item(entry: JournalEntry, world: World) -> None:
    """Applies the item according to its kind and stores the result."""
    owner = await world.numbers.find(NumberId(entry.item.number))
    if owner is None or owner.number.org_id != entry.item.org_id:
        await _mark(entry, JournalState.FAILED, NOT_CONNECTED, world)
    elif entry.item.kind in (MESSAGE, STATUS):
        await _reapply(entry, owner, world)
    else:
        await account_updates.reapply_update(entry, owner, world)


async def _reapply(entry: JournalEntry, owner: ConnectedNumber, world: World) -> None:
    """Reads the item as if Meta had posted it now."""
    part = part_of(entry, owner)
    read = webhook.read(part, OrgId(entry.item.org_id), owner.number.id, world.clock.now())
    if read.statuses or read.inbound:
        await receive_webhook.apply_webhook([(part, owner)], world)
        await _mark(entry, JournalState.DONE, None, world)
    else:
        await _mark(entry, *_result(read.items), world)


def _result(items: list[JournalItem]) -> tuple[JournalState, str | None]:
    return (JournalState(items[0].state), items[0].error) if items else (JournalState.KEPT, None)


def part_of(entry: JournalEntry, owner: ConnectedNumber) -> WebhookChange:
    """A webhook change that holds only this message or status."""
    listed = {MESSAGE: "messages", STATUS: "statuses"}[entry.item.kind]
    value = {"metadata": {"phone_number_id": owner.number.id}, listed: [msgspec.Raw(entry.item.body.encode())]}
    changes = [{"field": "messages", "value": value}]
    (part,) = envelope.parts(msgspec.json.encode({"entry": [{"id": owner.number.waba_id, "changes": changes}]}))
    return part


async def _mark(entry: JournalEntry, state: JournalState, why: str | None, world: World) -> None:
    update = AccountUpdate(
        org_id=entry.item.org_id,
        number=entry.item.number,
        waba_id="",
        kind=entry.item.kind,
        key=entry.item.key,
        at=entry.received_at,
        state=state,
        error=why,
    )
    await world.ledger.journal.act([update], world.clock.now())


async def journal_items(org: OrgId, state: JournalState | None, limit: int, world: World) -> Sequence[JournalEntry]:
    """The org's journal items, newest first."""
    return await world.ledger.journal.items(org, state, limit)
