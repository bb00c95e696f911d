"""Customers' marketing preferences from the provider, stored as consents."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.accounts.consents import subject_of
from waypost.adapters.sql.engine.plan import Plan, each
from waypost.adapters.sql.kernel.consent_inheritance import subjects_at
from waypost.adapters.sql.rows.audit import written
from waypost.model.audit import PROVIDER, AuditAction, AuditEntry, Entity
from waypost.model.dossier import DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.model.update import AccountUpdate, SetMarketingPreference

_CHANNEL = Channel.WHATSAPP_MARKETING.value
_Subject = tuple[OrgId, str]


def apply_preferences(updates: Sequence[AccountUpdate], now: Instant) -> Plan[None]:
    """Store each customer's latest preference for their addresses and dossier, unless a later consent is on record."""
    wishes = [
        (update.org_id, act) for update in updates for act in update.acts if isinstance(act, SetMarketingPreference)
    ]
    if not wishes:
        return
    wishes.sort(key=lambda wish: wish[1].at)
    asked = {(org, address) for org, wish in wishes for address in wish.addresses}
    found = yield from each("dossiers_reached", sorted(asked))
    dossiers: dict[_Subject, DossierId] = {(row[1], row[2]): row[0] for row in found}
    wanted = {(org, subject): wish for org, wish in wishes for subject in _subjects(org, wish, dossiers)}
    before = yield from each("consent_find", [(*subject, _CHANNEL) for subject in sorted(wanted)])
    known = {(row[0], row[1]): row[3] for row in before}
    put = [(*subject, _CHANNEL, wanted[subject].status.value, wanted[subject].at, now) for subject in sorted(wanted)]
    written_rows = {(row[0], row[1]) for row in (yield from each("consent_told", put))}
    changed = {subject for subject in written_rows if known.get(subject) != wanted[subject].status}
    yield from written(*_entries(wanted, known, changed, dossiers))


def _subjects(org: OrgId, wish: SetMarketingPreference, dossiers: dict[_Subject, DossierId]) -> list[str]:
    known = [dossiers[org, address] for address in wish.addresses if (org, address) in dossiers]
    reached = [subject for address in wish.addresses for subject in subjects_at(address)]
    return [*reached, *(subject_of(dossier) for dossier in known)]


def _entries(
    wanted: dict[_Subject, SetMarketingPreference],
    known: dict[_Subject, str],
    changed: set[_Subject],
    dossiers: dict[_Subject, DossierId],
) -> list[AuditEntry]:
    """One entry per customer: on the dossier if there is one, else on the first address."""
    named: dict[_Subject, SetMarketingPreference] = {}
    for (org, _), wish in sorted(wanted.items(), key=lambda each_: each_[0]):
        named.setdefault((org, wish.addresses[0]), wish)
    entries = []
    for (org, address), wish in named.items():
        dossier = next((dossiers[org, each_] for each_ in wish.addresses if (org, each_) in dossiers), None)
        subject = (org, f"address:{address}" if dossier is None else subject_of(dossier))
        if subject in changed and wanted[subject] is wish:
            entity = (Entity.ADDRESS, address) if dossier is None else (Entity.DOSSIER, str(dossier))
            entries.append(_entry(org, *entity, wish, known.get(subject, "not recorded")))
    return entries


def _entry(org: OrgId, kind: Entity, name: str, wish: SetMarketingPreference, before: str) -> AuditEntry:
    return AuditEntry(
        org_id=org,
        at=wish.at,
        entity_type=kind,
        entity_id=name,
        action=AuditAction.CONSENT_CHANGED,
        actor=PROVIDER,
        details=f"{_CHANNEL}: {wish.status.value} (before: {before})",
    )
