"""Who did what: entries of our own are recorded, those of messages are read from the rows of their life."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.audit import SYSTEM, Action, Activity, Entity, Entry, Recorded
from waypost.model.ids import MessageId, OrgId
from waypost.ports.audit import AuditQuery
from waypost.ports.messages import Life
from waypost.rules import audit as rule

LATEST_MESSAGES = 200
"""How many messages back a list looks that names no message of its own."""
LARGEST_ID = 2**63 - 1


class About(msgspec.Struct, frozen=True):
    """What an entry is about."""

    entity_type: Entity | str
    entity_id: str


def actor_of(caller: Caller) -> str:
    """The key or the person behind a call."""
    return caller.user_id or caller.key_id or SYSTEM


async def record(org: OrgId, about: About, action: Action | str, actor: str, details: str, world: World) -> None:
    """Write one entry; for changes whose port writes none by itself."""
    entry = Entry(
        org_id=org,
        at=world.clock.now(),
        entity_type=about.entity_type,
        entity_id=about.entity_id,
        action=action,
        actor=actor,
        details=details,
    )
    await world.ledger.audit.append([entry])


async def trail(org: OrgId, query: AuditQuery, limit: int, world: World) -> list[Recorded]:
    """Newest first: what was recorded, and what the rows of messages tell."""
    stored = await world.ledger.audit.find(org, query, limit)
    derived = await _derived(org, query, world)
    return sorted([*derived, *reversed(stored)], key=_moment)[::-1][:limit]


def _moment(recorded: Recorded) -> int:
    return recorded.entry.at


async def _derived(org: OrgId, query: AuditQuery, world: World) -> list[Recorded]:
    """Of one message all there is; of one dossier, or of everything, that of the latest messages."""
    if query.entity_type == Entity.DOSSIER:
        dossier = _number(query.entity_id)
        if query.entity_id is not None and dossier is None:
            return []
        lives = await world.ledger.messages.lives(org, dossier, LATEST_MESSAGES)
        return _entries(lives, Entity.DOSSIER)
    if query.entity_type not in (None, Entity.OUTBOUND_MESSAGE):
        return []
    if query.entity_id is None:
        lives = await world.ledger.messages.lives(org, None, LATEST_MESSAGES)
        of_dossiers = [] if query.entity_type else _entries(lives, Entity.DOSSIER)
        return _entries(lives, Entity.OUTBOUND_MESSAGE) + of_dossiers
    message = _number(query.entity_id)
    life = await world.ledger.messages.life(org, MessageId(message)) if message else None
    return _entries([life] if life else [], Entity.OUTBOUND_MESSAGE)


def _number(text: str | None) -> int | None:
    """An id as we give them out, or None."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST_ID)):
        return None
    return int(text) if 0 < int(text) <= LARGEST_ID else None


def _entries(lives: Iterable[Life], entity: Entity) -> list[Recorded]:
    return [entry for life in lives for entry in rule.entries(life.message, _steps(life), entity)]


def _steps(life: Life) -> list[rule.Step]:
    heard = [
        rule.Heard(at=told.received_at, kind=told.kind, wamid=told.wamid, fence=told.fence, error_code=told.error_code)
        for told in life.reports
    ]
    return rule.steps(life.message, life.attempts, heard, life.events)


async def activities(org: OrgId, dossier: int, limit: int, world: World) -> Sequence[Activity]:
    """What happened to the latest messages of a dossier, newest first."""
    lives = await world.ledger.messages.lives(org, dossier, LATEST_MESSAGES)
    found = [activity for life in lives for activity in rule.activities(life.message, _steps(life))]
    return sorted(found, key=lambda activity: activity.at)[::-1][:limit]
