"""Audit entries, and the activity of a dossier's messages."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from waypost.model.ids import OrgId
from waypost.model.time import Instant

SYSTEM: Final = "system"
"""The actor when neither a user nor a key acts."""
PROVIDER: Final = "provider"
OPERATOR: Final = "cli"
"""An operator at the command line."""


class Entity(StrEnum):
    OUTBOUND_MESSAGE = "OUTBOUND_MESSAGE"
    DOSSIER = "DOSSIER"
    ADDRESS = "ADDRESS"
    """A phone number or email address without a dossier."""
    ORG = "ORG"
    CONVERSATION = "CONVERSATION"
    NUMBER = "NUMBER"
    MAILBOX = "MAILBOX"
    KEY = "KEY"
    USER = "USER"
    QUICK_REPLY = "QUICK_REPLY"


class AuditAction(StrEnum):
    CREATED = "CREATED"
    SENT = "SENT"
    FAILED = "FAILED"
    UPDATED = "UPDATED"
    BLOCKED_BY_POLICY = "BLOCKED_BY_POLICY"
    RETRIED = "RETRIED"
    CANCELLED = "CANCELLED"
    REPLAYED = "REPLAYED"
    CONSENT_CHANGED = "CONSENT_CHANGED"
    QUOTA_CHANGED = "QUOTA_CHANGED"
    FLOOR_CHANGED = "FLOOR_CHANGED"
    JOINED = "JOINED"
    POLICY_CHANGED = "POLICY_CHANGED"
    GATE_RELEASED = "GATE_RELEASED"
    NUMBER_CONNECTED = "NUMBER_CONNECTED"
    NUMBER_CHANGED = "NUMBER_CHANGED"
    NUMBER_DISCONNECTED = "NUMBER_DISCONNECTED"
    MAILBOX_CONNECTED = "MAILBOX_CONNECTED"
    MAILBOX_CHANGED = "MAILBOX_CHANGED"
    MAILBOX_DISCONNECTED = "MAILBOX_DISCONNECTED"
    KEY_CREATED = "KEY_CREATED"
    KEY_REVOKED = "KEY_REVOKED"
    USER_CREATED = "USER_CREATED"
    USER_TOKEN_RENEWED = "USER_TOKEN_RENEWED"  # noqa: S105  # the name of an action, not a secret
    USER_REMOVED = "USER_REMOVED"
    QUICK_REPLY_ADDED = "QUICK_REPLY_ADDED"
    QUICK_REPLY_CHANGED = "QUICK_REPLY_CHANGED"
    QUICK_REPLY_RENAMED = "QUICK_REPLY_RENAMED"
    QUICK_REPLY_REMOVED = "QUICK_REPLY_REMOVED"
    RESTORED = "RESTORED"
    """The database was restored from a backup."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    at: Instant
    entity_type: str
    entity_id: str
    action: str
    actor: str
    """The id of a key or a user, or SYSTEM, PROVIDER or OPERATOR."""
    details: str


class RecordedEntry(msgspec.Struct, frozen=True):
    """An entry with a stable id: its row number, or the message step that it is derived from."""

    id: str
    entry: AuditEntry


class ActivityType(StrEnum):
    MESSAGE_SENT = "MESSAGE_SENT"
    MESSAGE_STATUS_UPDATE = "MESSAGE_STATUS_UPDATE"
    MESSAGE_FAILED = "MESSAGE_FAILED"


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: Instant
    dossier_id: int
    type: ActivityType
    payload: dict[str, Any]
