"""A new key for the secrets at rest: numbers and mailboxes are sealed anew, one at a time, while servers go on."""

from __future__ import annotations

import msgspec

from waypost.flow.admit import SECRETS
from waypost.flow.mail_book import purpose as mail_purpose
from waypost.flow.numbers import purpose
from waypost.model.account import Number
from waypost.model.email import MailAccount
from waypost.ports.accounts import Accounts
from waypost.ports.mailboxes import Mailboxes
from waypost.ports.vault import CannotOpen, Vault

TRIES = 5


class Resealed(msgspec.Struct):
    resealed: int = 0
    already: int = 0
    closed: list[str] = []
    """Numbers whose secrets neither key opens."""


async def reseal_all(accounts: Accounts, mailboxes: Mailboxes, fresh: Vault, former: Vault) -> Resealed:
    """Broken off, it may be run again: what is sealed under the new key is left as it is."""
    told = Resealed()
    for mailbox in await mailboxes.of():
        await _reseal_mailbox(mailbox, mailboxes, fresh, former, told)
    for number in await accounts.numbers():
        try:
            if await _reseal(number, accounts, fresh, former):
                told.resealed += 1
            else:
                told.already += 1
        except CannotOpen:
            told.closed.append(f"number {number.id}")
    return told


async def _reseal_mailbox(
    mailbox: MailAccount, mailboxes: Mailboxes, fresh: Vault, former: Vault, told: Resealed
) -> None:
    """Whoever changes the password meanwhile seals it under the new key anyway."""
    if mailbox.sealed_password is None:
        return
    what = mail_purpose(mailbox.org_id, mailbox.id)
    try:
        fresh.open(mailbox.sealed_password, what)
        told.already += 1
        return
    except CannotOpen:
        pass
    try:
        password = former.open(mailbox.sealed_password, what)
    except CannotOpen:
        told.closed.append(f"mailbox {mailbox.id}")
        return
    told.resealed += await mailboxes.reseal(mailbox, fresh.seal(password, what))


async def _reseal(number: Number, accounts: Accounts, fresh: Vault, former: Vault) -> bool:
    """False when all of it is sealed under the new key already."""
    for _ in range(TRIES):
        after = _sealed_anew(number, fresh, former)
        if after is None:
            return False
        if await accounts.reseal(number, after):
            return True
        found = [each for each in await accounts.numbers(number.org_id) if each.id == number.id]
        if not found:  # disconnected meanwhile
            return False
        number = found[0]
    raise CannotOpen(f"number {number.id} changes faster than it can be sealed")


def _sealed_anew(number: Number, fresh: Vault, former: Vault) -> Number | None:
    sealed: dict[str, bytes] = {}
    for field in SECRETS:
        what, box = purpose(number.org_id, number.id, field), getattr(number, f"sealed_{field}")
        try:
            fresh.open(box, what)
        except CannotOpen:
            sealed[f"sealed_{field}"] = fresh.seal(former.open(box, what), what)
    return msgspec.structs.replace(number, **sealed) if sealed else None
