"""A cache of the connected mailboxes, with their passwords decrypted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from waypost.model.email import MailAccount, Mailbox
from waypost.model.ids import MailboxId, OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.accounts.mailboxes import Mailboxes
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.vault import UnsealError, Vault

STALE_AFTER: Span = seconds(2)
"""How old the cache may be: another process's change shows after at most this long."""


def purpose(org: OrgId, mailbox: MailboxId) -> str:
    return f"{org}/{mailbox}/password"


@dataclass(frozen=True, slots=True)
class ConnectedMailbox:
    account: MailAccount
    mailbox: Mailbox | None
    """None if its password was encrypted with another key."""


class MailboxCache:
    """Reads the mailboxes when an email is sent, so that servers without email read nothing."""

    def __init__(self, mailboxes: Mailboxes, vault: Vault, clock: Clock) -> None:
        self._mailboxes = mailboxes
        self._vault = vault
        self._clock = clock
        self._by_id: dict[str, ConnectedMailbox] = {}
        self._read_at: Instant | None = None
        self._reading = asyncio.Lock()

    def invalidate(self) -> None:
        """Makes the next lookup read the Ledger again."""
        self._read_at = None

    async def find(self, sender: str) -> ConnectedMailbox | None:
        """Reads again if the mailbox is unknown: another process may have just connected it."""
        await self._fresh()
        if sender not in self._by_id:
            self.invalidate()
            await self._fresh()
        return self._by_id.get(sender)

    async def of_org(self, org: OrgId) -> Sequence[ConnectedMailbox]:
        """In the order in which they were connected."""
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
        except UnsealError:
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
