"""Re-encrypts the stored secrets of numbers and mailboxes with a new key, one at a time, while servers run."""

from __future__ import annotations

import msgspec

from waypost.flow.accounts.access import SECRETS
from waypost.flow.mailbox_cache import purpose as mail_purpose
from waypost.flow.number_cache import purpose
from waypost.model.account import Number
from waypost.model.email import MailAccount
from waypost.ports.accounts.accounts import Accounts
from waypost.ports.accounts.mailboxes import Mailboxes
from waypost.ports.platform.vault import UnsealError, Vault

ATTEMPTS = 5


class Resealed(msgspec.Struct):
    resealed: int = 0
    already: int = 0
    closed: list[str] = []
    """Numbers and mailboxes whose secrets neither key decrypts."""


async def reseal_all(accounts: Accounts, mailboxes: Mailboxes, fresh: Vault, former: Vault) -> Resealed:
    """May be interrupted and run again: secrets under the new key stay as they are."""
    result = Resealed()
    for mailbox in await mailboxes.of():
        await _reseal_mailbox(mailbox, mailboxes, fresh, former, result)
    for number in await accounts.numbers():
        try:
            if await _reseal(number, accounts, fresh, former):
                result.resealed += 1
            else:
                result.already += 1
        except UnsealError:
            result.closed.append(f"number {number.id}")
    return result


async def _reseal_mailbox(
    mailbox: MailAccount, mailboxes: Mailboxes, fresh: Vault, former: Vault, result: Resealed
) -> None:
    """A password that is changed meanwhile is already encrypted with the new key."""
    if mailbox.sealed_password is None:
        return
    what = mail_purpose(mailbox.org_id, mailbox.id)
    try:
        fresh.open(mailbox.sealed_password, what)
        result.already += 1
        return
    except UnsealError:
        pass
    try:
        password = former.open(mailbox.sealed_password, what)
    except UnsealError:
        result.closed.append(f"mailbox {mailbox.id}")
        return
    result.resealed += await mailboxes.reseal(mailbox, fresh.seal(password, what))


async def _reseal(number: Number, accounts: Accounts, fresh: Vault, former: Vault) -> bool:
    """False if all secrets are already encrypted with the new key, or the number is gone."""
    for _ in range(ATTEMPTS):
        after = _resealed(number, fresh, former)
        if after is None:
            return False
        if await accounts.reseal(number, after):
            return True
        found = [each for each in await accounts.numbers(number.org_id) if each.id == number.id]
        if not found:  # disconnected meanwhile
            return False
        number = found[0]
    raise UnsealError(f"number {number.id} keeps changing; run the command again")


def _resealed(number: Number, fresh: Vault, former: Vault) -> Number | None:
    sealed: dict[str, bytes] = {}
    for field in SECRETS:
        what, box = purpose(number.org_id, number.id, field), getattr(number, f"sealed_{field}")
        try:
            fresh.open(box, what)
        except UnsealError:
            sealed[f"sealed_{field}"] = fresh.seal(former.open(box, what), what)
    return msgspec.structs.replace(number, **sealed) if sealed else None
