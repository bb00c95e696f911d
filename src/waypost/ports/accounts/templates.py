"""Message templates: the provider as their source, and the stored lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.ids import OrgId
from waypost.model.template import Template, TemplateStatusChange
from waypost.model.time import Instant


class TemplateAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A business account with its token decrypted; never logged, never stored."""

    waba_id: str
    token: str
    graph_url: str

    def __repr__(self) -> str:
        return f"TemplateAccount({self.waba_id})"


class NotFetched(msgspec.Struct, frozen=True):
    """The list could not be fetched; the reason contains no secret."""

    reason: str


Fetched: TypeAlias = Sequence[Template] | NotFetched


class TemplateSource(Protocol):
    async def fetch(self, account: TemplateAccount, timeout: float) -> Fetched:
        """The account's complete list, or NotFetched, within `timeout` seconds in total.

        Never raises for a network fault, and sends the token to the account's own `graph_url` only.
        """


class Synced(msgspec.Struct, frozen=True):
    at: Instant
    """When the stored list was requested."""
    version: int
    """Changes with every change to the list."""


class Templates(Protocol):
    """Stored per org: two orgs that share an account do not see or change each other's list."""

    async def replace(self, org: OrgId, waba_id: str, templates: Sequence[Template], asked_at: Instant) -> bool:
        """Replace the stored list with the one requested at `asked_at`, atomically.

        False, without a change, if the stored list was requested later. A status reported after `asked_at` stays.
        """

    async def of(self, org: OrgId, waba_id: str) -> Sequence[Template]:
        """The stored list, by name and language."""

    async def synced(self, org: OrgId, waba_id: str) -> Synced | None:
        """When the list was last synced; None if never."""

    async def change_status(self, org: OrgId, waba_id: str, change: TemplateStatusChange, at: Instant) -> bool:
        """Record a status that the provider reported at `at`; True if it is news.

        Nothing changes if this or a newer status is known, or if the template is not in the list.
        """

    async def stale(self, before: Instant) -> Sequence[tuple[OrgId, str]]:
        """The orgs and accounts whose list was requested before then, oldest first."""
