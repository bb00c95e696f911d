"""Gates, quotas and windows in SQL: rare writes, each a short transaction of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.group_commit import GroupCommit
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.rows import gate_rows
from waypost.adapters.sql.rows.audit import AuditContext
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.gate import Gate, GateClosing, GateId, GateName
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant
from waypost.ports.limits.gates import ClosedGate, DispatchState
from waypost.rules.limits import gates, send_pace
from waypost.rules.limits.send_pace import Permit

COUNT_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _StateQuery:
    """Messages whose dispatch state a caller wants."""

    messages: tuple[MessageId, ...]
    now: Instant


class SqlGates:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: GroupCommit[_StateQuery] = GroupCommit(self._look, weight=lambda each: len(each.messages))

    async def close(self, closing: GateClosing, now: Instant) -> Gate:
        return await self._engine.transact(_close(closing, now))

    async def open(self, gate: GateId) -> bool:
        return await self._engine.transact(_open("gate_open", gate)) is not None

    async def probe_again(self, gate: GateId, drawn_at: Instant, now: Instant) -> bool:
        unused = drawn_at + gates.PROBE_AFTER
        return bool(await self._engine.transact(_count("gate_probe_again", gate, unused, now)))

    async def reopen(self, org: OrgId, name: GateName) -> int:
        return await self._engine.transact(_count("gate_reopen", org, name))

    async def release(self, org: OrgId, gate: GateId, actor: str = SYSTEM) -> Gate | None:
        return await self._engine.transact(_release(gate, AuditContext(org, actor, self._engine.now())))

    async def of_org(self, org: OrgId, now: Instant) -> Sequence[ClosedGate]:
        return [ClosedGate(gate, await self._waiting(gate)) for gate in await self.closed(org, now)]

    async def _waiting(self, gate: Gate) -> int:
        scope, _, key = gate.name.partition(":")
        ((count,),) = await self._engine.read(f"waiting_behind_{scope}", gate.org_id, key, COUNT_AT_MOST)
        return int(count)

    async def closed(self, org: OrgId, now: Instant) -> Sequence[Gate]:
        return [gate_rows.gate(row) for row in await self._engine.read("gates_of", org, now)]

    async def standing(
        self, messages: Sequence[MessageId], now: Instant | None = None
    ) -> Mapping[MessageId, DispatchState]:
        if not messages:
            return {}
        asked = _StateQuery(tuple(messages), self._engine.now() if now is None else now)
        answer: Mapping[MessageId, DispatchState] = await self._asked.do(asked)
        return answer

    async def _look(self, asked: Sequence[_StateQuery]) -> list[dict[MessageId, DispatchState]]:
        """Answers all queries that came in while the last read ran."""
        wanted = sorted({message for each in asked for message in each.messages})
        ready = {row[0]: row[1] for row in await self._engine.read("ready_of", wanted)}
        groups = sorted(set(ready.values()))
        now = max(each.now for each in asked)
        found = await self._engine.read("outlets_standing", groups, now) if groups else []
        states = {row[0]: gate_rows.standing(row) for row in found}
        found_states = {message: states[group] for message, group in ready.items() if group in states}
        return [
            {message: found_states[message] for message in each.messages if message in found_states} for each in asked
        ]

    async def tidy(self, before: Instant) -> int:
        return await self._engine.transact(_count("gates_forget", before))


def _close(closing: GateClosing, now: Instant) -> Plan[Gate]:
    known = [gate_rows.gate(row) for row in (yield from each("gate_lock", [(closing.org_id, closing.name)]))]
    before = next((gate for gate in known if gate.kind is closing.kind), None)
    after = gates.closed(before, closing, now)
    (stored,) = yield from each("gate_put", [gate_rows.gate_row(after)])
    return gate_rows.gate(stored)


def _open(statement: str, *arguments: object) -> Plan[Gate | None]:
    found = yield Once(statement, arguments)
    return gate_rows.gate(found[0]) if found else None


def _release(gate: GateId, audit: AuditContext) -> Plan[Gate | None]:
    opened = yield from _open("gate_release", gate, audit.org)
    if opened is not None:
        what = f"{opened.kind.value} of {opened.name}"
        yield from audit.written(AuditAction.GATE_RELEASED, Entity.ORG, audit.org, what)
    return opened


def _count(statement: str, *arguments: object) -> Plan[int]:
    return len((yield Once(statement, arguments)))


class SqlQuotas:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, org: OrgId) -> Permit:
        found = await self._engine.read("permit_read", send_pace.quota_of(org))
        return gate_rows.permit(found[0]) if found else _unlimited(org)

    async def set_limit(self, org: OrgId, most: int | None, actor: str = SYSTEM) -> Permit:
        await self._engine.transact(_set_limit(most, AuditContext(org, actor, self._engine.now())))
        return await self.get(org)


def _set_limit(most: int | None, audit: AuditContext) -> Plan[None]:
    yield Once("quota_limit", (send_pace.quota_of(audit.org), most))
    what = "no limit" if most is None else f"{most} in 24 hours"
    yield from audit.written(AuditAction.QUOTA_CHANGED, Entity.ORG, audit.org, what)


def _unlimited(org: OrgId) -> Permit:
    return Permit(name=send_pace.quota_of(org), free_at=Instant(0), used=0, since=Instant(0), most=None)


class SqlWindows:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(self, numbers: Sequence[NumberId], customer: str) -> Sequence[RecipientState]:
        found = [await self._engine.read("pair_read", number, customer) for number in numbers]
        return [gate_rows.pair(row) for rows in found for row in rows]

    async def last_outbound(self, numbers: Sequence[NumberId], customer: str) -> Instant | None:
        moments = [await self._engine.read("last_outbound", number, customer) for number in numbers]
        return max((row[0] for found in moments for row in found if row[0] is not None), default=None)

    async def expire(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(_count("pairs_forget", before, limit))
