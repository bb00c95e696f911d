"""Consents in SQL: one row per subject and channel, as the claim's statement reads it."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.kernel.consent_inheritance import subjects_at, subjects_of
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.rows.audit import written
from waypost.model.audit import AuditAction, AuditEntry, Entity
from waypost.model.dossier import Consent, ConsentStatus, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.ports.accounts.consents import ConsentOnRecord
from waypost.rules.conversations.phone_forms import alias


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
        return [message_rows.consent(dossier, row) for row in found]

    async def word(self, org: OrgId, dossier: DossierId | None, address: str, channel: Channel) -> ConsentOnRecord:
        subjects = (subject_of(dossier), f"address:{address}")
        ((known, by_dossier, by_address),) = await self._engine.read("consent_word", org, dossier, *subjects, channel)
        return ConsentOnRecord(
            dossier_known=known is not None,
            dossier=by_dossier and ConsentStatus(by_dossier),
            address=by_address and ConsentStatus(by_address),
        )


def subject_of(dossier: DossierId | None) -> str:
    """In the same form as the statement `claim_pick` builds it."""
    return f"dossier:{dossier}"


def addresses(fields: DossierFields, channel: Channel) -> list[str]:
    """The consent subjects of this person's address on the channel, if there is one."""
    address = fields.email if channel is Channel.EMAIL else fields.phone
    if address is None:
        return []
    return [f"address:{address}"] if channel is Channel.EMAIL else subjects_at(address)


def _as_customer(org: OrgId, fields: DossierFields) -> Plan[list[str]]:
    """The subjects of all addresses of the customer's contact, which may have more than the dossier."""
    reference = fields.external_ref or ""
    known_as = (
        [f"phone:{alias(fields.phone)}"] if fields.phone else [reference] if reference.startswith("user:") else []
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
    dossier = message_rows.dossier(found[0])
    stored = yield Once("consents_of", (org, subject_of(dossier.id)))
    before = next((status for channel, status, _ in stored if channel == consent.channel), "not recorded")
    subjects = {*addresses(dossier.person, consent.channel), subject_of(dossier.id)}
    if consent.channel is not Channel.EMAIL:
        subjects.update((yield from _as_customer(org, dossier.person)))
    row = (consent.channel.value, consent.status.value, consent.at, consent.at)
    yield from each("consent_put", [(org, subject, *row) for subject in sorted(subjects)])
    yield from written(
        AuditEntry(
            org_id=org,
            at=consent.at,
            entity_type=Entity.DOSSIER,
            entity_id=str(dossier.id),
            action=AuditAction.CONSENT_CHANGED,
            actor=actor,
            details=f"{consent.channel.value}: {consent.status.value} (before: {before})",
        )
    )
    return consent
