"""The whole validation of a call to the messages endpoint: what is to be sent to whom, or why not."""

from __future__ import annotations

import msgspec

from waypost.sandbox.content import wrong_content, wrong_envelope
from waypost.sandbox.graph_errors import RECIPIENT_IS_SENDER, Refusal, invalid, missing, of_code
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.recipients import Recipient, magic_code, phone_digits, recipient_of
from waypost.sandbox.shape import Json
from waypost.sandbox.templates import Templates


class Order(msgspec.Struct, frozen=True):
    """A message that Meta would accept."""

    number: SandboxNumber
    recipient: Recipient
    kind: str
    body: Json
    category: str | None = None
    """Of the template, in lower case; None for everything else."""


def order_of(number: SandboxNumber, body: Json, templates: Templates) -> Order | Refusal:
    recipient = _addressee(number, body)
    if isinstance(recipient, Refusal):
        return recipient
    kind = body.get("type", "text")
    if not isinstance(kind, str):
        return invalid("type", "must be a string")
    if wrong := wrong_content(kind, body):
        return wrong
    if kind != "template":
        return Order(number, recipient, kind, body)
    template = templates.usable(number.waba_id, body["template"], recipient)
    if isinstance(template, Refusal):
        return template
    return Order(number, recipient, kind, body, template.category.lower())


def _addressee(number: SandboxNumber, body: Json) -> Recipient | Refusal:
    """A magic number is answered before the content is looked at."""
    recipient = wrong_envelope(body) or recipient_of(body)
    if isinstance(recipient, Refusal):
        return recipient
    if (code := magic_code(recipient.phone)) is not None:
        return of_code(code)
    if recipient.phone == phone_digits(number.display_phone_number):
        return Refusal(RECIPIENT_IS_SENDER, details="Recipient phone number cannot be the sender's")
    return recipient


def wrong_receipt(body: Json) -> Refusal | None:
    """What is wrong with a call that marks a message as read, with or without a typing indicator."""
    if wrong := wrong_envelope(body):
        return wrong
    if body["status"] != "read":
        return invalid("status", "must be read")
    message_id, typing = body.get("message_id"), body.get("typing_indicator")
    if message_id is None or message_id == "":
        return missing("message_id")
    if not isinstance(message_id, str):
        return invalid("message_id", "must be a string")
    fine = typing is None or (isinstance(typing, dict) and typing.get("type") == "text")
    return None if fine else invalid("typing_indicator.type", "must be text")
