"""Failover in SQL: messages move to another number in pages, each a short transaction."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.ports.sending.failover import FailoverResult, FailoverRoute, QueuePosition
from waypost.rules.sending.failover import LONG, FailoverCandidate, may_move


class SqlFailover:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def routes(self, now: Instant) -> Sequence[FailoverRoute]:
        found = await self._engine.read("failover_routes", now, now + LONG)
        routes = {row[0]: _route(row) for row in found}
        return [routes[group] for group in sorted(routes)]

    async def move(
        self, route: FailoverRoute, after: QueuePosition, limit: int, now: Instant, *, enforce_window: bool
    ) -> FailoverResult:
        return await self._engine.transact(_move(route, after, limit, now, enforce_window))


def _route(row: Row) -> FailoverRoute:
    return FailoverRoute(group=row[0], org_id=row[1], number=row[2], template=row[3], other=row[4], reason=row[5])


def _move(
    route: FailoverRoute, after: QueuePosition, limit: int, now: Instant, enforce_window: bool
) -> Plan[FailoverResult]:
    there = (route.org_id, route.other, route.template)
    yield from each("outlet_ensure", [there])
    ((*_, group),) = yield from each("outlet_find", [there])
    found = yield Once("failover_look", (route.group, route.other, after.rank, after.message_id, limit))
    waiting = [_waiting(row) for row in found]
    ids = sorted(message.id for message in waiting if may_move(message, now, enforce_window=enforce_window))
    yield from each("failover_message", [(message_id, route.other) for message_id in ids])
    yield from each("failover_delivery", [(message_id, route.other, group, now) for message_id in ids])
    yield from each("failover_ready", [(message_id, group) for message_id in ids])
    details = f"from {route.number} to {route.other}, because of {route.reason}"
    yield from each("event_insert", [(message_id, now, "failed_over", details) for message_id in ids])
    last = QueuePosition(found[-1][1], found[-1][0]) if len(found) == limit else None
    return FailoverResult(ids, last)


def _waiting(row: Row) -> FailoverCandidate:
    return FailoverCandidate(
        id=row[0],
        channel=Channel(row[2]),
        ordered=bool(row[3]),
        template=row[4],
        payload=row[5],
        doubtful=bool(row[6]),
        moved=bool(row[7]),
        window_until=row[8],
        blocked_until=row[9],
    )
