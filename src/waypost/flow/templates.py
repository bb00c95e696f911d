"""The account's templates in use: synced, checked before a message is stored, shown as the customer will see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.flow.numbers import Connected
from waypost.flow.template_book import HOWEVER_OLD, Known
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.template import Preview, Template
from waypost.model.time import Instant, Span, hours, minutes
from waypost.ports.templates import NotFetched, TemplateAccount
from waypost.rules import templates as rules
from waypost.rules.template_parameters import WrongParameters, wrong_parameters
from waypost.rules.templates import UnknownTemplate

REFRESH_AFTER: Span = hours(1)
LOOK_EVERY: Span = minutes(5)
REFUSE_BY: Span = minutes(1)
"""No message is refused by a list that is older, as long as the provider can be asked."""

SYNC_TIMEOUT = 20.0


class Listed(msgspec.Struct, frozen=True):
    """What is known of one account."""

    waba_id: str
    known: Known | None
    failure: str | None
    """Why the list could not be fetched just now."""


def account_of(connected: Connected) -> TemplateAccount:
    return TemplateAccount(
        waba_id=connected.number.waba_id, token=connected.token, graph_url=connected.graph_url.rstrip("/")
    )


async def accounts(org: OrgId, world: World) -> Sequence[TemplateAccount]:
    """The org's accounts, each by its first number, the one connected first in front."""
    by_waba: dict[str, TemplateAccount] = {}
    for connected in await world.numbers.of_org(org):
        by_waba.setdefault(connected.number.waba_id, account_of(connected))
    return list(by_waba.values())


async def sync(org: OrgId, account: TemplateAccount, world: World) -> Listed:
    """Fetch the account's list now; what was known before stays where that fails."""
    synced = await world.templates.sync(org, account, SYNC_TIMEOUT)
    if not isinstance(synced, NotFetched):
        return Listed(account.waba_id, synced, None)
    kept = await world.templates.known(org, account)
    return Listed(account.waba_id, None if isinstance(kept, NotFetched) else kept, synced.reason)


async def sync_all(org: OrgId, world: World) -> Sequence[Listed]:
    return [await sync(org, account, world) for account in await accounts(org, world)]


async def listed(org: OrgId, world: World) -> Sequence[Listed]:
    """Every account of the org with its list, fetched if it never was."""
    found = []
    for account in await accounts(org, world):
        known = await world.templates.known(org, account)
        found.append(
            Listed(account.waba_id, None, known.reason)
            if isinstance(known, NotFetched)
            else Listed(account.waba_id, known, None)
        )
    return found


async def refresh(world: World) -> int:
    """Sync what was needed once and has grown old; returns how many lists are fresh again."""
    fresh = 0
    for org, waba_id in await world.ledger.templates.stale(Instant(world.clock.now() - REFRESH_AFTER)):
        account = next((each for each in await accounts(org, world) if each.waba_id == waba_id), None)
        if account and (await sync(org, account, world)).failure is None:
            fresh += 1
    return fresh


class Refused(msgspec.Struct, frozen=True):
    """Why a template cannot be sent so; `field` as in a message's `payloadJson`, or `name`."""

    code: str
    field: str
    reason: str


async def check_template(
    name: str, payload: dict[str, Any], account: TemplateAccount, org: OrgId, world: World
) -> Refused | None:
    """None when it may be sent, and as long as nobody could ever fetch the account's list."""
    refused = None
    for age in (HOWEVER_OLD, REFUSE_BY):
        known = await world.templates.known(org, account, age)
        if isinstance(known, NotFetched):
            return None
        verdict = rules.check(known.templates, name, language_of(payload), payload.get("components"))
        if verdict is None:
            return None
        refused = _refused(verdict)
    return refused


def language_of(payload: dict[str, Any]) -> str:
    language = payload.get("language")
    return str(language.get("code", "") if isinstance(language, dict) else language)


def _refused(verdict: UnknownTemplate | WrongParameters) -> Refused:
    code = "unknown_template" if isinstance(verdict, UnknownTemplate) else "template_parameters"
    return Refused(code, verdict.field, verdict.reason)


class Shown(msgspec.Struct, frozen=True):
    template: Template
    preview: Preview


async def preview(
    name: str, payload: dict[str, Any], account: TemplateAccount, org: OrgId, world: World
) -> Shown | Refused | NotFetched:
    """What the customer would read; of a template that is not approved yet, too."""
    known = await world.templates.known(org, account, REFUSE_BY)
    if isinstance(known, NotFetched):
        return known
    template = rules.find(known.templates, name, language_of(payload))
    if isinstance(template, UnknownTemplate):
        return _refused(template)
    wrong = wrong_parameters(template, payload.get("components"))
    return _refused(wrong) if wrong else Shown(template, rules.preview(template, payload.get("components")))
