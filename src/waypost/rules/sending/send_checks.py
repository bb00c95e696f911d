"""The checks of a claimed message right before it is sent."""

from __future__ import annotations

from waypost.model.dossier import ConsentStatus
from waypost.model.message import Channel, ClaimedMessage
from waypost.model.time import Instant
from waypost.rules.limits import window
from waypost.rules.sending.delivery import Defer, DeliveryVerdict, Expire, GiveUp

SESSION_EXPIRED = "SESSION_EXPIRED"
CONSENT_REQUIRED = "CONSENT_REQUIRED"


def check_before_send(message: ClaimedMessage, now: Instant, *, enforce_window: bool = True) -> DeliveryVerdict | None:
    """None if it may be sent; called right before the provider is."""
    if message.expires_at is not None and now >= message.expires_at:
        return Expire()
    refusal = refused_by_consent(message.dossier_id is not None, message.consent, message.address_consent)
    if refusal is not None and not message.exempt:
        return GiveUp(CONSENT_REQUIRED, refusal, None, counts=False)
    if enforce_window and _needs_window(message) and not window.is_open(message.window_until, now):
        return GiveUp(SESSION_EXPIRED, _NO_WINDOW, None, counts=False)
    if message.put_off_until is not None and now < message.put_off_until:
        return Defer(message.put_off_until, message.put_off_by or "pacing", "this customer got too many messages")
    return None


_NO_WINDOW = "the customer has not written within 24 hours: send a template, or wait until the customer writes"


def _needs_window(message: ClaimedMessage) -> bool:
    return message.channel is Channel.WHATSAPP and message.template is None


def refused_by_consent(with_dossier: bool, dossier: str | None, address: str | None) -> str | None:
    """With a dossier, its latest consent must be GRANTED; without one, only a recorded REVOKED blocks."""
    if address == ConsentStatus.REVOKED:
        return "consent for this address was revoked"
    if with_dossier and dossier != ConsentStatus.GRANTED:
        return f"consent of the dossier is {dossier or 'not recorded'}: it must be GRANTED"
    return None


def refused_marketing(dossier: str | None, address: str | None) -> str | None:
    """Only a recorded REVOKED blocks marketing; the consent for the channel is checked separately."""
    if ConsentStatus.REVOKED in (dossier, address):
        return "the customer has stopped marketing messages"
    return None
