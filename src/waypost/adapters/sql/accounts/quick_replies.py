"""Quick replies in SQL: rare writes, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row
from waypost.adapters.sql.rows.audit import AuditContext
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant
from waypost.ports.accounts.quick_replies import (
    QuickReplyGone,
    QuickReplyLimitReached,
    QuickReplyNameTaken,
    QuickReplyResult,
)
from waypost.rules.accounts.quick_replies import folded


class SqlQuickReplies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(self, org: OrgId) -> Sequence[QuickReply]:
        return [_reply(org, row) for row in await self._engine.read("quick_replies_of", org)]

    async def put(self, reply: QuickReply, most: int, replaces: str | UnsetType | None = UNSET) -> QuickReplyResult:
        return await self._engine.transact(_put(reply, most, replaces))

    async def remove(self, org: OrgId, name: str, now: Instant, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_remove(name, AuditContext(org, actor, now)))


def _reply(org: OrgId, row: Row) -> QuickReply:
    return QuickReply(org_id=org, name=row[0], text=row[1], updated_at=row[2], updated_by=row[3])


def _put(reply: QuickReply, most: int, replaces: str | UnsetType | None) -> Plan[QuickReplyResult]:
    org, key = reply.org_id, folded(reply.name)
    yield Once("quick_replies_lock", (org,))
    there = yield from _found(org, reply.name)
    before = there if replaces is UNSET else None
    if isinstance(replaces, str):
        before = yield from _found(org, replaces)
    if there is not None and before in (None, there) and (there.name, there.text) == (reply.name, reply.text):
        return there
    if before is None and isinstance(replaces, str):
        return QuickReplyGone(replaces)
    if there is not None and there != before:
        return QuickReplyNameTaken(there.name)
    if before is None:
        ((count,),) = yield Once("quick_replies_count", (org,))
        if count >= most:
            return QuickReplyLimitReached(most)
    elif there is None:
        yield Once("quick_reply_delete", (org, folded(before.name)))
    yield Once("quick_reply_put", (org, key, reply.name, reply.text, reply.updated_at, reply.updated_by))
    action, what = _audit_details(before, reply)
    audit = AuditContext(org, reply.updated_by, reply.updated_at)
    yield from audit.written(action, Entity.QUICK_REPLY, reply.name, what)
    return reply


def _found(org: OrgId, name: str) -> Plan[QuickReply | None]:
    found = yield Once("quick_reply_get", (org, folded(name)))
    return _reply(org, found[0]) if found else None


def _audit_details(before: QuickReply | None, after: QuickReply) -> tuple[AuditAction, str]:
    if before is None:
        return AuditAction.QUICK_REPLY_ADDED, "quick reply added"
    if before.name == after.name:
        return AuditAction.QUICK_REPLY_CHANGED, "changed: text"
    also = "" if before.text == after.text else "; changed: text"
    return AuditAction.QUICK_REPLY_RENAMED, f"was {before.name}{also}"


def _remove(name: str, audit: AuditContext) -> Plan[bool]:
    yield Once("quick_replies_lock", (audit.org,))  # a concurrent rename could otherwise keep it alive
    found = yield Once("quick_reply_delete", (audit.org, folded(name)))
    for (stored,) in found:
        yield from audit.written(AuditAction.QUICK_REPLY_REMOVED, Entity.QUICK_REPLY, stored, "quick reply removed")
    return bool(found)
