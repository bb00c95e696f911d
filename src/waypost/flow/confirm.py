"""Webhooks in: each item is checked under its own owner's secret, then everything of one POST commits together."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from waypost.flow import account_updates
from waypost.flow.consent_words import with_consent
from waypost.flow.numbers import Connected
from waypost.flow.world import World
from waypost.model.account import Number
from waypost.model.ids import OrgId
from waypost.model.report import Post, Reported, StatusReport
from waypost.model.time import Instant
from waypost.ports.hints import LANES, MEDIA, OUTBOX, about_message
from waypost.ports.journal import Taken
from waypost.rules import envelope, gates, webhook
from waypost.rules.catalogue import Catalogue
from waypost.rules.envelope import Part

_PREFIX = "sha256="


class Accepted(msgspec.Struct, frozen=True, tag=True):
    taken: Taken


class InvalidJson(msgspec.Struct, frozen=True, tag=True):
    reason: str


class InvalidSignature(msgspec.Struct, frozen=True, tag=True):
    pass


class UnknownNumber(msgspec.Struct, frozen=True, tag=True):
    pass


class WrongOrg(msgspec.Struct, frozen=True, tag=True):
    pass


Answer: TypeAlias = Accepted | InvalidJson | InvalidSignature | UnknownNumber | WrongOrg


async def confirm(body: bytes, signature: str | None, org: str | None, world: World) -> Answer:
    """Take a POST from the provider; Accepted only after everything of it is committed."""
    try:
        parts = envelope.parts(body)
    except envelope.Unreadable as unreadable:
        return InvalidJson(str(unreadable))
    numbers = [part.owner for part in parts if not part.at_account_level]
    accounts = [part.owner for part in parts if part.at_account_level]
    owners = await world.numbers.owners(numbers, accounts)
    if not any(owners.values()):
        return UnknownNumber()
    signed = _Signed(body, signature)
    found = [(part, theirs) for part in parts if (theirs := signed.owners(owners[part.owner]))]
    if not found:
        return InvalidSignature()
    if org is not None:
        found = [(part, [owner for owner in theirs if owner.number.org_id == org]) for part, theirs in found]
        if not all(theirs for _, theirs in found):
            return WrongOrg()
    return Accepted(await take([(part, owner) for part, theirs in found for owner in theirs], world))


async def take(ours: list[tuple[Part, Connected]], world: World) -> Taken:
    """Parts whose owner is sure, all in one transaction."""
    now = world.clock.now()
    post = Post([], [], [], [])
    for part, owner in ours:
        org = OrgId(owner.number.org_id)
        policy = await world.policies.of(org)
        turns = policy.turns if world.tuning.answering else None
        read = webhook.read(part, org, owner.number.id, now, turns, policy.prices)
        post.reports.extend(read.reports)
        post.arrivals.extend(with_consent(told, policy.consent_words) for told in read.arrivals)
        post.items.extend(read.items)
        _tell_the_operator(read.reports, owner, world)
        post.closings.extend(_closings(read.reports, owner.number, world.catalogues, now))
    taken = await world.ledger.journal.take(post, now)
    await account_updates.heard(ours, world)
    world.hints.give(_topics(taken) + ([MEDIA] if any(told.media for told in post.arrivals) else []))
    return taken


def _topics(taken: Taken) -> list[str]:
    topics = [about_message(move.after.message_id) for move in taken.moved]
    return topics + ([OUTBOX] if taken.promoted or taken.confirmed else []) + ([LANES] if taken.reached else [])


def _closings(
    reports: list[StatusReport], number: Number, catalogues: Mapping[str, Catalogue], now: Instant
) -> list[Reported]:
    catalogue = catalogues[number.error_catalogue]
    found = ((told, gates.reported(told, number.waba_id, catalogue, now)) for told in reports if told.error_code)
    return [Reported(told, closing) for told, closing in found if closing is not None]


def _tell_the_operator(reports: list[StatusReport], owner: Connected, world: World) -> None:
    catalogue = world.catalogues[owner.number.error_catalogue]
    for told in reports:
        if told.error_code is not None and catalogue.find(told.error_code) is None:
            world.meters.unknown_code(told.error_code)


class _Signed:
    """A body with its signature; each secret is tried once."""

    def __init__(self, body: bytes, signature: str | None) -> None:
        self._body = body
        given = signature or ""
        self._given = given[len(_PREFIX) :].encode() if given.startswith(_PREFIX) else b""
        self._tried: dict[str, bool] = {}

    def owners(self, candidates: list[Connected]) -> list[Connected]:
        """Whose secret made the signature: a number's one owner; of a business account, the first of each org."""
        found: dict[str, Connected] = {}
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
    """Meta's question when a webhook URL is set up: is the verify token one of ours?"""
    if mode != "subscribe" or not token:
        return False
    given = token.encode()
    matches = [hmac.compare_digest(c.verify_token.encode(), given) for c in await world.numbers.all()]
    return any(matches)
