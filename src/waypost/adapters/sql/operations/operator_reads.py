"""Operator reads in SQL: by index, with a bounded number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.operations.operator_reads import MessageCounts, MessageTimes, QueueStanding

WORKER = "worker"
DETECTOR = "detector"


class SqlOperatorReads:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def tally(self, org: OrgId, recent: int, count_at_most: int) -> MessageCounts:
        counts = {status: await self._count(org, status, count_at_most) for status in Status}
        retries = {row[0]: row[1] for row in await self._engine.read("retries_recent", org, recent)}
        times = [_times(row) for row in await self._engine.read("times_recent", org, recent)]
        return MessageCounts(counts=counts, retries=retries, recent=times)

    async def _count(self, org: OrgId, status: Status, at_most: int) -> int:
        ((count,),) = await self._engine.read("count_by_status", org, status.value, at_most)
        return int(count)

    async def place(self, message: MessageId) -> QueueStanding:
        ((ready_since, head),) = await self._engine.read("place_of", message)
        return QueueStanding(ready_since=ready_since, head=head)

    async def heads(self, messages: Sequence[MessageId]) -> Mapping[MessageId, MessageId]:
        found = await self._engine.read("heads_of", list(messages)) if messages else []
        return {MessageId(row[0]): MessageId(row[1]) for row in found}

    async def record_worker_seen(self, now: Instant) -> None:
        await self._engine.transact(_mark(WORKER, now))

    async def worker_seen_at(self) -> Instant | None:
        return await self._seen(WORKER)

    async def record_detector_run(self, now: Instant) -> None:
        await self._engine.transact(_mark(DETECTOR, now))

    async def detector_ran_at(self) -> Instant | None:
        return await self._seen(DETECTOR)

    async def identity(self) -> str | None:
        found = await self._engine.read("identity_get")
        return str(found[0][0]) if found else None

    async def identify(self, fresh: str) -> str:
        known = await self.identity()
        return known if known is not None else await self._engine.transact(_identify(fresh))

    async def _seen(self, name: str) -> Instant | None:
        found = await self._engine.read("sign_get", name)
        return Instant(found[0][0]) if found else None


def _times(row: Row) -> MessageTimes:
    created_at, scheduled_at, sent_at, delivered_at = row
    return MessageTimes(wanted_at=max(created_at, scheduled_at or 0), sent_at=sent_at, delivered_at=delivered_at)


def _mark(name: str, now: Instant) -> Plan[None]:
    yield Once("sign_put", (name, now))


def _identify(fresh: str) -> Plan[str]:
    yield Once("identity_put", (fresh,))
    ((name,),) = yield Once("identity_get", ())
    return str(name)
