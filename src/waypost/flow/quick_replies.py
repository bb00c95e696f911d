"""How an org's quick replies are added, changed and removed."""

from __future__ import annotations

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.ports.quick_replies import NoRoom
from waypost.rules import quick_replies as rule
from waypost.rules.shape import Invalid


async def put(org: OrgId, name: str, text: str, world: World, actor: str = SYSTEM) -> QuickReply | Invalid | NoRoom:
    """As it is stored then; the same again changes nothing."""
    if wrong := rule.check(name, text):
        return wrong
    reply = QuickReply(org_id=org, name=name, text=text, updated_at=world.clock.now(), updated_by=actor)
    return await world.ledger.quick_replies.put(reply, rule.MOST)


async def remove(org: OrgId, name: str, world: World, actor: str = SYSTEM) -> bool:
    """False when the org has none of this name, or nobody could have."""
    if rule.check_name(name) is not None:
        return False
    return await world.ledger.quick_replies.remove(org, name, world.clock.now(), actor)
