"""How an org's quick replies are added, changed, renamed and removed."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.ports.quick_replies import Gone, Put
from waypost.rules import quick_replies as rule
from waypost.rules.shape import Invalid


async def put(
    org: OrgId,
    name: str,
    text: str,
    world: World,
    actor: str = SYSTEM,
    *,
    replaces: str | UnsetType | None = UNSET,
) -> Put | Invalid:
    """As it is stored then; the same again changes nothing. `replaces` is the name that it had, None of a new one."""
    if wrong := rule.check(name, text):
        return wrong
    if isinstance(replaces, str) and rule.check_name(replaces) is not None:
        return Gone(replaces)  # nobody could have had it
    reply = QuickReply(org_id=org, name=name, text=text, updated_at=world.clock.now(), updated_by=actor)
    return await world.ledger.quick_replies.put(reply, rule.MOST, replaces)


async def remove(org: OrgId, name: str, world: World, actor: str = SYSTEM) -> bool:
    """False when the org has none of this name, or nobody could have."""
    if rule.check_name(name) is not None:
        return False
    return await world.ledger.quick_replies.remove(org, name, world.clock.now(), actor)
