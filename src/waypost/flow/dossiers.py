"""Dossiers and what the people in them agreed to."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from waypost.flow.world import World
from waypost.model.dossier import Person
from waypost.model.ids import OrgId
from waypost.ports.dossiers import DossierChange, Ensured
from waypost.rules import person as rule
from waypost.rules.shape import Invalid

Opening: TypeAlias = Ensured | Invalid


async def ensure(org: OrgId, given: Person, actor: str, world: World) -> Opening:
    """The org's dossier with this phone or reference, or a new one."""
    person = rule.checked(given, (await world.policies.of(org)).default_region)
    if isinstance(person, Invalid):
        return person
    if not rule.is_anybody(person):
        return Invalid("phone", "a dossier needs at least one of phone, email, name and externalRef")
    return await world.ledger.dossiers.ensure(org, person, actor, world.clock.now())


async def checked_change(org: OrgId, change: DossierChange, world: World) -> DossierChange | Invalid:
    """With phone and email as they are kept, or the field at fault."""
    given = {name: value for name, value in asdict(change).items() if value is not UNSET}
    addresses = {name: given[name] for name in ("phone", "email") if name in given}
    person = rule.checked(Person(**addresses), (await world.policies.of(org)).default_region)
    if isinstance(person, Invalid):
        return person
    return replace(change, **{name: getattr(person, name) for name in addresses})


async def phone(org: OrgId, text: str, world: World) -> str | Invalid:
    """A phone number as it is kept."""
    person = rule.checked(Person(phone=text), (await world.policies.of(org)).default_region)
    return person if isinstance(person, Invalid) else msgspec.convert(person.phone, str)
