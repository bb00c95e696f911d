"""The business's file on one person, and what that person agreed to."""

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


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of somebody: checked, normalised, not yet stored."""

    phone: str | None = None
    email: str | None = None
    name: str | None = None
    external_ref: str | None = None
    """The business's own name for this person."""


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    id: DossierId
    org_id: OrgId
    person: Person
    status: str
    """A word of the business's own."""
    created_at: Instant
    updated_at: Instant


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """The latest word of a dossier on a channel."""

    dossier_id: DossierId
    channel: Channel
    status: ConsentStatus
    at: Instant
