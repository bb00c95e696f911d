"""Checks each item of a webhook POST with its owner's app secret and applies all of them in one transaction."""

from __future__ import annotations

import dataclasses
import hmac
from collections.abc import Mapping
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.receiving import account_updates
from waypost.flow.receiving.consent_words import with_consent
from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.audit import AuditAction, Entity
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant
from waypost.model.webhook import FailureClosing, StatusUpdate, WebhookBatch
from waypost.ports.operations.audit import AuditQuery
from waypost.ports.platform.hints import MEDIA, OUTBOX, TURNS, about_message
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.rules.limits import gates
from waypost.rules.limits.error_catalogue import ErrorCatalogue
from waypost.rules.receiving import envelope, webhook
from waypost.rules.receiving.envelope import WebhookChange

_PREFIX = "sha256="
_LATEST_CHANGES = 10
"""Of a number: its disconnection is the last one."""
MOST_FORMER = 100
"""Disconnected numbers that are looked up per POST; further ones are unknown."""


class WebhookAccepted(msgspec.Struct, frozen=True, tag=True):
    applied: AppliedWebhook


class WebhookInvalidJson(msgspec.Struct, frozen=True, tag=True):
    reason: str


class WebhookInvalidSignature(msgspec.Struct, frozen=True, tag=True):
    pass


class WebhookUnknownNumber(msgspec.Struct, frozen=True, tag=True):
    pass


class WebhookWrongOrg(msgspec.Struct, frozen=True, tag=True):
    pass


WebhookResult: TypeAlias = (
    WebhookAccepted | WebhookInvalidJson | WebhookInvalidSignature | WebhookUnknownNumber | WebhookWrongOrg
)


async def receive(body: bytes, signature: str | None, org: str | None, world: World) -> WebhookResult:
    """Receives a POST from the provider; WebhookAccepted means that all of it is committed."""
    try:
        parts = envelope.parts(body)
    except envelope.UnreadableWebhook as unreadable:
        return WebhookInvalidJson(str(unreadable))
    numbers = [part.owner for part in parts if not part.at_account_level]
    accounts = [part.owner for part in parts if part.at_account_level]
    owners = await world.numbers.owners(numbers, accounts)
    signed = _Signed(body, signature)
    found = [(part, signers) for part in parts if (signers := signed.owners(owners[part.owner]))]
    found += await _disconnected([part for part in parts if not owners[part.owner]], signed, world)
    if not found:
        return WebhookInvalidSignature() if any(owners.values()) else WebhookUnknownNumber()
    if org is not None:
        found = [(part, [owner for owner in signers if owner.number.org_id == org]) for part, signers in found]
        if not all(signers for _, signers in found):
            return WebhookWrongOrg()
    return WebhookAccepted(await apply_webhook([(part, owner) for part, signers in found for owner in signers], world))


async def _disconnected(
    parts: list[WebhookChange], signed: _Signed, world: World
) -> list[tuple[WebhookChange, list[ConnectedNumber]]]:
    """The statuses of numbers that their org has disconnected, so that what they sent reaches its last status.

    The signature must be that of another number that the same org has in the same business account. Messages to a
    disconnected number are not accepted.
    """
    reports = [(part, part.value) for part in parts if part.value is not None and part.value.statuses]
    accounts = await world.numbers.owners([], {part.waba_id for part, _ in reports}) if reports else {}
    claims = [(part, value, signed.owners(accounts[part.waba_id])) for part, value in reports]
    named = dict.fromkeys((signer.number.org_id, part.owner) for part, _, signers in claims for signer in signers)
    former = {each for each in islice(named, MOST_FORMER) if await _was_disconnected(*each, world)}
    found = []
    for part, value, signers in claims:
        if known := [signer for signer in signers if (signer.number.org_id, part.owner) in former]:
            as_former = [_with_number(signer, NumberId(part.owner)) for signer in known]
            found.append((replace(part, value=replace(value, messages=[], errors=[])), as_former))
    return found


