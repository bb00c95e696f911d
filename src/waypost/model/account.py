"""Orgs, API keys, users and connected numbers."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant


class Role(StrEnum):
    """What a caller may do. An agent is a user; sender and readonly are keys; an admin may be either."""

    ADMIN = "admin"
    SENDER = "sender"
    READONLY = "readonly"
    AGENT = "agent"


class Org(msgspec.Struct, frozen=True):
    id: OrgId
    created_at: Instant


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    id: KeyId
    org_id: OrgId
    role: Role
    label: str
    created_at: Instant
    revoked_at: Instant | None = None


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: UserId
    org_id: OrgId
    name: str
    role: Role
    created_at: Instant


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A connected business number; its secrets are sealed and only `Vault` can open them."""

    id: NumberId
    org_id: OrgId
    waba_id: str
    sealed_token: bytes
    sealed_app_secret: bytes
    sealed_verify_token: bytes
    graph_url: str | None
    error_catalogue: str
    enabled: bool
    created_at: Instant
    updated_at: Instant
    pace: int = 80
    """Messages per second."""
    tier: int | None = None
    """New customers a day that templates may reach; None until the provider reports it."""
    failover: NumberId | None = None
    """Another number of the org that takes over when this one cannot send for long."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a valid key or token."""

    org_id: OrgId
    role: Role
    key_id: KeyId | None = None
    user_id: UserId | None = None
