"""Builds the webhook values of customers' messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from waypost.sandbox.content.recipients import user_id_of
from waypost.sandbox.edge.graph_errors import SOMETHING_WENT_WRONG, UNSUPPORTED_TYPE, webhook_error
from waypost.sandbox.phones.contacts import SandboxProfile
from waypost.sandbox.phones.screens import PhoneMessage
from waypost.sandbox.store.numbers import SandboxNumber

MEDIA_TYPES: Final = ("image", "video", "audio", "document", "sticker")
_NUMBER_CHANGES: Final = ("user_changed_number", "user_changed_user_id", "customer_changed_number")
"""System messages about a changed number or user id: they have no contacts and name the user id themselves."""


def as_posted(number: SandboxNumber, message: dict[str, Any]) -> dict[str, Any]:
    """Adds what Meta always adds; existing values stay."""
    if message["type"] == "unsupported":
        message = {"errors": [webhook_error(UNSUPPORTED_TYPE, "Message type is currently not supported.")], **message}
    context = message.get("context")
    if isinstance(context, dict) and "id" in context:
        message = {**message, "context": {"from": number.display_phone_number, **context}}
    return message


def inbound_value(written: Sequence[PhoneMessage], profile: SandboxProfile) -> dict[str, Any]:
    """The value of a `messages` change with all messages of one customer."""
    value: dict[str, Any] = {}
    if not all(is_number_change(one.message) for one in written):
        value["contacts"] = [_contact(written[0].phone, profile)]
    value["messages"] = [_posted(one, profile) for one in written]
    if any(_lacks_content(one.message) for one in written):
        value["errors"] = [webhook_error(SOMETHING_WENT_WRONG, "Unsupported webhook payload")]
    return value


def is_system_message(message: dict[str, Any]) -> bool:
    """Whether it is a system message about the customer, not written by the customer."""
    return bool(message["type"] == "system")


def is_number_change(message: dict[str, Any]) -> bool:
    system = message.get("system") if is_system_message(message) else None
    return isinstance(system, dict) and system.get("type") in _NUMBER_CHANGES


def number_change_message(phone: str, new_phone: str, profile: SandboxProfile) -> dict[str, Any]:
    """The system message for a changed number; if the phone is hidden, it names only the user ids."""
    ids = {"user_id": user_id_of(new_phone), "previous_user_id": user_id_of(phone)}
    if profile.hide_phone:
        system = {"type": "user_changed_user_id", "body": f"User {profile.name} changed user id", **ids}
    else:
        body = f"User {profile.name} changed from {phone} to {new_phone}"
        system = {"type": "user_changed_number", "body": body, "wa_id": new_phone, **ids}
    return {"type": "system", "system": system}


def _lacks_content(message: dict[str, Any]) -> bool:
    """Meta posts an interactive message that it does not support without its object, plus an error."""
    return message["type"] == "interactive" and "interactive" not in message


def _posted(one: PhoneMessage, profile: SandboxProfile) -> dict[str, Any]:
    sender = {} if profile.hide_phone else {"from": one.phone}
    if not is_number_change(one.message):
        sender["from_user_id"] = user_id_of(one.phone)
    return {**sender, "id": one.wamid, "timestamp": str(one.at // 1_000_000), **one.message}


def _contact(phone: str, profile: SandboxProfile) -> dict[str, Any]:
    reached = {} if profile.hide_phone else {"wa_id": phone}
    return {"profile": profile.profile(), **reached, "user_id": user_id_of(phone)}
