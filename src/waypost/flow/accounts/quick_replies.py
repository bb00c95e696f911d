"""Adds, changes, renames and removes an org's quick replies."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.ports.accounts.quick_replies import QuickReplyGone, QuickReplyResult
from waypost.rules.accounts import quick_replies as rule
from waypost.rules.text.json_validation import InvalidField


async def put(
    org: OrgId,
    name: str,
    text: str,
    world: World,
    actor: str = SYSTEM,
    *,
    replaces: str | UnsetType | None = UNSET,
) -> QuickReplyResult | InvalidField:
    """Stores a quick reply; idempotent. `replaces` is its former name, or None for a new one."""
    if wrong := rule.check(name, text):
        return wrong
    if isinstance(replaces, str) and rule.check_name(replaces) is not None:
        return QuickReplyGone(replaces)  # no quick reply can have this name
    reply = QuickReply(org_id=org, name=name, text=text, updated_at=world.clock.now(), updated_by=actor)
    return await world.ledger.quick_replies.put(reply, rule.MOST, replaces)


async def remove(org: OrgId, name: str, world: World, actor: str = SYSTEM) -> bool:
    """False if the org has no quick reply of this name."""
    if rule.check_name(name) is not None:
        return False
    return await world.ledger.quick_replies.remove(org, name, world.clock.now(), actor)


async def quick_replies(org: OrgId, world: World) -> Sequence[QuickReply]:
    """The org's quick replies, by name regardless of case."""
    return await world.ledger.quick_replies.of(org)
