"""Message templates: where an account's list comes from, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.template import StatusChange, Template
from waypost.model.time import Instant


class TemplateAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A business account with its token opened; never logged, never stored."""

    waba_id: str
    token: str
    graph_url: str

    def __repr__(self) -> str:
        return f"TemplateAccount({self.waba_id})"


class NotFetched(msgspec.Struct, frozen=True):
    """The list could not be had; the reason holds no secret."""

    reason: str


Fetched: TypeAlias = Sequence[Template] | NotFetched


class TemplateSource(Protocol):
    async def fetch(self, account: TemplateAccount, timeout: float) -> Fetched:
        """The account's whole list or nothing of it, within `timeout` seconds in all.

        Never raises for a network fault, and sends the token to the account's own `graph_url` only.
        """


class Synced(msgspec.Struct, frozen=True):
    at: Instant
    """When the list that is kept was asked for."""
    version: int
    """Another one after every change to the list."""


class Templates(Protocol):
    """Kept per org: two orgs that share an account do not see or change each other's list."""

    async def replace(self, org: OrgId, waba_id: str, templates: Sequence[Template], asked_at: Instant) -> bool:
        """Put the list that was asked for at this moment in place of the one that is kept, atomically.

        False, and nothing changes, when the one that is kept was asked for later. A status that was told after
        `asked_at` stays as it was told.
        """

    async def of(self, org: OrgId, waba_id: str) -> Sequence[Template]:
        """The list that is kept, by name and language."""

    async def synced(self, org: OrgId, waba_id: str) -> Synced | None:
        """When the list was synced; None when it never was."""

    async def change_status(self, org: OrgId, waba_id: str, change: StatusChange, at: Instant) -> bool:
        """Note what the provider told of one template at this moment; True when its status is another one now.

        Nothing changes when something newer is known, and for a template that is not in the list.
        """

    async def stale(self, before: Instant) -> Sequence[tuple[OrgId, str]]:
        """The orgs and accounts whose list was asked for before this moment, oldest first."""
