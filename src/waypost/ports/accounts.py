"""Orgs, keys, people and connected numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.account import ApiKey, Caller, Number, Org, User
from waypost.model.audit import SYSTEM
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant


class NumberChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a number; None leaves it."""

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
    """Takes the number's failover away."""

    def names(self) -> list[str]:
        """What it changes, as the API calls it; not the values, which may be secret."""
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None and name != "no_failover"]
        return [name.removeprefix("sealed_") for name in given] + (["failover"] if self.no_failover else [])


class Accounts(Protocol):
    """Every change that names an `actor` leaves its entry in the audit trail, in the same transaction."""

    async def create_org(self, org: Org, quota: int | None) -> bool:
        """Store a new org that may send `quota` messages a day; False when the id is taken, and nothing changes."""

    async def org(self, org: OrgId) -> Org | None:
        """The org, if it exists."""

    async def orgs(self) -> Sequence[Org]:
        """Every org, oldest first."""

    async def add_key(self, key: ApiKey, digest: bytes, actor: str = SYSTEM) -> None:
        """Store a key by the digest of its secret."""

    async def keys(self, org: OrgId, now: Instant) -> Sequence[ApiKey]:
        """The org's keys that are alive, oldest first; one that is to end later still is."""

    async def revoke_key(self, org: OrgId, key: KeyId, at: Instant, actor: str = SYSTEM) -> bool:
        """End a key, now or at a later moment; False when the org has no such key that lives until then."""

    async def add_user(self, user: User, digest: bytes, actor: str = SYSTEM) -> None:
        """Store a person by the digest of their token."""

    async def users(self, org: OrgId) -> Sequence[User]:
        """The org's people, oldest first."""

    async def renew_token(self, org: OrgId, user: UserId, digest: bytes, actor: str = SYSTEM) -> bool:
        """Replace a person's token; the old one ends. False when the org has no such person."""

    async def remove_user(self, org: OrgId, user: UserId, actor: str = SYSTEM) -> bool:
        """Remove a person and their token; False when the org has no such person."""

    async def caller(self, digest: bytes, now: Instant) -> Caller | None:
        """Who holds the key or token with this digest; None for unknown and revoked ones."""

    async def tokens(self, users: Sequence[UserId]) -> Mapping[UserId, bytes]:
        """The digests of their tokens, of those who are still there."""

    async def connect(self, number: Number, actor: str = SYSTEM) -> bool:
        """Store a number; False when it is connected already, to whichever org, and nothing changes."""

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        """The connected numbers, oldest first; of one org, or of all for the door that must tell owners apart."""

    async def reseal(self, before: Number, after: Number) -> bool:
        """Put the sealed secrets of `after` in place of those of `before`, all or none; False when they had changed."""

    async def change_number(
        self, org: OrgId, number: NumberId, change: NumberChange, now: Instant, actor: str = SYSTEM
    ) -> Number | None:
        """Change what `change` names; None when the org has no such number."""

    async def disconnect(self, org: OrgId, number: NumberId, actor: str = SYSTEM) -> bool:
        """Remove a number; False when the org has no such number."""

    async def tried(self, org: OrgId) -> Mapping[NumberId, Instant]:
        """When the provider last said that it knows each of the org's numbers with its token; of the others nothing."""

    async def answered(self, number: Number, now: Instant) -> None:
        """The provider knows the number as it is here; nothing is kept of one that was changed since it was read.

        A new token, another address or a disconnect ends this.
        """
