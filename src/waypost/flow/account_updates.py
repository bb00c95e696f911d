"""What webhooks tell beside messages and statuses: held accounts, limits, templates, wishes, alerts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.flow.numbers import Connected
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.report import JournalItem
from waypost.model.time import Instant
from waypost.model.update import Alert, Deed, JournalState, Pace, Release, TemplateStatus, Tier, Told
from waypost.ports.failure import Rejected
from waypost.ports.hints import ACCOUNTS, OUTBOX
from waypost.ports.journal import Journaled
from waypost.rules import account_updates as rules
from waypost.rules import webhook
from waypost.rules.envelope import Part

ACCOUNT, ERROR = "account:", "error"
"""The kinds of journaled items that are acted on here."""
LONGEST_REASON = 500
_FREES = (Release, Tier, Pace, TemplateStatus)


async def heard(ours: Sequence[tuple[Part, Connected]], world: World) -> None:
    """Act on what a POST has told beside messages and statuses, once it is in the journal."""
    now = world.clock.now()
    deeds = []
    for part, owner in ours:
        if _has_news(part):
            items = webhook.read(part, OrgId(owner.number.org_id), owner.number.id, world.clock.now()).items
            deeds += [await _deed(item, owner, now, world) for item in items if _is_ours(item)]
    await _carry_out(deeds, world)


async def heard_again(entry: Journaled, owner: Connected, world: World) -> None:
    """The same for one item that the journal has kept."""
    item = entry.item if entry.item.told_at is not None else replace(entry.item, told_at=entry.received_at)
    await _carry_out([await _deed(item, owner, world.clock.now(), world)], world)


def _has_news(part: Part) -> bool:
    """Most parts are nothing but messages and statuses; they must not cost anything here."""
    value = part.value
    if part.at_account_level or value is None or value.errors or part.field != "messages":
        return True
    return not (value.messages or value.statuses)


def _is_ours(item: JournalItem) -> bool:
    """What could not even be taken apart stays failed."""
    return (item.kind == ERROR or item.kind.startswith(ACCOUNT)) and item.state != JournalState.FAILED


async def _deed(item: JournalItem, owner: Connected, now: Instant, world: World) -> Deed:
    at = rules.said_at(item.told_at, now)
    told = await _told(item, owner, at, world)
    return Deed(
        org_id=item.org_id,
        number=item.number,
        waba_id=owner.number.waba_id,
        kind=item.kind,
        key=item.key,
        at=at,
        acts=told.acts,
        state=told.state,
        error=told.failure and told.failure[:LONGEST_REASON],
    )


async def _told(item: JournalItem, owner: Connected, at: Instant, world: World) -> Told:
    value = _value(item.body)
    if item.kind == ERROR:
        return rules.error(value)
    field = item.kind.removeprefix(ACCOUNT)
    waba = owner.number.waba_id
    numbers = [each.number.id for each in (await world.numbers.owners([], [waba]))[waba] if _told_too(each, owner)]
    return rules.read(field, value, rules.Context(numbers=numbers, at=at, now=world.clock.now()))


def _told_too(other: Connected, owner: Connected) -> bool:
    """Another org that has connected the account with the same app is told the same."""
    return other.number.org_id == owner.number.org_id or other.app_secret == owner.app_secret


def _value(body: str) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None


async def _carry_out(deeds: Sequence[Deed], world: World) -> None:
    """All together; one that cannot be written is found by halving, and fails alone."""
    if not deeds:
        return
    try:
        news = await world.ledger.journal.act(deeds, world.clock.now())
    except Rejected as poison:
        if len(deeds) > 1:
            middle = len(deeds) // 2
            await _carry_out(deeds[:middle], world)
            await _carry_out(deeds[middle:], world)
        elif deeds[0].acts:
            why = ascii(str(poison))[1 : LONGEST_REASON + 1]  # it may quote what could not be written
            failed = replace(deeds[0], acts=(), state=JournalState.FAILED, error=why)
            await _carry_out([failed], world)
        return
    _tell([deed for deed, new in zip(deeds, news, strict=True) if new], world)


def _tell(deeds: Sequence[Deed], world: World) -> None:
    """Whoever waits for what is free now, and the operator."""
    acts = [(deed, act) for deed in deeds for act in deed.acts]
    for deed, act in acts:
        if isinstance(act, Alert):
            world.meters.webhook_alert(act.field, deed.org_id, deed.number, act.what)
    for org, waba_id in {(deed.org_id, deed.waba_id) for deed in deeds}:
        world.templates.forget(org, waba_id)
    if any(isinstance(act, Tier | Pace) for _, act in acts):
        world.numbers.forget()
        world.hints.give([ACCOUNTS])
    if any(isinstance(act, _FREES) for _, act in acts):
        world.hints.give([OUTBOX])
