"""Dossiers in SQL: rare writes, each a transaction of its own with the audit entry it leaves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import asdict, replace

from waypost.adapters.sql import rows
from waypost.adapters.sql.audit import written
from waypost.adapters.sql.consents import addresses, subject_of
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.model.audit import Action, Entity, Entry
from waypost.model.dossier import FIRST_STATUS, ConsentStatus, Dossier, DossierId, Person
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.dossiers import (
    Amended,
    DossierChange,
    DossierChanged,
    Ensured,
    Known,
    NoDossier,
    Opened,
    Split,
    Taken,
)
from waypost.ports.failure import Rejected

_ROUNDS = 3


class SqlDossiers:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def ensure(self, org: OrgId, person: Person, actor: str, now: Instant) -> Ensured:
        return await self._engine.transact(_ensure(org, person, actor, now))

    async def get(self, org: OrgId, dossier: DossierId) -> Dossier | None:
        found = await self._engine.read("dossier_get", org, dossier)
        return rows.dossier(found[0]) if found else None

    async def find(self, org: OrgId, phone: str | None, external_ref: str | None, limit: int) -> Sequence[Dossier]:
        if phone is not None:
            found = await self._engine.read("dossier_with_phone", org, phone)
        elif external_ref is not None:
            found = await self._engine.read("dossier_with_ref", org, external_ref)
        else:
            found = await self._engine.read("dossiers_newest", org, limit)
        dossiers = [rows.dossier(row) for row in found]
        return [each for each in dossiers if external_ref is None or each.person.external_ref == external_ref]

    async def change(
        self, org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant
    ) -> DossierChanged:
        try:
            return await self._engine.transact(_change(org, dossier, change, actor, now))
        except Rejected:  # somebody took the phone or reference while we looked: now we see who
            return await self._engine.transact(_change(org, dossier, change, actor, now))


def _holders(org: OrgId, person: Person) -> Plan[tuple[Dossier | None, Dossier | None]]:
    """Who has the phone, and who has the reference."""
    by_phone: list[Row] = []
    by_ref: list[Row] = []
    if person.phone is not None:
        by_phone = yield Once("dossier_with_phone", (org, person.phone))
    if person.external_ref is not None:
        by_ref = yield Once("dossier_with_ref", (org, person.external_ref))
    return rows.dossier(by_phone[0]) if by_phone else None, rows.dossier(by_ref[0]) if by_ref else None


def _ensure(org: OrgId, person: Person, actor: str, now: Instant) -> Plan[Ensured]:
    for _ in range(_ROUNDS):
        by_phone, by_ref = yield from _holders(org, person)
        if by_phone and by_ref and by_phone.id != by_ref.id:
            return Split(by_phone.id, by_ref.id)
        if known := by_phone or by_ref:
            return Known(known)
        columns = (person.phone, person.email, person.name, person.external_ref)
        stored = yield Once("dossier_insert", (org, *columns, FIRST_STATUS, now))
        if stored:
            opened = rows.dossier(stored[0])
            yield from written(_entry(opened, Action.CREATED, actor, now, "dossier opened"))
            return Opened(opened)
    raise Conflict("the dossiers with this phone and reference are being changed")


def _change(org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant) -> Plan[DossierChanged]:
    found = yield Once("dossier_lock", (org, dossier))
    if not found:
        return NoDossier()
    before = rows.dossier(found[0])
    wanted = {name: value for name, value in asdict(change).items() if value is not UNSET}
    status = wanted.pop("status", before.status)
    person = replace(before.person, **wanted)
    if (person, status) == (before.person, before.status):
        return Amended(before)
    for field, holder in zip(("phone", "external_ref"), (yield from _holders(org, person)), strict=True):
        if holder is not None and holder.id != dossier:
            return Taken(field, holder.id)
    columns = (person.phone, person.email, person.name, person.external_ref)
    after = rows.dossier((yield Once("dossier_put", (org, dossier, *columns, status, now)))[0])
    yield from _carry_revocations(before, after, now)
    yield from written(_entry(after, Action.UPDATED, actor, now, f"changed: {', '.join(_changed(before, after))}"))
    return Amended(after)


def _changed(before: Dossier, after: Dossier) -> list[str]:
    """By the names that the API gives them; not their values, which may be personal."""
    was, now = asdict(before.person), asdict(after.person)
    names = [("externalRef" if name == "external_ref" else name) for name in was if was[name] != now[name]]
    return names + (["status"] if before.status != after.status else [])


def _carry_revocations(before: Dossier, after: Dossier, now: Instant) -> Plan[None]:
    """Whoever said no does not say yes by having a new number."""
    if (before.person.phone, before.person.email) == (after.person.phone, after.person.email):
        return
    said = [rows.consent(after.id, row) for row in (yield Once("consents_of", (after.org_id, subject_of(after.id))))]
    yield from each(
        "consent_put",
        sorted(
            (after.org_id, subject, each_.channel.value, each_.status.value, each_.at, now)
            for each_ in said
            if each_.status is ConsentStatus.REVOKED
            for subject in addresses(after.person, each_.channel)
        ),
    )


def _entry(dossier: Dossier, action: Action, actor: str, now: Instant, details: str) -> Entry:
    return Entry(
        org_id=dossier.org_id,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier.id),
        action=action,
        actor=actor,
        details=details,
    )
