"""Finds, creates and checks customers' dossiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from waypost.flow.world import World
from waypost.model.dossier import Consent, ConsentStatus, Dossier, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.ports.accounts.dossiers import DossierChange, DossierChanged, Ensured
from waypost.rules.accounts import dossier_fields as rule
from waypost.rules.text.json_validation import InvalidField

EnsureResult: TypeAlias = Ensured | InvalidField


async def ensure(org: OrgId, given: DossierFields, actor: str, world: World) -> EnsureResult:
    """The org's dossier with this phone or reference, or a new one."""
    person = rule.checked(given, (await world.policies.of(org)).default_region)
    if isinstance(person, InvalidField):
        return person
    if not rule.is_anybody(person):
        return InvalidField("phone", "a dossier needs at least one of phone, email, name and externalRef")
    return await world.ledger.dossiers.ensure(org, person, actor, world.clock.now())


async def checked_change(org: OrgId, change: DossierChange, world: World) -> DossierChange | InvalidField:
    """The change with phone and email normalized, or the invalid field."""
    given = {name: value for name, value in asdict(change).items() if value is not UNSET}
    addresses = {name: given[name] for name in ("phone", "email") if name in given}
    person = rule.checked(DossierFields(**addresses), (await world.policies.of(org)).default_region)
    if isinstance(person, InvalidField):
        return person
    return replace(change, **{name: getattr(person, name) for name in addresses})


async def phone(org: OrgId, text: str, world: World) -> str | InvalidField:
    """A phone number in its stored form."""
    person = rule.checked(DossierFields(phone=text), (await world.policies.of(org)).default_region)
    return person if isinstance(person, InvalidField) else msgspec.convert(person.phone, str)


async def dossier(org: OrgId, dossier_id: DossierId, world: World) -> Dossier | None:
    """The dossier, or None when the org has no such dossier."""
    return await world.ledger.dossiers.get(org, dossier_id)


async def find(org: OrgId, phone: str | None, external_ref: str | None, limit: int, world: World) -> Sequence[Dossier]:
    """The org's dossiers that match everything given, newest first."""
    return await world.ledger.dossiers.find(org, phone, external_ref, limit)


async def change(org: OrgId, dossier_id: DossierId, checked: DossierChange, actor: str, world: World) -> DossierChanged:
    """Store a change that `checked_change` accepted."""
    return await world.ledger.dossiers.change(org, dossier_id, checked, actor, world.clock.now())


async def put_consent(
    org: OrgId, dossier_id: DossierId, channel: Channel, status: ConsentStatus, actor: str, world: World
) -> Consent | None:
    """Record a consent; None when the org has no such dossier."""
    return await world.ledger.consents.put(org, dossier_id, channel, status, actor, world.clock.now())


async def consents(org: OrgId, dossier_id: DossierId, world: World) -> Sequence[Consent]:
    """The latest consent for each channel, by the channel's name."""
    return await world.ledger.consents.of(org, dossier_id)
