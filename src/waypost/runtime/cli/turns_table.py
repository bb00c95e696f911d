"""`waypost turns`: running, waiting and failed turns."""

from __future__ import annotations

from waypost.flow.conversations import turns
from waypost.flow.world import World
from waypost.model.conversation import EndedTurn
from waypost.model.ids import OrgId
from waypost.model.time import Instant, as_seconds, to_datetime
from waypost.model.turn import Customer
from waypost.ports.conversations.turn_queue import OpenTurn
from waypost.runtime.cli.tables import day, known_org, table

AT_MOST = 1000
OPEN = ["org_id", "conversation_id", "contact", "state", "since", "for", "waiting", "attempts", "floor", "owner"]
FAILED = ["org_id", "conversation_id", "position", "contact", "ended", "attempts", "error"]


async def list_turns(org: str | None, world: World, *, failed: bool, as_json: bool) -> None:
    """For one org, or for all."""
    orgs = [await known_org(org, world)] if org else [OrgId(each.id) for each in await world.ledger.accounts.orgs()]
    if failed:
        dead = [[each, *_failed(turn)] for each in orgs for turn in await turns.failed_turns(each, AT_MOST, world)]
        table(FAILED, dead, as_json=as_json)
        return
    now = world.clock.now()
    held = [[each, *_open(turn, now)] for each in orgs for turn in await turns.open_turns(each, AT_MOST, world)]
    table(OPEN, held, as_json=as_json)


def _open(of: turns.TurnWithCustomer[OpenTurn], now: Instant) -> list[str]:
    turn, state = of.turn, of.turn.turn_state
    since = state.claimed_at or turn.waiting_since or state.due_at or now
    return [
        str(state.conversation_id),
        who(of.customer),
        _state(turn, now),
        f"{to_datetime(since):%Y-%m-%d %H:%M:%S}",
        _span(now - since),
        str(turn.waiting),
        str(state.tries),
        state.floor,
        state.owner or "",
    ]


def _state(turn: OpenTurn, now: Instant) -> str:
    state = turn.turn_state
    if state.owner is not None:
        return "answering" if state.lease_until is None or state.lease_until > now else "lease ended"
    if state.due_at is None or state.due_at <= now:
        return "due"
    return f"due in {_span(state.due_at - now)}"


def who(customer: Customer | None) -> str:
    if customer is None:
        return ""
    address = customer.phone or customer.user_id or customer.id
    return f"{customer.name} {address}" if customer.name else address


def _span(span: int) -> str:
    whole = max(0.0, as_seconds(span))
    return f"{whole:.1f} s" if whole < 120 else f"{whole / 60:.0f} min" if whole < 7200 else f"{whole / 3600:.1f} h"


def _failed(of: turns.TurnWithCustomer[EndedTurn]) -> list[str]:
    turn = of.turn
    return [
        str(turn.conversation_id),
        str(turn.hi),
        who(of.customer),
        day(turn.ended_at),
        str(turn.tries),
        turn.error or "",
    ]
