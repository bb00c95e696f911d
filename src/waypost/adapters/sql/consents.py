"""Consents in SQL: one row per subject and channel, where the claim's statement finds it."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.audit import written
from waypost.adapters.sql.carrying import subjects_at, subjects_of
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.model.audit import Action, Entity, Entry
from waypost.model.dossier import Consent, ConsentStatus, DossierId, Person
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.ports.consents import Word
from waypost.rules.people import alias


class SqlConsents:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(
        self, org: OrgId, dossier: DossierId, channel: Channel, status: ConsentStatus, actor: str, now: Instant
    ) -> Consent | None:
        consent = Consent(dossier_id=dossier, channel=channel, status=status, at=now)
        return await self._engine.transact(_put(org, consent, actor))

    async def of(self, org: OrgId, dossier: DossierId) -> Sequence[Consent]:
        found = await self._engine.read("consents_of", org, subject_of(dossier))
        return [rows.consent(dossier, row) for row in found]

    async def word(self, org: OrgId, dossier: DossierId | None, address: str, channel: Channel) -> Word:
        subjects = (subject_of(dossier), f"address:{address}")
        ((known, by_dossier, by_address),) = await self._engine.read("consent_word", org, dossier, *subjects, channel)
        return Word(
            dossier_known=known is not None,
            dossier=by_dossier and ConsentStatus(by_dossier),
            address=by_address and ConsentStatus(by_address),
        )


def subject_of(dossier: DossierId | None) -> str:
    """As the statement `claim_pick` builds it."""
    return f"dossier:{dossier}"


def addresses(person: Person, channel: Channel) -> list[str]:
    """The subjects under which the channel would look for this person, if it can reach them at all."""
    address = person.email if channel is Channel.EMAIL else person.phone
    if address is None:
        return []
    return [f"address:{address}"] if channel is Channel.EMAIL else subjects_at(address)


def _as_customer(org: OrgId, person: Person) -> Plan[list[str]]:
    """A customer who wrote may have more addresses than their dossier says; as in `meeting`, it goes by one of them."""
    reference = person.external_ref or ""
    known_as = (
        [f"phone:{alias(person.phone)}"] if person.phone else [reference] if reference.startswith("user:") else []
    )
    met = yield from each("talk_find", [(org, address, "") for address in known_as])
    contacts = sorted({row[3] for row in met})
    yield from each("contact_lock", [(contact, org) for contact in contacts])
    found = yield from subjects_of(contacts)
    return [subject for subjects in found.values() for subject in subjects]


def _put(org: OrgId, consent: Consent, actor: str) -> Plan[Consent | None]:
    found = yield Once("dossier_lock", (org, consent.dossier_id))
    if not found:
        return None
    dossier = rows.dossier(found[0])
    said = yield Once("consents_of", (org, subject_of(dossier.id)))
    before = next((status for channel, status, _ in said if channel == consent.channel), "not recorded")
    subjects = {*addresses(dossier.person, consent.channel), subject_of(dossier.id)}
    if consent.channel is not Channel.EMAIL:
        subjects.update((yield from _as_customer(org, dossier.person)))
    told = (consent.channel.value, consent.status.value, consent.at, consent.at)
    yield from each("consent_put", [(org, subject, *told) for subject in sorted(subjects)])
    yield from written(
        Entry(
            org_id=org,
            at=consent.at,
            entity_type=Entity.DOSSIER,
            entity_id=str(dossier.id),
            action=Action.CONSENT_CHANGED,
            actor=actor,
            details=f"{consent.channel.value}: {consent.status.value} (before: {before})",
        )
    )
    return consent
