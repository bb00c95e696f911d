"""Dossiers: one per person and org."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from waypost.model.dossier import Dossier, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.time import Instant


class DossierCreated(msgspec.Struct, frozen=True, tag=True):
    dossier: Dossier


class DossierExists(msgspec.Struct, frozen=True, tag=True):
    """The org already has a dossier with that phone or reference; it is unchanged."""

    dossier: Dossier


class DossierSplit(msgspec.Struct, frozen=True, tag=True):
    """The phone belongs to one dossier and the reference to another; nothing changed."""

    by_phone: DossierId
    by_ref: DossierId


class DossierAmended(msgspec.Struct, frozen=True, tag=True):
    dossier: Dossier


class DossierConflict(msgspec.Struct, frozen=True, tag=True):
    """Another dossier has this phone or reference; nothing changed."""

    field: str
    dossier_id: DossierId


class NoDossier(msgspec.Struct, frozen=True, tag=True):
    pass


Ensured: TypeAlias = DossierCreated | DossierExists | DossierSplit
DossierChanged: TypeAlias = DossierAmended | DossierConflict | NoDossier


class DossierChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a dossier; UNSET leaves a field unchanged, None removes its value."""

    phone: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    external_ref: str | UnsetType | None = UNSET
    status: str | UnsetType = UNSET


class Dossiers(Protocol):
    async def ensure(self, org: OrgId, fields: DossierFields, actor: str, now: Instant) -> Ensured:
        """The org's dossier with this phone or reference, or a new one.

        Even under concurrency there is one per phone and one per reference: exactly one caller gets DossierCreated. A
        new one adds the audit entry DOSSIER / CREATED in the same transaction.
        """

    async def get(self, org: OrgId, dossier: DossierId) -> Dossier | None:
        """The dossier, if it is this org's."""

    async def find(self, org: OrgId, phone: str | None, external_ref: str | None, limit: int) -> Sequence[Dossier]:
        """The dossiers that match all given values, newest first."""

    async def change(
        self, org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant
    ) -> DossierChanged:
        """Apply the change and add DOSSIER / UPDATED, in one transaction; without a difference nothing is written.

        A revoked consent is also recorded for the new phone or email.
        """
