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
    """What to change of a mailbox; None leaves it."""

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
        """What the mail server refused may work with this."""
        given = (self.domain, self.host, self.port, self.security, self.username, self.sealed_password)
        return any(value is not None for value in given)

    def names(self) -> list[str]:
        """What it changes, as the API calls it; not the values, which may be secret."""
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        return [name.removeprefix("sealed_") for name in given]


class Mailboxes(Protocol):
    """Every change that names an `actor` leaves its entry in the audit trail, in the same transaction."""

    async def connect(self, mailbox: MailAccount, actor: str = SYSTEM) -> bool:
        """Store a mailbox; False when the org has one with this address, and nothing changes."""

    async def of(self, org: OrgId | None = None) -> Sequence[MailAccount]:
        """The connected mailboxes, oldest first; of one org, or of all."""

    async def change(
        self, org: OrgId, mailbox: MailboxId, change: MailboxChange, now: Instant, actor: str = SYSTEM
    ) -> MailAccount | None:
        """Change what `change` names; None when the org has no such mailbox.

        A change that may mend it opens what its server's refusals had closed; disabling holds its messages.
        """

    async def reseal(self, before: MailAccount, sealed_password: bytes) -> bool:
        """Replace the sealed password, and nothing else; False when it is no longer sealed as `before` says."""

    async def disconnect(self, org: OrgId, mailbox: MailboxId, actor: str = SYSTEM) -> bool:
        """Remove a mailbox, and whatever is closed in front of it; False when the org has no such mailbox."""
