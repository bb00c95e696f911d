"""A customer's record at the business, and their consents."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant

DossierId = NewType("DossierId", int)

FIRST_STATUS = "NEW"


class ConsentStatus(StrEnum):
    GRANTED = "GRANTED"
    REVOKED = "REVOKED"
    PENDING = "PENDING"


class DossierFields(msgspec.Struct, frozen=True, kw_only=True):
    """A person's data: checked, normalised, not yet stored."""

    phone: str | None = None
    email: str | None = None
    name: str | None = None
    external_ref: str | None = None
    """The business's own id for this person."""


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    id: DossierId
    org_id: OrgId
    person: DossierFields
    status: str
    """Free text, defined by the business."""
    created_at: Instant
    updated_at: Instant


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """The latest consent of a dossier for a channel."""

    dossier_id: DossierId
    channel: Channel
    status: ConsentStatus
    at: Instant
