"""Applies account updates from webhooks: holds, limits, templates, marketing preferences and alerts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.model.update import (
    AccountUpdate,
    AlertOperator,
    JournalState,
    ReleaseHold,
    SetPace,
    SetTemplateStatus,
    SetTier,
    UpdateActions,
)
from waypost.model.webhook import JournalItem
from waypost.ports.platform.failure import Rejected
from waypost.ports.platform.hints import ACCOUNTS, OUTBOX
from waypost.ports.receiving.journal import JournalEntry
from waypost.rules.receiving import account_updates as rules
from waypost.rules.receiving import webhook
from waypost.rules.receiving.envelope import WebhookChange

ACCOUNT, ERROR = "account:", "error"
"""The kinds of journal items that are handled here."""
LONGEST_REASON = 500
_RELEASING = (ReleaseHold, SetTier, SetPace, SetTemplateStatus)


async def apply_updates(ours: Sequence[tuple[WebhookChange, ConnectedNumber]], world: World) -> None:
    """Applies the account updates of a POST after it was journaled."""
    now = world.clock.now()
    updates = []
    for part, owner in ours:
        if _has_news(part):
            items = webhook.read(part, OrgId(owner.number.org_id), owner.number.id, world.clock.now()).items
            updates += [await _update(item, owner, now, world) for item in items if _is_ours(item)]
    await _apply(updates, world)


async def reapply_update(entry: JournalEntry, owner: ConnectedNumber, world: World) -> None:
    """Applies one journal item again."""
    item = entry.item if entry.item.told_at is not None else replace(entry.item, told_at=entry.received_at)
    await _apply([await _update(item, owner, world.clock.now(), world)], world)


def _has_news(part: WebhookChange) -> bool:
    """False for changes that hold only messages and statuses: most do, and must cost nothing here."""
    value = part.value
    if part.at_account_level or value is None or value.errors or part.field != "messages":
        return True
    return not (value.messages or value.statuses)


def _is_ours(item: JournalItem) -> bool:
    """Items that could not be parsed stay failed."""
    return (item.kind == ERROR or item.kind.startswith(ACCOUNT)) and item.state != JournalState.FAILED


async def _update(item: JournalItem, owner: ConnectedNumber, now: Instant, world: World) -> AccountUpdate:
    at = rules.said_at(item.told_at, now)
    actions = await _actions(item, owner, at, world)
    return AccountUpdate(
        org_id=item.org_id,
        number=item.number,
        waba_id=owner.number.waba_id,
        kind=item.kind,
        key=item.key,
        at=at,
        acts=actions.acts,
        state=actions.state,
        error=actions.failure and actions.failure[:LONGEST_REASON],
    )


async def _actions(item: JournalItem, owner: ConnectedNumber, at: Instant, world: World) -> UpdateActions:
    value = _value(item.body)
    if item.kind == ERROR:
        return rules.error(value)
    field = item.kind.removeprefix(ACCOUNT)
    waba = owner.number.waba_id
    numbers = [each.number.id for each in (await world.numbers.owners([], [waba]))[waba] if _uses_same_app(each, owner)]
    return rules.read(field, value, rules.UpdateContext(numbers=numbers, at=at, now=world.clock.now()))


def _uses_same_app(other: ConnectedNumber, owner: ConnectedNumber) -> bool:
    """An update also applies to another org's numbers if they use the same app."""
    return other.number.org_id == owner.number.org_id or other.app_secret == owner.app_secret


def _value(body: str) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None


async def _apply(updates: Sequence[AccountUpdate], world: World) -> None:
    """All in one transaction; if the Ledger rejects it, halving finds the update at fault, which fails alone."""
    if not updates:
        return
    try:
        news = await world.ledger.journal.act(updates, world.clock.now())
    except Rejected as poison:
        if len(updates) > 1:
            middle = len(updates) // 2
            await _apply(updates[:middle], world)
            await _apply(updates[middle:], world)
        elif updates[0].acts:
            why = ascii(str(poison))[1 : LONGEST_REASON + 1]  # it may quote the text that was rejected
            failed = replace(updates[0], acts=(), state=JournalState.FAILED, error=why)
            await _apply([failed], world)
        return
    _publish([update for update, new in zip(updates, news, strict=True) if new], world)


def _publish(updates: Sequence[AccountUpdate], world: World) -> None:
    """Wakes senders, invalidates caches and alerts the operator."""
    acts = [(update, act) for update in updates for act in update.acts]
    for update, act in acts:
        if isinstance(act, AlertOperator):
            world.meters.webhook_alert(act.field, update.org_id, update.number, act.what)
    for org, waba_id in {(update.org_id, update.waba_id) for update in updates}:
        world.templates.invalidate(org, waba_id)
    if any(isinstance(act, SetTier | SetPace) for _, act in acts):
        world.numbers.invalidate()
        world.hints.give([ACCOUNTS])
    if any(isinstance(act, _RELEASING) for _, act in acts):
        world.hints.give([OUTBOX])
