"""Costs and caps in SQL; booking itself is part of the kernel's transactions."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.money import By, Spend
from waypost.model.time import Instant
from waypost.rules.gates import of_org

MOST_HEADINGS = 1000
MOST_ON_THE_WAY = 2000


class SqlMoney:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def spend(self, org: OrgId, first_day: int, last_day: int, by: By) -> Sequence[Spend]:
        found = await self._engine.read(f"spend_by_{by}", org, first_day, last_day, MOST_HEADINGS)
        return [
            Spend(key=key, currency=currency, messages=messages, unpriced=unpriced, amount_micros=amount)
            for key, currency, messages, unpriced, amount in found
        ]

    async def booked(self, org: OrgId, since_day: int, currency: str) -> int:
        ((total,),) = await self._engine.read("spend_total", org, since_day, currency)
        return int(total)

    async def on_the_way(self, org: OrgId, since: Instant) -> Sequence[str]:
        found: list[str] = []
        for status in (Status.SENDING, Status.SENT):
            rows = await self._engine.read("on_the_way", org, status.value, since, MOST_ON_THE_WAY)
            found += [row[0] for row in rows]
        return found

    async def capped(self) -> Sequence[OrgId]:
        return [OrgId(row[0]) for row in await self._engine.read("capped")]

    async def cap(self, org: OrgId, reason: str, now: Instant) -> bool:
        return await self._engine.transact(_moved("cap", org, of_org(org), reason, now))

    async def lift_cap(self, org: OrgId) -> bool:
        return await self._engine.transact(_moved("cap_lift", org))


def _moved(statement: str, *arguments: object) -> Plan[bool]:
    return bool((yield Once(statement, arguments)))
