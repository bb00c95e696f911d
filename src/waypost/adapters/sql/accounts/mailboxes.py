"""Mailboxes in SQL: rare writes, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.rows import gate_rows, message_rows
from waypost.adapters.sql.rows.audit import AuditContext
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.email import MailAccount
from waypost.model.gate import GateClosing, GateKind
from waypost.model.ids import MailboxId, OrgId
from waypost.model.time import Instant
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.rules.limits.gates import NUMBER_DISABLED, closed, of_number


class SqlMailboxes:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def connect(self, mailbox: MailAccount, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_connect(mailbox, AuditContext(mailbox.org_id, actor, mailbox.created_at)))

    async def of(self, org: OrgId | None = None) -> Sequence[MailAccount]:
        found = await (self._engine.read("mailboxes_all") if org is None else self._engine.read("mailboxes_of", org))
        return [message_rows.mailbox(row) for row in found]

    async def change(
        self, org: OrgId, mailbox: MailboxId, change: MailboxChange, now: Instant, actor: str = SYSTEM
    ) -> MailAccount | None:
        return await self._engine.transact(_change(mailbox, change, AuditContext(org, actor, now)))

    async def reseal(self, before: MailAccount, sealed_password: bytes) -> bool:
        arguments = (before.org_id, before.id, before.sealed_password, sealed_password)
        return bool(await self._engine.transact(_resealed(arguments)))

    async def disconnect(self, org: OrgId, mailbox: MailboxId, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_disconnect(mailbox, AuditContext(org, actor, self._engine.now())))


def _connect(m: MailAccount, audit: AuditContext) -> Plan[bool]:
    place = (m.id, m.org_id, m.address, m.name, m.domain, m.host, m.port, m.security.value)
    rest = (m.username, m.sealed_password, m.enabled, m.created_at, m.updated_at, m.pace)
    stored = yield Once("mailbox_insert", (*place, *rest))
    if not stored:
        return False
    yield Once("permit_ensure", (f"pace:{m.id}", None))
    if not m.enabled:
        yield from _switch(m, enabled=False, now=m.created_at)
    yield from audit.written(AuditAction.MAILBOX_CONNECTED, Entity.MAILBOX, m.id, "mailbox connected")
    return True


def _change(mailbox: MailboxId, change: MailboxChange, audit: AuditContext) -> Plan[MailAccount | None]:
    security = change.security.value if change.security else None
    server = (change.name, change.domain, change.host, change.port, security)
    rest = (change.username, change.sealed_password, change.enabled, change.pace)
    found = yield Once("mailbox_change", (audit.org, mailbox, *server, *rest, audit.at))
    if not found:
        return None
    changed = message_rows.mailbox(found[0])
    if change.mends:
        yield Once("mailbox_opened", (of_number(mailbox), audit.org))
    if change.enabled is not None:
        yield from _switch(changed, enabled=change.enabled, now=audit.at)
    what = f"changed: {', '.join(change.names())}"
    yield from audit.written(AuditAction.MAILBOX_CHANGED, Entity.MAILBOX, mailbox, what)
    return changed


def _switch(mailbox: MailAccount, *, enabled: bool, now: Instant) -> Plan[None]:
    """A disabled mailbox is a closed gate like a disabled number."""
    name = of_number(mailbox.id)
    if enabled:
        yield Once("number_enabled", (name, mailbox.org_id))
        return
    why = "the mailbox is disabled"
    closing = GateClosing(org_id=mailbox.org_id, name=name, kind=GateKind.HOLD, code=NUMBER_DISABLED, reason=why)
    yield from each("gate_put", [gate_rows.gate_row(closed(None, closing, now))])


def _disconnect(mailbox: MailboxId, audit: AuditContext) -> Plan[bool]:
    found = yield Once("mailbox_delete", (audit.org, mailbox))
    if found:  # its queued messages must end, not wait for ever
        yield Once("sender_forgotten", (of_number(mailbox), audit.org))
        yield from audit.written(AuditAction.MAILBOX_DISCONNECTED, Entity.MAILBOX, mailbox, "mailbox disconnected")
    return bool(found)


def _resealed(arguments: Row) -> Plan[list[Row]]:
    return (yield Once("mailbox_reseal", arguments))
