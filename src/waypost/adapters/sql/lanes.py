"""Lanes in SQL: claims and leases are short transactions of their own, everything else is decided with others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.conversations import forgotten
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Each, Once, Plan, each, read_all
from waypost.adapters.sql.turns import CommitTurn, FailTurn, GiveFloor, LetGo, ReplayTurn
from waypost.model.conversation import (
    BOT,
    Claim,
    ConversationId,
    EndedTurn,
    Entry,
    Lane,
    Position,
    Times,
)
from waypost.model.ids import Fence, OrgId, WorkerId
from waypost.model.time import Instant, Span
from waypost.ports.lanes import (
    Answered,
    Committed,
    FloorTaken,
    GivenUp,
    NoConversation,
    OpenTurn,
    Postponed,
    TimesOf,
    TurnDemand,
)
from waypost.rules import lane as rule
from waypost.rules.lane import LeaseLost


class SqlLanes:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def claim(self, demand: TurnDemand, times_of: TimesOf, now: Instant) -> Sequence[Claim]:
        return await self._engine.transact(_claim(demand, times_of, now), "turns")

    async def commit(self, claim: Claim, answered: Answered, now: Instant) -> Committed | LeaseLost:
        answer: Committed | LeaseLost = await self._engine.writer.decide(CommitTurn(claim, answered, now))
        return answer

    async def fail(
        self, claim: Claim, error: str, times: Times, now: Instant, *, hopeless: bool = False, wait: Span | None = None
    ) -> Postponed | GivenUp | LeaseLost:
        answer: Postponed | GivenUp | LeaseLost = await self._engine.writer.decide(
            FailTurn(claim, error, times, now, hopeless, wait)
        )
        return answer

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        return await self._engine.transact(_renew(held, now), "turns") if held else set()

    async def let_go(self, claims: Sequence[Claim], now: Instant) -> None:
        if claims:
            await self._engine.writer.decide(LetGo(tuple(claims), now))

    async def abandon(self, owner: WorkerId, now: Instant) -> int:
        return await self._engine.transact(_abandon(owner, now), "turns")

    async def take_floor(
        self, org: OrgId, conversation: ConversationId, holder: str, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        return await self._give_floor(GiveFloor(org, conversation, holder, Times(), now, actor))

    async def hand_back(
        self, org: OrgId, conversation: ConversationId, times: Times, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        return await self._give_floor(GiveFloor(org, conversation, BOT, times, now, actor))

    async def _give_floor(self, intent: GiveFloor) -> FloorTaken | NoConversation:
        answer: FloorTaken | NoConversation = await self._engine.writer.decide(intent)
        return answer

    async def next_due(self) -> Instant | None:
        ((soonest,),) = await self._engine.read("lanes_next")
        return None if soonest is None else Instant(soonest)

    async def stale(self, now: Instant) -> int:
        ((count,),) = await self._engine.read("lanes_stale", now)
        return int(count)

    async def open(self, org: OrgId, limit: int) -> Sequence[OpenTurn]:
        found = await self._engine.read("turns_open", org, limit)
        lane, end = talk_rows.LANE, talk_rows.LANE + talk_rows.CONVERSATION
        return [
            OpenTurn(
                lane=talk_rows.lane(row),
                conversation=talk_rows.conversation(row[lane:end]),
                waiting=row[end],
                waiting_since=row[end + 1],
            )
            for row in found
        ]

    async def failed(self, org: OrgId, limit: int) -> Sequence[EndedTurn]:
        return [talk_rows.turn(row) for row in await self._engine.read("turns_failed", org, limit)]

    async def ended(self, org: OrgId, conversation: ConversationId, hi: Position) -> EndedTurn | None:
        found = await self._engine.read("turn_get", conversation, hi)
        return talk_rows.turn(found[0]) if found and found[0][3] == org else None

    async def replay(
        self, org: OrgId, conversation: ConversationId, hi: Position, now: Instant, actor: str
    ) -> Lane | NoConversation | LeaseLost:
        turn = await self.ended(org, conversation, hi)
        if turn is None:
            return await self._unknown(org, conversation, hi)
        if turn.state != "failed":
            return LeaseLost()
        answer: Lane | NoConversation | LeaseLost = await self._engine.writer.decide(ReplayTurn(org, turn, now, actor))
        return answer

    async def _unknown(self, org: OrgId, conversation: ConversationId, hi: Position) -> NoConversation | LeaseLost:
        """A turn that was replayed is no dead letter any more: it waits for its answer, or has it."""
        lanes = [talk_rows.lane(row) for row in await self._engine.read("lane_get", conversation)]
        asked = any(lane.org_id == org and hi <= lane.tail for lane in lanes)
        return LeaseLost() if asked else NoConversation()

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(forgotten("turns_forget", before, limit))

    async def history(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        found = await self._engine.read("entries_before", conversation, before, limit)
        return [talk_rows.entry(row) for row in reversed(found)]


def _claim(demand: TurnDemand, times_of: TimesOf, now: Instant) -> Plan[list[Claim]]:
    """First what a silent worker left behind, then what has become due."""
    expired, waiting = Once("lanes_expired", (now, demand.slots)), Once("lanes_due", (now, demand.slots))
    left, due = yield from read_all(expired, waiting)
    before = [talk_rows.lane(row) for row in [*left, *due][: demand.slots]]
    claimed = [(lane, rule.claim(lane, demand.owner, now, times_of(lane.org_id))) for lane in before]
    taken = {after.conversation_id: (lane, after) for lane, after in claimed if after is not lane}
    ids = [(id_,) for id_ in sorted(taken)]
    talking, known, said = yield from read_all(
        Each("conversation_of", ids),
        Each("contact_in", ids),
        Each("entries_between", [(id_, after.done, after.hi) for id_, (_, after) in sorted(taken.items())]),
        writes=[Each("lane_put", [talk_rows.lane_row(taken[id_][1]) for (id_,) in ids])],
    )
    talks = {row[0]: talk_rows.conversation(row) for row in talking}
    people = talk_rows.contacts(known)
    bursts: dict[int, list[Entry]] = defaultdict(list)
    for row in said:
        bursts[row[0]].append(talk_rows.entry(row))
    return [
        Claim(
            lane=after,
            conversation=talks[id_],
            contact=people.get(talks[id_].contact_id),
            burst=tuple(bursts[id_]),
            taken_over=lane.owner is not None,
            due_at=lane.due_at if lane.owner is None else lane.lease_until,
        )
        for id_, (lane, after) in taken.items()
    ]


def _renew(held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> Plan[set[ConversationId]]:
    """Locked in the order in which arrivals lock them."""
    wanted = sorted((conversation, fence, now + lease) for conversation, fence, lease in held)
    yield from each("lanes_lock", [(row[0],) for row in wanted])
    return {row[0] for row in (yield from each("lanes_renew", wanted))}


def _abandon(owner: WorkerId, now: Instant) -> Plan[int]:
    return len((yield Once("lanes_abandon", (owner, now))))
