"""Failover in SQL: messages change their number a page at a time, each page a short transaction."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.ports.failover import Moved, Place, Route
from waypost.rules.failover import LONG, Waiting, may_move


class SqlFailover:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def routes(self, now: Instant) -> Sequence[Route]:
        found = await self._engine.read("failover_routes", now, now + LONG)
        routes = {row[0]: _route(row) for row in found}
        return [routes[outlet] for outlet in sorted(routes)]

    async def move(self, route: Route, after: Place, limit: int, now: Instant, *, enforce_window: bool) -> Moved:
        return await self._engine.transact(_move(route, after, limit, now, enforce_window))


def _route(row: Row) -> Route:
    return Route(outlet=row[0], org_id=row[1], number=row[2], template=row[3], other=row[4], reason=row[5])


def _move(route: Route, after: Place, limit: int, now: Instant, enforce_window: bool) -> Plan[Moved]:
    there = (route.org_id, route.other, route.template)
    yield from each("outlet_ensure", [there])
    ((*_, outlet),) = yield from each("outlet_find", [there])
    found = yield Once("failover_look", (route.outlet, route.other, after.rank, after.message_id, limit))
    waiting = [_waiting(row) for row in found]
    ids = sorted(message.id for message in waiting if may_move(message, now, enforce_window=enforce_window))
    yield from each("failover_message", [(message_id, route.other) for message_id in ids])
    yield from each("failover_delivery", [(message_id, route.other, outlet, now) for message_id in ids])
    yield from each("failover_ready", [(message_id, outlet) for message_id in ids])
    said = f"from {route.number} to {route.other}, because of {route.reason}"
    yield from each("event_insert", [(message_id, now, "failed_over", said) for message_id in ids])
    last = Place(found[-1][1], found[-1][0]) if len(found) == limit else None
    return Moved(ids, last)


def _waiting(row: Row) -> Waiting:
    return Waiting(
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
