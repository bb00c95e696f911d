"""Conversion of rows that hold messages back: gates, dispatch groups, permits, recipient states."""

from __future__ import annotations

from waypost.adapters.sql.engine.plan import Row
from waypost.model.gate import DispatchGroup, Gate, GateId, GateKind, GateName
from waypost.model.recipient_state import RecipientState
from waypost.ports.limits.gates import DispatchState
from waypost.rules.limits.gates import NUMBER_DISABLED
from waypost.rules.limits.send_pace import Permit

DISABLED = "disabled"
"""A hold with a row of its own: a number may be both disabled and held by the provider, each with its own end."""


def gate(row: Row) -> Gate:
    return Gate(
        id=GateId(row[0]),
        org_id=row[1],
        name=GateName(row[2]),
        kind=GateKind.HOLD if row[3] == DISABLED else GateKind(row[3]),
        code=row[4],
        reason=row[5],
        since=row[6],
        until=row[7],
        times=row[8],
    )


def gate_row(g: Gate) -> Row:
    kind = DISABLED if g.code == NUMBER_DISABLED else g.kind.value
    return (g.org_id, g.name, kind, g.code, g.reason, g.since, g.until, g.times)


def dispatch_group(row: Row) -> DispatchGroup:
    """From id, org_id, sender, template, waba_id, pace, tier, the webhook uptime, then the gate."""
    return DispatchGroup(
        id=row[0],
        org_id=row[1],
        sender=row[2],
        template=row[3],
        waba_id=row[4],
        pace=row[5],
        tier=row[6],
        gate=gate(row[8:]) if row[8] is not None else None,
    )


def permit(row: Row) -> Permit:
    return Permit(name=row[0], free_at=row[1], used=row[2], since=row[3], most=row[4])


def standing(row: Row) -> DispatchState:
    """From a dispatch group with its gate (17 columns), then its permits of quota, pace and tier."""
    permits = [permit(row[at : at + 5]) for at in (17, 22, 27) if row[at] is not None]
    return DispatchState(dispatch_group(row), {each.name: each for each in permits})


def permit_row(p: Permit) -> Row:
    return (p.name, p.free_at, p.used, p.since)


def pair(row: Row) -> RecipientState:
    return RecipientState(
        sender=row[0],
        recipient=row[1],
        opened_at=row[2],
        last_inbound_at=row[3],
        expires_at=row[4],
        free_at=row[5],
        blocked_until=row[6],
        blocked_times=row[7],
        counted_at=row[8],
    )


def pair_row(p: RecipientState) -> Row:
    return (p.sender, p.recipient, p.opened_at, p.last_inbound_at, p.expires_at, p.blocked_until, p.blocked_times)
