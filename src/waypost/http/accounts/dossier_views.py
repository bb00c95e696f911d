"""Request and response bodies of dossiers, consents, the audit trail and activities, in camelCase."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.http.sending.views import NO_NUL, BigInt
from waypost.model.audit import Activity, ActivityType, RecordedEntry
from waypost.model.dossier import Consent, ConsentStatus, Dossier
from waypost.model.message import Channel
from waypost.model.time import to_datetime

PhoneText = Annotated[str, Meta(min_length=1, max_length=64, examples=["+15550001111"])]
EmailText = Annotated[str, Meta(min_length=1, max_length=254, examples=["ada@example.com"])]
NameText = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL, examples=["Ada"])]
ExternalRefText = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL, examples=["crm-7"])]
DossierStatus = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,39}$(?!\n)", examples=["WON"])]


class CreateDossier(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A contact; at least one field is required."""

    phone: PhoneText | None = None
    email: EmailText | None = None
    name: NameText | None = None
    external_ref: ExternalRefText | None = None


class ChangeDossier(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The fields to change; omitted fields stay, null clears one."""

    phone: PhoneText | UnsetType | None = UNSET
    email: EmailText | UnsetType | None = UNSET
    name: NameText | UnsetType | None = UNSET
    external_ref: ExternalRefText | UnsetType | None = UNSET
    status: DossierStatus | UnsetType = UNSET


class DossierView(msgspec.Struct, rename="camel", kw_only=True):
    """The org's record of one contact."""

    id: int
    phone: str | None
    email: str | None
    name: str | None
    external_ref: str | None
    status: str
    """Your own status word; initially `NEW`."""
    created_at: datetime
    updated_at: datetime


def dossier_view(dossier: Dossier) -> DossierView:
    return DossierView(
        id=dossier.id,
        phone=dossier.person.phone,
        email=dossier.person.email,
        name=dossier.person.name,
        external_ref=dossier.person.external_ref,
        status=dossier.status,
        created_at=to_datetime(dossier.created_at),
        updated_at=to_datetime(dossier.updated_at),
    )


class DossierList(msgspec.Struct):
    content: list[DossierView]


class PutConsent(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Whether a contact agreed to be messaged on a channel."""

    dossier_id: BigInt
    channel: Channel
    status: ConsentStatus


class ConsentView(msgspec.Struct, rename="camel", kw_only=True):
    dossier_id: int
    channel: Channel
    status: ConsentStatus
    updated_at: datetime


def consent_view(consent: Consent) -> ConsentView:
    return ConsentView(
        dossier_id=consent.dossier_id,
        channel=consent.channel,
        status=consent.status,
        updated_at=to_datetime(consent.at),
    )


class ConsentList(msgspec.Struct):
    content: list[ConsentView]


class AuditView(msgspec.Struct, rename="camel", kw_only=True):
    """Who did what; `actor` is a key's or user's id, or `system`, `provider`, `cli`."""

    id: str
    at: datetime
    entity_type: str
    entity_id: str
    action: str
    actor: str
    details: str


def audit_view(recorded: RecordedEntry) -> AuditView:
    entry = recorded.entry
    return AuditView(
        id=recorded.id,
        at=to_datetime(entry.at),
        entity_type=entry.entity_type,
        entity_id=entry.entity_id,
        action=entry.action,
        actor=entry.actor,
        details=entry.details,
    )


class AuditList(msgspec.Struct):
    content: list[AuditView]


class ActivityView(msgspec.Struct, rename="camel", kw_only=True):
    """An event of one of the dossier's messages."""

    id: str
    at: datetime
    dossier_id: int
    type: ActivityType
    payload: dict[str, Any]


def activity_view(activity: Activity) -> ActivityView:
    return ActivityView(
        id=activity.id,
        at=to_datetime(activity.at),
        dossier_id=activity.dossier_id,
        type=activity.type,
        payload=activity.payload,
    )


class ActivityList(msgspec.Struct):
    content: list[ActivityView]
