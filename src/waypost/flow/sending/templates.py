"""Syncs an account's templates, checks messages against them and renders previews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.template_cache import HOWEVER_OLD, CachedTemplates
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.template import Preview, Template
from waypost.model.time import Instant, Span, hours, minutes
from waypost.ports.accounts.templates import NotFetched, TemplateAccount
from waypost.rules.content import templates as rules
from waypost.rules.content.template_parameters import WrongParameters, wrong_parameters
from waypost.rules.content.templates import UnknownTemplate

REFRESH_AFTER: Span = hours(1)
LOOK_EVERY: Span = minutes(5)
REFUSE_BY: Span = minutes(1)
"""A message is refused only by a list at most this old, if the provider answers."""

SYNC_TIMEOUT = 20.0


class AccountTemplates(msgspec.Struct, frozen=True):
    """The known templates of one account."""

    waba_id: str
    known: CachedTemplates | None
    failure: str | None
    """Why the latest fetch failed, or None."""


def account_of(connected: ConnectedNumber) -> TemplateAccount:
    return TemplateAccount(
        waba_id=connected.number.waba_id, token=connected.token, graph_url=connected.graph_url.rstrip("/")
    )


async def accounts(org: OrgId, world: World) -> Sequence[TemplateAccount]:
    """The org's accounts, each with its first number, in the order in which they were connected."""
    by_waba: dict[str, TemplateAccount] = {}
    for connected in await world.numbers.of_org(org):
        by_waba.setdefault(connected.number.waba_id, account_of(connected))
    return list(by_waba.values())


async def sync(org: OrgId, account: TemplateAccount, world: World) -> AccountTemplates:
    """Fetches the account's list now; on failure the old list stays."""
    synced = await world.templates.sync(org, account, SYNC_TIMEOUT)
    if not isinstance(synced, NotFetched):
        return AccountTemplates(account.waba_id, synced, None)
    kept = await world.templates.known(org, account)
    return AccountTemplates(account.waba_id, None if isinstance(kept, NotFetched) else kept, synced.reason)


async def sync_all(org: OrgId, world: World) -> Sequence[AccountTemplates]:
    return [await sync(org, account, world) for account in await accounts(org, world)]


async def listed(org: OrgId, world: World) -> Sequence[AccountTemplates]:
    """The org's accounts with their lists; a list is fetched on first use."""
    found = []
    for account in await accounts(org, world):
        known = await world.templates.known(org, account)
        found.append(
            AccountTemplates(account.waba_id, None, known.reason)
            if isinstance(known, NotFetched)
            else AccountTemplates(account.waba_id, known, None)
        )
    return found


async def refresh(world: World) -> int:
    """Syncs old lists that were used before; returns how many it renewed."""
    fresh = 0
    for org, waba_id in await world.ledger.templates.stale(Instant(world.clock.now() - REFRESH_AFTER)):
        account = next((each for each in await accounts(org, world) if each.waba_id == waba_id), None)
        if account and (await sync(org, account, world)).failure is None:
            fresh += 1
    return fresh


class TemplateRefused(msgspec.Struct, frozen=True):
    """Why a template message is refused; `field` is a path in `payloadJson`, or `name`."""

    code: str
    field: str
    reason: str


async def check_template(
    name: str, payload: dict[str, Any], account: TemplateAccount, org: OrgId, world: World
) -> TemplateRefused | None:
    """None if it may be sent, or if the account's list was never fetched."""
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


def _refused(verdict: UnknownTemplate | WrongParameters) -> TemplateRefused:
    code = "unknown_template" if isinstance(verdict, UnknownTemplate) else "template_parameters"
    return TemplateRefused(code, verdict.field, verdict.reason)


class TemplatePreview(msgspec.Struct, frozen=True):
    template: Template
    preview: Preview


async def preview(
    name: str, payload: dict[str, Any], account: TemplateAccount, org: OrgId, world: World
) -> TemplatePreview | TemplateRefused | NotFetched:
    """The message as the customer would see it, even if the template is not approved yet."""
    known = await world.templates.known(org, account, REFUSE_BY)
    if isinstance(known, NotFetched):
        return known
    template = rules.find(known.templates, name, language_of(payload))
    if isinstance(template, UnknownTemplate):
        return _refused(template)
    wrong = wrong_parameters(template, payload.get("components"))
    return _refused(wrong) if wrong else TemplatePreview(template, rules.preview(template, payload.get("components")))
