"""Connected mailboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.email import MailAccount, Security
from waypost.model.ids import MailboxId, OrgId
from waypost.model.time import Instant


class MailboxChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a mailbox; None leaves a field unchanged."""

    name: str | None = None
    domain: str | None = None
    host: str | None = None
    port: int | None = None
    security: Security | None = None
    username: str | None = None
    sealed_password: bytes | None = None
    enabled: bool | None = None
    pace: int | None = None

    @property
    def mends(self) -> bool:
        """Whether this may fix what the mail server refused."""
        given = (self.domain, self.host, self.port, self.security, self.username, self.sealed_password)
        return any(value is not None for value in given)

    def names(self) -> list[str]:
        """The API names of the changed fields; not the values, which may be secret."""
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        return [name.removeprefix("sealed_") for name in given]


class Mailboxes(Protocol):
    """Every change with an `actor` adds an audit entry in the same transaction."""

    async def connect(self, mailbox: MailAccount, actor: str = SYSTEM) -> bool:
        """Store a mailbox; False, without a change, if the org has one with this address."""

    async def of(self, org: OrgId | None = None) -> Sequence[MailAccount]:
        """The connected mailboxes of one org, or of all, oldest first."""

    async def change(
        self, org: OrgId, mailbox: MailboxId, change: MailboxChange, now: Instant, actor: str = SYSTEM
    ) -> MailAccount | None:
        """Apply `change`; None if the org has no such mailbox.

        A change that may fix it opens the gates that its server's refusals closed; disabling it holds its messages.
        """

    async def reseal(self, before: MailAccount, sealed_password: bytes) -> bool:
        """Replace only the sealed password; False if it no longer equals that of `before`."""

    async def disconnect(self, org: OrgId, mailbox: MailboxId, actor: str = SYSTEM) -> bool:
        """Remove a mailbox and its gates; False if the org has no such mailbox."""
