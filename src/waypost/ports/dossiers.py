"""Dossiers: one per person and org."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from waypost.model.dossier import Dossier, DossierId, Person
from waypost.model.ids import OrgId
from waypost.model.time import Instant


class Opened(msgspec.Struct, frozen=True, tag=True):
    dossier: Dossier


class Known(msgspec.Struct, frozen=True, tag=True):
    """The org has one with that phone or reference; it is left as it is."""

    dossier: Dossier


class Split(msgspec.Struct, frozen=True, tag=True):
    """The phone belongs to one dossier and the reference to another; nothing changed."""

    by_phone: DossierId
    by_ref: DossierId


class Amended(msgspec.Struct, frozen=True, tag=True):
    dossier: Dossier


class Taken(msgspec.Struct, frozen=True, tag=True):
    """Another dossier has this phone or reference; nothing changed."""

    field: str
    dossier_id: DossierId


class NoDossier(msgspec.Struct, frozen=True, tag=True):
    pass


Ensured: TypeAlias = Opened | Known | Split
DossierChanged: TypeAlias = Amended | Taken | NoDossier


class DossierChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change; UNSET leaves it, None takes it away."""

    phone: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    external_ref: str | UnsetType | None = UNSET
    status: str | UnsetType = UNSET


class Dossiers(Protocol):
    async def ensure(self, org: OrgId, person: Person, actor: str, now: Instant) -> Ensured:
        """The org's dossier with this phone or reference, or a new one.

        Also under concurrency there is one per phone and one per reference: exactly one caller gets Opened. A new one
        leaves an audit entry DOSSIER / CREATED in the same transaction.
        """

    async def get(self, org: OrgId, dossier: DossierId) -> Dossier | None:
        """The dossier, if it is this org's."""

    async def find(self, org: OrgId, phone: str | None, external_ref: str | None, limit: int) -> Sequence[Dossier]:
        """Those that have all of what is given, newest first."""

    async def change(
        self, org: OrgId, dossier: DossierId, change: DossierChange, actor: str, now: Instant
    ) -> DossierChanged:
        """Change what is named and write DOSSIER / UPDATED, in one transaction; what changes nothing writes nothing.

        A consent that was revoked goes along: it is recorded for the new phone or email too.
        """
