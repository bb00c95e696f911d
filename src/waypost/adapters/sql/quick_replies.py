"""Quick replies in SQL: rare writes, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.audit import Deed
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row
from waypost.model.audit import SYSTEM, Action, Entity
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant
from waypost.ports.quick_replies import NoRoom
from waypost.rules.quick_replies import folded


class SqlQuickReplies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(self, org: OrgId) -> Sequence[QuickReply]:
        return [_reply(org, row) for row in await self._engine.read("quick_replies_of", org)]

    async def put(self, reply: QuickReply, most: int) -> QuickReply | NoRoom:
        return await self._engine.transact(_put(reply, most))

    async def remove(self, org: OrgId, name: str, now: Instant, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_remove(name, Deed(org, actor, now)))


def _reply(org: OrgId, row: Row) -> QuickReply:
    return QuickReply(org_id=org, name=row[0], text=row[1], updated_at=row[2], updated_by=row[3])


def _put(reply: QuickReply, most: int) -> Plan[QuickReply | NoRoom]:
    org, key = reply.org_id, folded(reply.name)
    yield Once("quick_replies_lock", (org,))
    found = yield Once("quick_reply_get", (org, key))
    before = _reply(org, found[0]) if found else None
    if before is not None and (before.name, before.text) == (reply.name, reply.text):
        return before
    if before is None:
        ((count,),) = yield Once("quick_replies_count", (org,))
        if count >= most:
            return NoRoom(most)
    yield Once("quick_reply_put", (org, key, reply.name, reply.text, reply.updated_at, reply.updated_by))
    action, what = _told(before, reply)
    deed = Deed(org, reply.updated_by, reply.updated_at)
    yield from deed.written(action, Entity.QUICK_REPLY, reply.name, what)
    return reply


def _told(before: QuickReply | None, after: QuickReply) -> tuple[Action, str]:
    if before is None:
        return Action.QUICK_REPLY_ADDED, "quick reply added"
    changed = [field for field in ("name", "text") if getattr(before, field) != getattr(after, field)]
    return Action.QUICK_REPLY_CHANGED, f"changed: {', '.join(changed)}"


def _remove(name: str, deed: Deed) -> Plan[bool]:
    found = yield Once("quick_reply_delete", (deed.org, folded(name)))
    for (stored,) in found:
        yield from deed.written(Action.QUICK_REPLY_REMOVED, Entity.QUICK_REPLY, stored, "quick reply removed")
    return bool(found)
