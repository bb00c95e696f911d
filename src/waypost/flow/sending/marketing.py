"""Refuses marketing templates to customers who opted out: when a message is stored, and again before it is sent."""

from __future__ import annotations

from waypost.flow.world import World
from waypost.model.dossier import DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel, ClaimedMessage
from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.failure import LedgerError
from waypost.rules.content.templates import is_marketing
from waypost.rules.sending.delivery import Defer, DeliveryVerdict, GiveUp
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, refused_marketing

ASK_AGAIN: Span = seconds(1)


async def refused(
    org: OrgId, waba_id: str, template: str, recipient: str, dossier: int | None, world: World
) -> str | None:
    """Why this template may not go to this customer; None also while the template's category is unknown."""
    kept = await world.templates.kept(org, waba_id)
    if kept is None or not is_marketing(kept.templates, template):
        return None
    dossier_id = None if dossier is None else DossierId(dossier)
    consent = await world.ledger.consents.word(org, dossier_id, recipient, Channel.WHATSAPP_MARKETING)
    return refused_marketing(consent.dossier, consent.address)


async def stop(message: ClaimedMessage, waba_id: str, world: World) -> DeliveryVerdict | None:
    """The check before the send. If consent cannot be read, the message is deferred, never sent."""
    if message.template is None or message.channel is not Channel.WHATSAPP:
        return None
    try:
        reason = await refused(message.org_id, waba_id, message.template, message.recipient, message.dossier_id, world)
    except LedgerError:
        return Defer(Instant(world.clock.now() + ASK_AGAIN), "hold", "the customer's consent could not be read")
    return None if reason is None else GiveUp(CONSENT_REQUIRED, reason, None, counts=False)
