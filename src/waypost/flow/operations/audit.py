"""The audit trail: recorded entries, and entries derived from the stored history of messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.account import Caller
from waypost.model.audit import SYSTEM, Activity, AuditAction, AuditEntry, Entity, RecordedEntry
from waypost.model.ids import MessageId, OrgId
from waypost.ports.operations.audit import AuditQuery
from waypost.ports.sending.messages import MessageRecord
from waypost.rules.operations import audit as rule

LATEST_MESSAGES = 200
"""How many messages a query covers that names no message."""
LARGEST_ID = 2**63 - 1


class AuditSubject(msgspec.Struct, frozen=True):
    """What an entry is about."""

    entity_type: Entity | str
    entity_id: str


def actor_of(caller: Caller) -> str:
    """The user or key behind a call."""
    return caller.user_id or caller.key_id or SYSTEM


async def record(
    org: OrgId, about: AuditSubject, action: AuditAction | str, actor: str, details: str, world: World
) -> None:
    """Records one entry, for changes whose port does not record one itself."""
    entry = AuditEntry(
        org_id=org,
        at=world.clock.now(),
        entity_type=about.entity_type,
        entity_id=about.entity_id,
        action=action,
        actor=actor,
        details=details,
    )
    await world.ledger.audit.append([entry])


async def trail(org: OrgId, query: AuditQuery, limit: int, world: World) -> list[RecordedEntry]:
    """Recorded and derived entries, newest first."""
    stored = await world.ledger.audit.find(org, query, limit)
    derived = await _derived(org, query, world)
    return sorted([*derived, *reversed(stored)], key=_moment)[::-1][:limit]


def _moment(recorded: RecordedEntry) -> int:
    return recorded.entry.at


async def _derived(org: OrgId, query: AuditQuery, world: World) -> list[RecordedEntry]:
    """All entries of one message, or those of the latest messages of a dossier or the org."""
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
    """The text as one of our ids, or None."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST_ID)):
        return None
    return int(text) if 0 < int(text) <= LARGEST_ID else None


def _entries(lives: Iterable[MessageRecord], entity: Entity) -> list[RecordedEntry]:
    return [entry for life in lives for entry in rule.entries(life.message, _steps(life), entity)]


def _steps(life: MessageRecord) -> list[rule.AuditStep]:
    statuses = [
        rule.AuditedStatus(
            at=update.received_at,
            kind=update.kind,
            wamid=update.wamid,
            fence=update.fence,
            error_code=update.error_code,
        )
        for update in life.statuses
    ]
    return rule.steps(life.message, life.attempts, statuses, life.events)


async def activities(org: OrgId, dossier: int, limit: int, world: World) -> Sequence[Activity]:
    """The activities of a dossier's latest messages, newest first."""
    lives = await world.ledger.messages.lives(org, dossier, LATEST_MESSAGES)
    found = [activity for life in lives for activity in rule.activities(life.message, _steps(life))]
    return sorted(found, key=lambda activity: activity.at)[::-1][:limit]
