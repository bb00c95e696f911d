"""Costs and caps in SQL; the kernel's transactions book the costs."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.money import By, Spend
from waypost.model.time import Instant
from waypost.rules.limits.gates import of_org

MOST_HEADINGS = 1000
PAGE = 2000
PAGES_AT_MOST = 50
BEYOND_ALL = 2**63 - 1


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
        sending = await self._since(org, Status.SENDING, since)
        return [*sending, *await self._since(org, Status.SENT, since)]

    async def _since(self, org: OrgId, status: Status, since: Instant) -> list[str]:
        """Newest first, until a whole page has not changed since then: older messages are never delivered."""
        found: list[str] = []
        below = BEYOND_ALL
        for _ in range(PAGES_AT_MOST):
            page = await self._engine.read("on_the_way", org, status.value, since, PAGE, below)
            moved = [recipient for _, fresh, recipient in page if fresh]
            found += [recipient for recipient in moved if recipient is not None]
            if len(page) < PAGE or not moved:
                break
            below = min(row[0] for row in page)
        return found

    async def capped(self) -> Sequence[OrgId]:
        return [OrgId(row[0]) for row in await self._engine.read("capped")]

    async def cap(self, org: OrgId, reason: str, now: Instant) -> bool:
        return await self._engine.transact(_moved("cap", org, of_org(org), reason, now))

    async def lift_cap(self, org: OrgId) -> bool:
        return await self._engine.transact(_moved("cap_lift", org))


def _moved(statement: str, *arguments: object) -> Plan[bool]:
    return bool((yield Once(statement, arguments)))
