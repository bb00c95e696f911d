"""Validates a call to the messages endpoint."""

from __future__ import annotations

import msgspec

from waypost.sandbox.content.json_checks import Json
from waypost.sandbox.content.message_types import wrong_content, wrong_envelope
from waypost.sandbox.content.recipients import Recipient, magic_code, phone_digits, recipient_of
from waypost.sandbox.content.templates import TemplateRegistry
from waypost.sandbox.edge.graph_errors import RECIPIENT_IS_SENDER, GraphError, invalid, missing, of_code
from waypost.sandbox.store.numbers import SandboxNumber


class CheckedMessage(msgspec.Struct, frozen=True):
    """A message that Meta would accept."""

    number: SandboxNumber
    recipient: Recipient
    kind: str
    body: Json
    category: str | None = None
    """The template's category in lower case; None for other messages."""


def order_of(number: SandboxNumber, body: Json, templates: TemplateRegistry) -> CheckedMessage | GraphError:
    recipient = _addressee(number, body)
    if isinstance(recipient, GraphError):
        return recipient
    kind = body.get("type", "text")
    if not isinstance(kind, str):
        return invalid("type", "must be a string")
    if wrong := wrong_content(kind, body):
        return wrong
    if kind != "template":
        return CheckedMessage(number, recipient, kind, body)
    template = templates.usable(number.waba_id, body["template"], recipient)
    if isinstance(template, GraphError):
        return template
    return CheckedMessage(number, recipient, kind, body, template.category.lower())


def _addressee(number: SandboxNumber, body: Json) -> Recipient | GraphError:
    """The recipient; a magic number is refused before the content is checked."""
    recipient = wrong_envelope(body) or recipient_of(body)
    if isinstance(recipient, GraphError):
        return recipient
    if (code := magic_code(recipient.phone)) is not None:
        return of_code(code)
    if recipient.phone == phone_digits(number.display_phone_number):
        return GraphError(RECIPIENT_IS_SENDER, details="Recipient phone number cannot be the sender's")
    return recipient


def wrong_receipt(body: Json) -> GraphError | None:
    """Validates a read receipt, with or without a typing indicator."""
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
