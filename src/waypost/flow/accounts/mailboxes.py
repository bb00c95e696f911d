"""Connects, changes and disconnects mailboxes; passwords are encrypted before they are stored."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.flow.mailbox_cache import purpose
from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.email import MailAccount, Mailbox, Security
from waypost.model.ids import MAILBOX, MailboxId, OrgId
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.ports.platform.hints import ACCOUNTS, OUTBOX
from waypost.rules.content import email
from waypost.rules.limits import gates
from waypost.rules.text.json_validation import InvalidField

PORTS = {Security.TLS: 465, Security.STARTTLS: 587, Security.NONE: 25}


class NewMailbox(msgspec.Struct, frozen=True, kw_only=True):
    address: str
    host: str
    name: str = ""
    domain: str | None = None
    """None means the address's domain."""
    port: int | None = None
    """None means the usual port for `security`."""
    security: Security = Security.STARTTLS
    username: str | None = None
    password: str | None = None
    enabled: bool = True
    pace: int = 10


async def connect(org: OrgId, new: NewMailbox, world: World, actor: str = SYSTEM) -> MailAccount | InvalidField | None:
    """None if the org already has a mailbox with this address; the mail server need not be reachable."""
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
    _publish_change(world)
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


def _check_login(mailbox: Mailbox) -> InvalidField | None:
    if mailbox.username is not None and mailbox.password is None:
        return InvalidField("password", "is required with a username")
    if mailbox.password is not None and mailbox.username is None:
        return InvalidField("username", "is required with a password")
    return None


async def change(
    org: OrgId,
    mailbox: MailboxId,
    wanted: MailboxChange,
    password: str | None,
    world: World,
    actor: str = SYSTEM,
) -> MailAccount | InvalidField | None:
    """None if the org has no such mailbox; a new password releases the messages that waited for it."""
    known = next((each for each in await world.ledger.mailboxes.of(org) if each.id == mailbox), None)
    if known is None:
        return None
    if wrong := _check_change(known, wanted, password):
        return wrong
    sealed = None if password is None else world.vault.seal(password, purpose(org, mailbox))
    whole = msgspec.structs.replace(wanted, sealed_password=sealed)
    changed = await world.ledger.mailboxes.change(org, mailbox, whole, world.clock.now(), actor)
    world.just_closed.pop((org, gates.of_number(mailbox)), None)  # the gates that it opened are open here too
    _publish_change(world)
    return changed


def _check_change(known: MailAccount, wanted: MailboxChange, password: str | None) -> InvalidField | None:
    """Checks the mailbox as it would be after the change; an unchanged password counts as present."""
    kept = {name: getattr(wanted, name) for name in ("name", "domain", "host", "port", "security", "username")}
    after = Mailbox(
        address=known.address,
        password=password or ("kept" if known.sealed_password else None),
        **{name: getattr(known, name) if value is None else value for name, value in kept.items()},
    )
    return email.check_mailbox(after) or _check_login(after)


async def disconnect(org: OrgId, mailbox: MailboxId, world: World, actor: str = SYSTEM) -> bool:
    found = await world.ledger.mailboxes.disconnect(org, mailbox, actor)
    _publish_change(world)
    return found


def _publish_change(world: World) -> None:
    world.mailboxes.invalidate()
    world.hints.give([ACCOUNTS, OUTBOX])


async def mailboxes(org: OrgId, world: World) -> Sequence[MailAccount]:
    """The org's connected mailboxes, oldest first."""
    return await world.ledger.mailboxes.of(org)
