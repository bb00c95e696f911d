"""The connected mailboxes with their passwords opened, at hand for the sender."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from waypost.model.email import MailAccount, Mailbox
from waypost.model.ids import MailboxId, OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.clock import Clock
from waypost.ports.mailboxes import Mailboxes
from waypost.ports.vault import CannotOpen, Vault

STALE_AFTER: Span = seconds(2)
"""How long another process's change to a mailbox may go unnoticed here."""


def purpose(org: OrgId, mailbox: MailboxId) -> str:
    return f"{org}/{mailbox}/password"


@dataclass(frozen=True, slots=True)
class ConnectedMailbox:
    account: MailAccount
    mailbox: Mailbox | None
    """None when its password was sealed under another key."""


class MailBook:
    """Read when an email is to be sent and not before: who sends none pays nothing."""

    def __init__(self, mailboxes: Mailboxes, vault: Vault, clock: Clock) -> None:
        self._mailboxes = mailboxes
        self._vault = vault
        self._clock = clock
        self._by_id: dict[str, ConnectedMailbox] = {}
        self._read_at: Instant | None = None
        self._reading = asyncio.Lock()

    def forget(self) -> None:
        """Read again before the next answer: something was changed."""
        self._read_at = None

    async def find(self, sender: str) -> ConnectedMailbox | None:
        """Looks again for one that is not known: it may have been connected a moment ago, by another process."""
        await self._fresh()
        if sender not in self._by_id:
            self.forget()
            await self._fresh()
        return self._by_id.get(sender)

    async def of_org(self, org: OrgId) -> Sequence[ConnectedMailbox]:
        """The one connected first in front."""
        await self._fresh()
        return [each for each in self._by_id.values() if each.account.org_id == org]

    async def _fresh(self) -> None:
        async with self._reading:
            now = self._clock.now()
            if self._read_at is None or not 0 <= now - self._read_at <= STALE_AFTER:
                found = await self._mailboxes.of()
                self._by_id = {account.id: self._connected(account) for account in found}
                self._read_at = now

    def _connected(self, account: MailAccount) -> ConnectedMailbox:
        known = self._by_id.get(account.id)
        if known is not None and known.account == account:
            return known
        try:
            return ConnectedMailbox(account, opened(account, self._vault))
        except CannotOpen:
            return ConnectedMailbox(account, None)


def opened(account: MailAccount, vault: Vault) -> Mailbox:
    sealed = account.sealed_password
    return Mailbox(
        address=account.address,
        name=account.name,
        domain=account.domain,
        host=account.host,
        port=account.port,
        security=account.security,
        username=account.username,
        password=None if sealed is None else vault.open(sealed, purpose(account.org_id, account.id)),
    )
