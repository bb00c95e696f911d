"""The turn queue in SQL: claims and leases are short transactions; every other change goes through the writer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from waypost.adapters.sql.conversations.conversations import forgotten
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Each, Once, Plan, each, read_all
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.kernel.turn_intents import CommitTurn, FailTurn, ReleaseTurns, ReplayTurn, TransferFloor
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.conversation import (
    BOT,
    Contact,
    ContactId,
    Conversation,
    ConversationId,
    EndedTurn,
    Entry,
    Position,
    TurnClaim,
    TurnState,
    TurnTiming,
)
from waypost.model.ids import Fence, OrgId, WorkerId
from waypost.model.time import Instant, Span
from waypost.ports.conversations.turn_queue import (
    FloorTaken,
    NoConversation,
    OpenTurn,
    TurnAnswer,
    TurnCommitted,
    TurnDeadLettered,
    TurnDemand,
    TurnPostponed,
    TurnTimingOf,
)
from waypost.rules.conversations import turn_state as rule
from waypost.rules.conversations.turn_state import LeaseLost


class SqlTurnQueue:
    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def claim(self, demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Sequence[TurnClaim]:
        return await self._engine.transact(_claim(demand, times_of, now), "turns")

    async def commit(self, claim: TurnClaim, answered: TurnAnswer, now: Instant) -> TurnCommitted | LeaseLost:
        answer: TurnCommitted | LeaseLost = await self._writer.decide(CommitTurn(claim, answered, now))
        return answer

    async def fail(
        self,
        claim: TurnClaim,
        error: str,
        times: TurnTiming,
        now: Instant,
        *,
        hopeless: bool = False,
        wait: Span | None = None,
    ) -> TurnPostponed | TurnDeadLettered | LeaseLost:
        answer: TurnPostponed | TurnDeadLettered | LeaseLost = await self._writer.decide(
            FailTurn(claim, error, times, now, hopeless, wait)
        )
        return answer

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        return await self._engine.transact(_renew(held, now), "turns") if held else set()

    async def let_go(self, claims: Sequence[TurnClaim], now: Instant) -> None:
        if claims:
            await self._writer.decide(ReleaseTurns(tuple(claims), now))

    async def abandon(self, owner: WorkerId, now: Instant) -> int:
        return await self._engine.transact(_abandon(owner, now), "turns")

    async def take_floor(
        self, org: OrgId, conversation: ConversationId, holder: str, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        return await self._give_floor(TransferFloor(org, conversation, holder, TurnTiming(), now, actor))

    async def hand_back(
        self, org: OrgId, conversation: ConversationId, times: TurnTiming, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        return await self._give_floor(TransferFloor(org, conversation, BOT, times, now, actor))

    async def _give_floor(self, intent: TransferFloor) -> FloorTaken | NoConversation:
        answer: FloorTaken | NoConversation = await self._writer.decide(intent)
        return answer

    async def next_due(self) -> Instant | None:
        ((soonest,),) = await self._engine.read("lanes_next")
        return None if soonest is None else Instant(soonest)

    async def stale(self, now: Instant) -> int:
        ((count,),) = await self._engine.read("lanes_stale", now)
        return int(count)

    async def open(self, org: OrgId, limit: int) -> Sequence[OpenTurn]:
        found = await self._engine.read("turns_open", org, limit)
        width, end = conversation_rows.TURN_STATE, conversation_rows.TURN_STATE + conversation_rows.CONVERSATION
        return [
            OpenTurn(
                turn_state=conversation_rows.turn_state(row),
                conversation=conversation_rows.conversation(row[width:end]),
                waiting=row[end],
                waiting_since=row[end + 1],
            )
            for row in found
        ]

    async def failed(self, org: OrgId, limit: int) -> Sequence[EndedTurn]:
        return [conversation_rows.turn(row) for row in await self._engine.read("turns_failed", org, limit)]

    async def ended(self, org: OrgId, conversation: ConversationId, hi: Position) -> EndedTurn | None:
        found = await self._engine.read("turn_get", conversation, hi)
        return conversation_rows.turn(found[0]) if found and found[0][3] == org else None

    async def replay(
        self, org: OrgId, conversation: ConversationId, hi: Position, now: Instant, actor: str
    ) -> TurnState | NoConversation | LeaseLost:
        turn = await self.ended(org, conversation, hi)
        if turn is None:
            return await self._unknown(org, conversation, hi)
        if turn.state != "failed":
            return LeaseLost()
        answer: TurnState | NoConversation | LeaseLost = await self._writer.decide(ReplayTurn(org, turn, now, actor))
        return answer

    async def _unknown(self, org: OrgId, conversation: ConversationId, hi: Position) -> NoConversation | LeaseLost:
        """A replayed turn is no longer a dead letter: it is queued or answered."""
        turn_states = [conversation_rows.turn_state(row) for row in await self._engine.read("lane_get", conversation)]
        asked = any(state.org_id == org and hi <= state.tail for state in turn_states)
        return LeaseLost() if asked else NoConversation()

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(forgotten("turns_forget", before, limit))

    async def history(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        found = await self._engine.read("entries_said", conversation, before, limit)
        return [conversation_rows.entry(row) for row in reversed(found)]


def _claim(demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Plan[list[TurnClaim]]:
    """Turns with an expired lease first, then turns that have become due."""
    expired, waiting = Once("lanes_expired", (now, demand.slots)), Once("lanes_due", (now, demand.slots))
    left, due = yield from read_all(expired, waiting)
    before = [conversation_rows.turn_state(row) for row in [*left, *due][: demand.slots]]
    ends = yield from _ends(before)
    claimed = [
        (state, rule.claim(state, demand.owner, now, times_of(state.org_id), ends.get(state.conversation_id)))
        for state in before
    ]
    taken = {after.conversation_id: (state, after) for state, after in claimed if after is not state}
    ids = [(id_,) for id_ in sorted(taken)]
    found, contact_rows, entry_rows = yield from read_all(
        Each("conversation_of", ids),
        Each("contact_in", ids),
        Each("entries_between", [(id_, after.done, after.hi) for id_, (_, after) in sorted(taken.items())]),
        writes=[Each("lane_put", [conversation_rows.turn_state_row(taken[id_][1]) for (id_,) in ids])],
    )
    conversations = {row[0]: conversation_rows.conversation(row) for row in found}
    contacts = conversation_rows.contacts(contact_rows)
    bursts: dict[int, list[Entry]] = defaultdict(list)
    for row in entry_rows:
        bursts[row[0]].append(conversation_rows.entry(row))
    return [
        _turn_claim(state, after, conversations[id_], contacts, tuple(bursts[id_]))
        for id_, (state, after) in taken.items()
    ]


def _turn_claim(
    before: TurnState,
    after: TurnState,
    conversation: Conversation,
    contacts: Mapping[ContactId, Contact],
    burst: tuple[Entry, ...],
) -> TurnClaim:
    return TurnClaim(
        turn_state=after,
        conversation=conversation,
        contact=contacts.get(conversation.contact_id),
        burst=burst,
        taken_over=before.owner is not None,
        due_at=before.due_at if before.owner is None else before.lease_until,
    )


def _ends(states: Sequence[TurnState]) -> Plan[dict[ConversationId, Position]]:
    """Where new turns end whose bursts have more messages than one turn takes."""
    long = [state for state in states if state.hi is None and rule.is_long(state)]
    wanted = sorted((state.conversation_id, state.done, state.tail, rule.MOST_MESSAGES - 1) for state in long)
    return {row[0]: Position(row[1]) for row in (yield from each("burst_ends", wanted))}


def _renew(held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> Plan[set[ConversationId]]:
    """Locks in the same order as inbound messages do."""
    wanted = sorted((conversation, fence, now + lease) for conversation, fence, lease in held)
    yield from each("lanes_lock", [(row[0],) for row in wanted])
    return {row[0] for row in (yield from each("lanes_renew", wanted))}


def _abandon(owner: WorkerId, now: Instant) -> Plan[int]:
    return len((yield Once("lanes_abandon", (owner, now))))
