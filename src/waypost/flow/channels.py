"""Which way a message goes: for each channel, how the line to its provider is opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from waypost.flow.world import World
from waypost.model.gate import GateName
from waypost.model.message import Channel, Claimed
from waypost.model.outcome import Outcome, Rejected
from waypost.model.time import Instant, Span, minutes
from waypost.rules import email, gates
from waypost.rules.delivery import Defer, GiveUp, Verdict
from waypost.rules.payload import cloud_api_body
from waypost.rules.shape import Invalid

HOLD: Span = minutes(1)
INVALID_LETTER = "INVALID_LETTER"


@dataclass(slots=True)
class Line:
    """One message's way to its provider, open and to be used once."""

    account: str
    """The business account that the sender belongs to; empty where there is none."""
    catalogue: str
    """What its provider's error codes mean."""
    breaker: GateName
    """What closes when the provider fails too often."""
    send: Callable[[], Awaitable[Outcome]]
    """One try; never raises for a network fault."""


Opened: TypeAlias = Line | Verdict
"""The line, or what becomes of the message because there is none."""


async def whatsapp(message: Claimed, world: World) -> Opened:
    connected = world.numbers.known(message.sender)
    if connected is None:
        await world.numbers.look_again()  # connected a moment ago, by another process
        connected = world.numbers.known(message.sender)
    if connected is None or connected.number.org_id != message.org_id:  # another org may have connected it since
        return _without_number(message, world)
    sender = connected.sender
    return Line(
        account=connected.number.waba_id,
        catalogue=connected.number.error_catalogue,
        breaker=gates.of_org(message.org_id),
        send=lambda: world.provider.send(sender, cloud_api_body(message)),
    )


def _without_number(message: Claimed, world: World) -> Verdict:
    if world.numbers.is_sealed(message.sender):
        return _sealed("the number's secrets were sealed", world)
    said = "the number it was to be sent from is no longer connected"
    return GiveUp("NUMBER_DISCONNECTED", said, None, counts=False)


def _sealed(what: str, world: World) -> Verdict:
    return Defer(Instant(world.clock.now() + HOLD), "hold", f"{what} under another WAYPOST_SECRET_KEY")


async def by_email(message: Claimed, world: World) -> Opened:
    connected = await world.mailboxes.find(message.sender)
    if connected is None or connected.account.org_id != message.org_id:
        said = "the mailbox it was to be sent from is no longer connected"
        return GiveUp("MAILBOX_DISCONNECTED", said, None, counts=False)
    mailbox = connected.mailbox
    if mailbox is None:
        return _sealed("the mailbox's password was sealed", world)

    async def send() -> Outcome:
        letter = email.write(
            mailbox,
            message_id=message.id,
            fence=message.fence,
            recipient=message.recipient,
            subject=message.subject,
            payload=message.payload,
            now=world.clock.now(),
        )
        return _unwritable(letter) if isinstance(letter, Invalid) else await world.mailer.send(mailbox, letter)

    return Line(account="", catalogue="smtp", breaker=gates.of_number(message.sender), send=send)


def _unwritable(wrong: Invalid) -> Rejected:
    """It was checked before it was stored: only a rule that has changed since can refuse it here."""
    said = f"{wrong.field} {wrong.reason}"
    return Rejected(code=INVALID_LETTER, message=said, details=None, trace=None, retry_after=None, response=said)


LINES: Mapping[Channel, Callable[[Claimed, World], Awaitable[Opened]]] = {
    Channel.WHATSAPP: whatsapp,
    Channel.EMAIL: by_email,
}
"""A channel that is not here is refused before anything is stored."""
