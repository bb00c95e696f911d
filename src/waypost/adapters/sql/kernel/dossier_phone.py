"""A dossier that was opened without a phone number gains the number once it is known.

Rare: it runs only when a contact gains an address or is merged with another. Every transaction locks dossiers before
contacts, so this runs before the contact is locked.
"""

from __future__ import annotations

from collections.abc import Iterable

from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.rows import message_rows
from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.conversations.phone_forms import shared_alias, spellings


def set_dossier_phones(wanted: Iterable[tuple[OrgId, int, str]], now: Instant) -> Plan[list[AuditEntry]]:
    """Take (org, dossier, phone) tuples; return the audit entries."""
    given: list[AuditEntry] = []
    for org, dossier, phone in sorted(set(wanted)):
        if (yield from _give(org, dossier, phone, now)):
            given.append(_recorded(org, dossier, now))
    return given


def _give(org: OrgId, dossier: int, phone: str, now: Instant) -> Plan[bool]:
    found = yield Once("dossier_lock", (org, dossier))
    if not found or message_rows.dossier(found[0]).person.phone is not None:
        return False
    if (yield from each("dossier_of", [(org, spelled, None) for spelled in spellings(phone)])):
        return False
    # Inserting the phone first makes a concurrent transaction that opens a dossier with it wait, or makes us wait.
    # Otherwise the second one would violate the unique key and fail its whole batch.
    alias = shared_alias(phone)
    kept = yield from each("dossier_open", [(org, phone, alias, None, None, now)])
    for _, place in kept:
        yield Once("dossier_drop", (org, place))
        yield Once("dossier_phone", (org, dossier, phone, alias, now))
    return bool(kept)


def _recorded(org: OrgId, dossier: int, now: Instant) -> AuditEntry:
    return AuditEntry(
        org_id=org,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier),
        action=AuditAction.UPDATED,
        actor=SYSTEM,
        details="changed: phone (the customer wrote from it)",
    )
