"""A dossier that was opened for somebody without a phone gains the phone once it is known.

Rare: it is asked only when a contact gains an address or is joined with another. Dossiers come before contacts in every
transaction, so this runs before the contact is held.
"""

from __future__ import annotations

from collections.abc import Iterable

from waypost.adapters.sql import rows
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.model.audit import SYSTEM, Action, Entity, Entry
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.people import spellings


def give_phones(wanted: Iterable[tuple[OrgId, int, str]], now: Instant) -> Plan[list[Entry]]:
    """Org, dossier and phone of each; returns what the audit must know."""
    given: list[Entry] = []
    for org, dossier, phone in sorted(set(wanted)):
        if (yield from _give(org, dossier, phone, now)):
            given.append(_recorded(org, dossier, now))
    return given


def _give(org: OrgId, dossier: int, phone: str, now: Instant) -> Plan[bool]:
    found = yield Once("dossier_lock", (org, dossier))
    if not found or rows.dossier(found[0]).person.phone is not None:
        return False
    if (yield from each("dossier_of", [(org, spelled, None) for spelled in spellings(phone)])):
        return False
    # Whoever opens a dossier with this phone at the same moment waits here for us, or we for them: without that, the
    # one who comes second would break the unique key, and with it the whole batch.
    kept = yield from each("dossier_open", [(org, phone, None, None, now)])
    for _, place in kept:
        yield Once("dossier_drop", (org, place))
        yield Once("dossier_phone", (org, dossier, phone, now))
    return bool(kept)


def _recorded(org: OrgId, dossier: int, now: Instant) -> Entry:
    return Entry(
        org_id=org,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier),
        action=Action.UPDATED,
        actor=SYSTEM,
        details="changed: phone (the customer wrote from it)",
    )
