"""How mailboxes are connected, changed and let go; a password is sealed before it is stored."""

from __future__ import annotations

import msgspec

from waypost.flow.mail_book import purpose
from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.email import MailAccount, Mailbox, Security
from waypost.model.ids import MAILBOX, MailboxId, OrgId
from waypost.ports.hints import ACCOUNTS, OUTBOX
from waypost.ports.mailboxes import MailboxChange
from waypost.rules import email, gates
from waypost.rules.shape import Invalid

PORTS = {Security.TLS: 465, Security.STARTTLS: 587, Security.NONE: 25}


class NewMailbox(msgspec.Struct, frozen=True, kw_only=True):
    address: str
    host: str
    name: str = ""
    domain: str | None = None
    """None takes the address's own."""
    port: int | None = None
    """None takes the usual one of `security`."""
    security: Security = Security.STARTTLS
    username: str | None = None
    password: str | None = None
    enabled: bool = True
    pace: int = 10


async def connect(org: OrgId, new: NewMailbox, world: World, actor: str = SYSTEM) -> MailAccount | Invalid | None:
    """None when the org has a mailbox with this address; the mail server need not be reachable."""
    mailbox = _mailbox(new)
    if wrong := email.check_mailbox(mailbox) or _check_login(mailbox):
        return wrong
    mailbox_id, now = MailboxId(MAILBOX + world.ids.token(9)), world.clock.now()
    sealed = None if new.password is None else world.vault.seal(new.password, purpose(org, mailbox_id))
    account = MailAccount(
        id=mailbox_id,
        org_id=org,
        address=mailbox.address,
        name=mailbox.name,
        domain=mailbox.domain,
        host=mailbox.host,
        port=mailbox.port,
        security=mailbox.security,
        username=mailbox.username,
        sealed_password=sealed,
        enabled=new.enabled,
        created_at=now,
        updated_at=now,
        pace=new.pace,
    )
    connected = await world.ledger.mailboxes.connect(account, actor)
    _tell(world)
    return account if connected else None


def _mailbox(new: NewMailbox) -> Mailbox:
    address = email.address(new.address) or new.address
    return Mailbox(
        address=address,
        name=new.name,
        domain=new.domain or address.rpartition("@")[2],
        host=new.host,
        port=new.port or PORTS[new.security],
        security=new.security,
        username=new.username,
        password=new.password,
    )


def _check_login(mailbox: Mailbox) -> Invalid | None:
    if mailbox.username is not None and mailbox.password is None:
        return Invalid("password", "is required with a username")
    if mailbox.password is not None and mailbox.username is None:
        return Invalid("username", "is required with a password")
    return None


async def change(
    org: OrgId,
    mailbox: MailboxId,
    wanted: MailboxChange,
    password: str | None,
    world: World,
    actor: str = SYSTEM,
) -> MailAccount | Invalid | None:
    """None when the org has no such mailbox; a new password releases what waited for it."""
    known = next((each for each in await world.ledger.mailboxes.of(org) if each.id == mailbox), None)
    if known is None:
        return None
    if wrong := _check_change(known, wanted, password):
        return wrong
    sealed = None if password is None else world.vault.seal(password, purpose(org, mailbox))
    whole = msgspec.structs.replace(wanted, sealed_password=sealed)
    changed = await world.ledger.mailboxes.change(org, mailbox, whole, world.clock.now(), actor)
    world.just_closed.pop((org, gates.of_number(mailbox)), None)  # what it opened is open here, too
    _tell(world)
    return changed


def _check_change(known: MailAccount, wanted: MailboxChange, password: str | None) -> Invalid | None:
    """The mailbox as it would be; of a password that stays, only that there is one is known here."""
    kept = {name: getattr(wanted, name) for name in ("name", "domain", "host", "port", "security", "username")}
    after = Mailbox(
        address=known.address,
        password=password or ("kept" if known.sealed_password else None),
        **{name: getattr(known, name) if value is None else value for name, value in kept.items()},
    )
    return email.check_mailbox(after) or _check_login(after)


async def disconnect(org: OrgId, mailbox: MailboxId, world: World, actor: str = SYSTEM) -> bool:
    found = await world.ledger.mailboxes.disconnect(org, mailbox, actor)
    _tell(world)
    return found


def _tell(world: World) -> None:
    world.mailboxes.forget()
    world.hints.give([ACCOUNTS, OUTBOX])
