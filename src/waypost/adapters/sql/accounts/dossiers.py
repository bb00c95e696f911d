"""Dossiers in SQL: rare writes, each in a transaction with its audit entry."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import asdict, replace

from waypost.adapters.sql.accounts.consents import addresses, subject_of
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.rows.audit import written
from waypost.model.audit import AuditAction, AuditEntry, Entity
from waypost.model.dossier import FIRST_STATUS, ConsentStatus, Dossier, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.accounts.dossiers import (
    DossierAmended,
    DossierChange,
    DossierChanged,
    DossierConflict,
    DossierCreated,
    DossierExists,
    DossierSplit,
    Ensured,
    NoDossier,
)
from waypost.ports.platform.failure import Rejected
from waypost.rules.conversations.phone_forms import shared_alias, spellings

_ROUNDS = 3


class SqlDossiers:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def ensure(self, org: OrgId, fields: DossierFields, actor: str, now: Instant) -> Ensured:
        return await self._engine.transact(_ensure(org, fields, actor, now))

    async def get(self, org: OrgId, dossier: DossierId) -> Dossier | None:
        found = await self._engine.read("dossier_get", org, dossier)
        return message_rows.dossier(found[0]) if found else None

    async def find(self, org: OrgId, phone: str | None, external_ref: str | None, limit: int) -> Sequence[Dossier]:
        if phone is not None:
            found = [
                row for form in spellings(phone) for row in await self._engine.read("dossier_with_phone", org, form)
            ]
        elif external_ref is not None:
            found = await self._engine.read("dossier_with_ref", org, external_ref)
        else:
            found = await self._engine.read("dossiers_newest", org, limit)
        dossiers = [message_rows.dossier(row) for row in found]
        return [each for each in dossiers if external_ref is None or each.person.external_ref == external_ref]

    async def change(
        self, org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant
    ) -> DossierChanged:
        try:
            return await self._engine.transact(_change(org, dossier, change, actor, now))
        except Rejected:  # another dossier took the phone or reference meanwhile: find out which
            return await self._engine.transact(_change(org, dossier, change, actor, now))


def _holders(org: OrgId, fields: DossierFields) -> Plan[tuple[Dossier | None, Dossier | None]]:
    """The dossier with the phone, in any of its forms, and the one with the reference."""
    by_phone: list[Row] = []
    by_ref: list[Row] = []
    if fields.phone is not None:
        for form in spellings(fields.phone):
            by_phone += yield Once("dossier_with_phone", (org, form))
    if fields.external_ref is not None:
        by_ref = yield Once("dossier_with_ref", (org, fields.external_ref))
    return message_rows.dossier(by_phone[0]) if by_phone else None, message_rows.dossier(by_ref[0]) if by_ref else None


def _ensure(org: OrgId, fields: DossierFields, actor: str, now: Instant) -> Plan[Ensured]:
    for _ in range(_ROUNDS):
        by_phone, by_ref = yield from _holders(org, fields)
        if by_phone and by_ref and by_phone.id != by_ref.id:
            return DossierSplit(by_phone.id, by_ref.id)
        if known := by_phone or by_ref:
            return DossierExists(known)
        stored = yield Once("dossier_insert", (org, *_columns(fields), FIRST_STATUS, now))
        if stored:
            opened = message_rows.dossier(stored[0])
            yield from written(_entry(opened, AuditAction.CREATED, actor, now, "dossier opened"))
            return DossierCreated(opened)
    raise TransactionConflict("the dossiers with this phone and reference are being changed")


def _change(org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant) -> Plan[DossierChanged]:
    found = yield Once("dossier_lock", (org, dossier))
    if not found:
        return NoDossier()
    before = message_rows.dossier(found[0])
    wanted = {name: value for name, value in asdict(change).items() if value is not UNSET}
    status = wanted.pop("status", before.status)
    fields = replace(before.person, **wanted)
    if (fields, status) == (before.person, before.status):
        return DossierAmended(before)
    for field, holder in zip(("phone", "external_ref"), (yield from _holders(org, _news(before, fields))), strict=True):
        if holder is not None and holder.id != dossier:
            return DossierConflict(field, holder.id)
    after = message_rows.dossier((yield Once("dossier_put", (org, dossier, *_columns(fields), status, now)))[0])
    yield from _carry_revocations(before, after, now)
    yield from written(_entry(after, AuditAction.UPDATED, actor, now, f"changed: {', '.join(_changed(before, after))}"))
    return DossierAmended(after)


def _columns(fields: DossierFields) -> tuple[str | None, ...]:
    return fields.phone, shared_alias(fields.phone), fields.email, fields.name, fields.external_ref


def _news(before: Dossier, fields: DossierFields) -> DossierFields:
    """Without an unchanged phone: its other form may have a dossier of its own from before both were one person's."""
    return replace(fields, phone=None) if fields.phone == before.person.phone else fields


def _changed(before: Dossier, after: Dossier) -> list[str]:
    """The API's names of the changed fields, without their values, which may be personal."""
    was, now = asdict(before.person), asdict(after.person)
    names = [("externalRef" if name == "external_ref" else name) for name in was if was[name] != now[name]]
    return names + (["status"] if before.status != after.status else [])


def _carry_revocations(before: Dossier, after: Dossier, now: Instant) -> Plan[None]:
    """Copy opt-outs to a new phone or email address."""
    if (before.person.phone, before.person.email) == (after.person.phone, after.person.email):
        return
    consents = [
        message_rows.consent(after.id, row) for row in (yield Once("consents_of", (after.org_id, subject_of(after.id))))
    ]
    yield from each(
        "consent_put",
        sorted(
            (after.org_id, subject, each_.channel.value, each_.status.value, each_.at, now)
            for each_ in consents
            if each_.status is ConsentStatus.REVOKED
            for subject in addresses(after.person, each_.channel)
        ),
    )


def _entry(dossier: Dossier, action: AuditAction, actor: str, now: Instant, details: str) -> AuditEntry:
    return AuditEntry(
        org_id=dossier.org_id,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier.id),
        action=action,
        actor=actor,
        details=details,
    )
