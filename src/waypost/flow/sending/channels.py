"""Finds the route to the provider for a message, by channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from waypost.flow.world import World
from waypost.model.gate import GateName
from waypost.model.message import Channel, ClaimedMessage
from waypost.model.outcome import Outcome, ProviderRejected
from waypost.model.time import Instant, Span, minutes
from waypost.rules.content import email
from waypost.rules.content.payload import cloud_api_body
from waypost.rules.limits import gates
from waypost.rules.sending.delivery import Defer, DeliveryVerdict, GiveUp
from waypost.rules.text.json_validation import InvalidField

HOLD: Span = minutes(1)
INVALID_EMAIL = "INVALID_LETTER"


@dataclass(slots=True)
class ProviderRoute:
    """How to send one message to its provider; used once."""

    account: str
    """The sender's business account; empty for email."""
    catalogue: str
    """The name of the provider's error catalogue."""
    breaker: GateName
    """The gate that closes when the provider fails too often."""
    send: Callable[[], Awaitable[Outcome]]
    """One attempt; never raises for a network fault."""


RouteResult: TypeAlias = ProviderRoute | DeliveryVerdict
"""The route, or the verdict on a message that has none."""


async def whatsapp(message: ClaimedMessage, world: World) -> RouteResult:
    connected = world.numbers.known(message.sender)
    if connected is None:
        await world.numbers.look_again()  # another process may have just connected it
        connected = world.numbers.known(message.sender)
    if connected is None or connected.number.org_id != message.org_id:  # another org may have connected it meanwhile
        return _without_number(message, world)
    sender = connected.sender
    return ProviderRoute(
        account=connected.number.waba_id,
        catalogue=connected.number.error_catalogue,
        breaker=gates.of_org(message.org_id),
        send=lambda: world.provider.send(sender, cloud_api_body(message)),
    )


def _without_number(message: ClaimedMessage, world: World) -> DeliveryVerdict:
    if world.numbers.is_sealed(message.sender):
        return _sealed("the number's secrets were encrypted", world)
    reason = "the number it was to be sent from is no longer connected"
    return GiveUp("NUMBER_DISCONNECTED", reason, None, counts=False)


def _sealed(what: str, world: World) -> DeliveryVerdict:
    return Defer(Instant(world.clock.now() + HOLD), "hold", f"{what} with another WAYPOST_SECRET_KEY")


async def by_email(message: ClaimedMessage, world: World) -> RouteResult:
    connected = await world.mailboxes.find(message.sender)
    if connected is None or connected.account.org_id != message.org_id:
        reason = "the mailbox it was to be sent from is no longer connected"
        return GiveUp("MAILBOX_DISCONNECTED", reason, None, counts=False)
    mailbox = connected.mailbox
    if mailbox is None:
        return _sealed("the mailbox's password was encrypted", world)

    async def send() -> Outcome:
        written = email.write(
            mailbox,
            message_id=message.id,
            fence=message.fence,
            recipient=message.recipient,
            subject=message.subject,
            payload=message.payload,
            now=world.clock.now(),
        )
        return _rejected(written) if isinstance(written, InvalidField) else await world.mailer.send(mailbox, written)

    return ProviderRoute(account="", catalogue="smtp", breaker=gates.of_number(message.sender), send=send)


def _rejected(invalid: InvalidField) -> ProviderRejected:
    """The email was checked when it was stored, so this happens only after a rule has changed."""
    reason = f"{invalid.field} {invalid.reason}"
    return ProviderRejected(
        code=INVALID_EMAIL, message=reason, details=None, trace=None, retry_after=None, response=reason
    )


ROUTES: Mapping[Channel, Callable[[ClaimedMessage, World], Awaitable[RouteResult]]] = {
    Channel.WHATSAPP: whatsapp,
    Channel.EMAIL: by_email,
}
"""Messages of other channels are refused before they are stored."""
