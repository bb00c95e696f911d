"""Whoever said stop to marketing gets no marketing template: asked when it is stored, and again before it is sent."""

from __future__ import annotations

from waypost.flow.world import World
from waypost.model.dossier import DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel, Claimed
from waypost.model.time import Instant, Span, seconds
from waypost.ports.failure import LedgerError
from waypost.rules.clearance import CONSENT_REQUIRED, refused_marketing
from waypost.rules.delivery import Defer, GiveUp, Verdict
from waypost.rules.templates import is_marketing

ASK_AGAIN: Span = seconds(1)


async def refused(
    org: OrgId, waba_id: str, template: str, recipient: str, dossier: int | None, world: World
) -> str | None:
    """Why this template may not go to this customer; None also while nobody knows what kind of template it is."""
    kept = await world.templates.kept(org, waba_id)
    if kept is None or not is_marketing(kept.templates, template):
        return None
    named = None if dossier is None else DossierId(dossier)
    word = await world.ledger.consents.word(org, named, recipient, Channel.WHATSAPP_MARKETING)
    return refused_marketing(word.dossier, word.address)


async def stop(message: Claimed, waba_id: str, world: World) -> Verdict | None:
    """At the last moment; what nobody can find out now is asked again, never sent unasked."""
    if message.template is None or message.channel is not Channel.WHATSAPP:
        return None
    try:
        reason = await refused(message.org_id, waba_id, message.template, message.recipient, message.dossier_id, world)
    except LedgerError:
        return Defer(Instant(world.clock.now() + ASK_AGAIN), "hold", "the customer's consent could not be read")
    return None if reason is None else GiveUp(CONSENT_REQUIRED, reason, None, counts=False)