def _with_number(signer: ConnectedNumber, number: NumberId) -> ConnectedNumber:
    return dataclasses.replace(signer, number=replace(signer.number, id=number))


async def _was_disconnected(org: str, number: str, world: World) -> bool:
    """Whether the org had this number and has disconnected it."""
    query = AuditQuery(entity_type=Entity.NUMBER, entity_id=number)
    found = await world.ledger.audit.find(OrgId(org), query, _LATEST_CHANGES)
    return any(each.entry.action == AuditAction.NUMBER_DISCONNECTED for each in found)


async def apply_webhook(ours: list[tuple[WebhookChange, ConnectedNumber]], world: World) -> AppliedWebhook:
    """Applies changes with verified owners in one transaction."""
    now = world.clock.now()
    batch = WebhookBatch([], [], [], [])
    for part, owner in ours:
        org = OrgId(owner.number.org_id)
        policy = await world.policies.of(org)
        turns = policy.turns if world.tuning.answering else None
        read = webhook.read(part, org, owner.number.id, now, turns, policy.prices)
        batch.statuses.extend(read.statuses)
        batch.inbound.extend(with_consent(inbound, policy.consent_words) for inbound in read.inbound)
        batch.items.extend(read.items)
        _log_for_operator(read.statuses, owner, world)
        batch.closings.extend(_closings(read.statuses, owner.number, world.catalogues, now))
    applied = await world.ledger.journal.apply_webhook(batch, now)
    await account_updates.apply_updates(ours, world)
    world.hints.give(_topics(applied) + ([MEDIA] if any(inbound.media for inbound in batch.inbound) else []))
    return applied


def _topics(applied: AppliedWebhook) -> list[str]:
    topics = [about_message(move.after.message_id) for move in applied.moved]
    return topics + ([OUTBOX] if applied.promoted or applied.confirmed else []) + ([TURNS] if applied.reached else [])


def _closings(
    updates: list[StatusUpdate], number: Number, catalogues: Mapping[str, ErrorCatalogue], now: Instant
) -> list[FailureClosing]:
    catalogue = catalogues[number.error_catalogue]
    found = (
        (update, gates.closing_for_failure(update, number.waba_id, catalogue, now))
        for update in updates
        if update.error_code
    )
    return [FailureClosing(update, closing) for update, closing in found if closing is not None]


def _log_for_operator(updates: list[StatusUpdate], owner: ConnectedNumber, world: World) -> None:
    catalogue = world.catalogues[owner.number.error_catalogue]
    for update in updates:
        if update.error_code is not None and catalogue.find(update.error_code) is None:
            world.meters.unknown_code(update.error_code)


class _Signed:
    """A body with its signature; each secret is checked once."""

    def __init__(self, body: bytes, signature: str | None) -> None:
        self._body = body
        given = signature or ""
        self._given = given[len(_PREFIX) :].encode() if given.startswith(_PREFIX) else b""
        self._tried: dict[str, bool] = {}

    def owners(self, candidates: list[ConnectedNumber]) -> list[ConnectedNumber]:
        """The candidates whose secret made the signature, at most one per org."""
        found: dict[str, ConnectedNumber] = {}
        for connected in candidates:
            if self._by(connected.app_secret):
                found.setdefault(connected.number.org_id, connected)
        return list(found.values())

    def _by(self, secret: str) -> bool:
        if secret not in self._tried:
            expected = hmac.digest(secret.encode(), self._body, "sha256").hex().encode()
            self._tried[secret] = hmac.compare_digest(expected, self._given)
        return self._tried[secret]


async def verify(mode: str | None, token: str | None, world: World) -> bool:
    """Whether the verify token is one of ours: Meta asks when a webhook URL is set up."""
    if mode != "subscribe" or not token:
        return False
    given = token.encode()
    matches = [hmac.compare_digest(c.verify_token.encode(), given) for c in await world.numbers.all()]
    return any(matches)
