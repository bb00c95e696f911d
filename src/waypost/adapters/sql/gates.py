"""Gates, quotas and windows in SQL: rare writes, each a short transaction of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.model.gate import Closing, Gate, GateId
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.pair import Pair
from waypost.model.time import Instant
from waypost.ports.gates import Closed, Standing
from waypost.rules import gates, pacing
from waypost.rules.pacing import Permit

COUNT_AT_MOST = 10_000


class SqlGates:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def close(self, closing: Closing, now: Instant) -> Gate:
        return await self._engine.transact(_close(closing, now))

    async def open(self, gate: GateId) -> bool:
        return await self._engine.transact(_open("gate_open", gate)) is not None

    async def release(self, org: OrgId, gate: GateId) -> Gate | None:
        return await self._engine.transact(_open("gate_release", gate, org))

    async def of_org(self, org: OrgId, now: Instant) -> Sequence[Closed]:
        found = [rows.gate(row) for row in await self._engine.read("gates_of", org, now)]
        return [Closed(gate, await self._waiting(gate)) for gate in found]

    async def _waiting(self, gate: Gate) -> int:
        scope, _, key = gate.name.partition(":")
        ((count,),) = await self._engine.read(f"waiting_behind_{scope}", gate.org_id, key, COUNT_AT_MOST)
        return int(count)

    async def standing(self, messages: Sequence[MessageId]) -> Mapping[MessageId, Standing]:
        if not messages:
            return {}
        return await self._engine.transact(_standing(messages, self._engine.now()))

    async def tidy(self, before: Instant) -> int:
        return await self._engine.transact(_count("gates_forget", before))


def _close(closing: Closing, now: Instant) -> Plan[Gate]:
    known = [rows.gate(row) for row in (yield from each("gate_lock", [(closing.org_id, closing.name)]))]
    before = next((gate for gate in known if gate.kind is closing.kind), None)
    after = gates.closed(before, closing, now)
    (stored,) = yield from each("gate_put", [rows.gate_row(after)])
    return rows.gate(stored)


def _open(statement: str, *arguments: object) -> Plan[Gate | None]:
    found = yield Once(statement, arguments)
    return rows.gate(found[0]) if found else None


def _count(statement: str, *arguments: object) -> Plan[int]:
    return len((yield Once(statement, arguments)))


def _standing(messages: Sequence[MessageId], now: Instant) -> Plan[dict[MessageId, Standing]]:
    found = yield from each("ready_outlets", [(message,) for message in sorted(messages)])
    at = {row[0]: row[1] for row in found}
    states = yield from each("outlet_state", [(outlet, now) for outlet in sorted(set(at.values()))])
    outlets = {row[0]: rows.outlet(row) for row in states}
    names = pacing.needed(list(outlets.values()))
    permits = {row[0]: rows.permit(row) for row in (yield from each("permit_read", [(name,) for name in names]))}
    return {message: Standing(outlets[outlet], permits) for message, outlet in at.items() if outlet in outlets}


class SqlQuotas:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, org: OrgId) -> Permit:
        found = await self._engine.read("permit_read", pacing.quota_of(org))
        return rows.permit(found[0]) if found else _unlimited(org)

    async def set_limit(self, org: OrgId, most: int) -> Permit:
        await self._engine.transact(_count("quota_limit", pacing.quota_of(org), most))
        return await self.get(org)


def _unlimited(org: OrgId) -> Permit:
    return Permit(name=pacing.quota_of(org), free_at=Instant(0), used=0, since=Instant(0), most=None)


class SqlWindows:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(self, numbers: Sequence[NumberId], customer: str) -> Sequence[Pair]:
        found = [await self._engine.read("pair_read", number, customer) for number in numbers]
        return [rows.pair(row) for pairs in found for row in pairs]

    async def last_outbound(self, numbers: Sequence[NumberId], customer: str) -> Instant | None:
        moments = [await self._engine.read("last_outbound", number, customer) for number in numbers]
        return max((row[0] for found in moments for row in found if row[0] is not None), default=None)

    async def expire(self, before: Instant) -> int:
        return await self._engine.transact(_count("pairs_forget", before))
