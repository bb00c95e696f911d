"""Orgs, keys, users and connected numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.account import ApiKey, Caller, Number, Org, User
from waypost.model.audit import SYSTEM
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant


class NumberChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a number; None leaves a field unchanged."""

    waba_id: str | None = None
    sealed_token: bytes | None = None
    sealed_app_secret: bytes | None = None
    sealed_verify_token: bytes | None = None
    graph_url: str | None = None
    error_catalogue: str | None = None
    enabled: bool | None = None
    pace: int | None = None
    tier: int | None = None
    failover: NumberId | None = None
    no_failover: bool = False
    """Removes the number's failover."""

    def names(self) -> list[str]:
        """The API names of the changed fields; not the values, which may be secret."""
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None and name != "no_failover"]
        return [name.removeprefix("sealed_") for name in given] + (["failover"] if self.no_failover else [])


class Accounts(Protocol):
    """Every change with an `actor` adds an audit entry in the same transaction."""

    async def create_org(self, org: Org, quota: int | None) -> bool:
        """Store a new org that may send `quota` messages a day; False, without a change, if the id is taken."""

    async def org(self, org: OrgId) -> Org | None:
        """The org, if it exists."""

    async def orgs(self) -> Sequence[Org]:
        """Every org, oldest first."""

    async def add_key(self, key: ApiKey, digest: bytes, actor: str = SYSTEM) -> None:
        """Store a key by the digest of its secret."""

    async def keys(self, org: OrgId, now: Instant) -> Sequence[ApiKey]:
        """The org's valid keys, oldest first, including those that will end later."""

    async def revoke_key(self, org: OrgId, key: KeyId, at: Instant, actor: str = SYSTEM) -> bool:
        """Revoke a key, now or at a later time; False if the org has no such key that is valid until then."""

    async def add_user(self, user: User, digest: bytes, actor: str = SYSTEM) -> None:
        """Store a user by the digest of their token."""

    async def users(self, org: OrgId) -> Sequence[User]:
        """The org's users, oldest first."""

    async def renew_token(self, org: OrgId, user: UserId, digest: bytes, actor: str = SYSTEM) -> bool:
        """Replace a user's token; the old one becomes invalid. False if the org has no such user."""

    async def remove_user(self, org: OrgId, user: UserId, actor: str = SYSTEM) -> bool:
        """Remove a user and their token; False if the org has no such user."""

    async def caller(self, digest: bytes, now: Instant) -> Caller | None:
        """The caller with this key or token digest; None if it is unknown or revoked."""

    async def tokens(self, users: Sequence[UserId]) -> Mapping[UserId, bytes]:
        """The token digests of those users that still exist."""

    async def connect(self, number: Number, actor: str = SYSTEM) -> bool:
        """Store a number; False, without a change, if it is already connected, to any org."""

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        """The connected numbers of one org, or of all (to find the owner of a webhook), oldest first."""

    async def reseal(self, before: Number, after: Number) -> bool:
        """Replace the sealed secrets of `before` with those of `after`, all or none; False if they have changed."""

    async def change_number(
        self, org: OrgId, number: NumberId, change: NumberChange, now: Instant, actor: str = SYSTEM
    ) -> Number | None:
        """Apply `change`; None if the org has no such number."""

    async def disconnect(self, org: OrgId, number: NumberId, actor: str = SYSTEM) -> bool:
        """Remove a number; False if the org has no such number."""

    async def tried(self, org: OrgId) -> Mapping[NumberId, Instant]:
        """When the provider last confirmed each of the org's numbers with its token; unconfirmed ones are absent."""

    async def answered(self, number: Number, now: Instant) -> None:
        """Record that the provider confirmed the number; ignored if the number has changed since it was read.

        A new token, another address or a disconnect clears this.
        """
