"""What a customer sends, in the words in which Meta posts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from waypost.sandbox.contacts import Person
from waypost.sandbox.graph_errors import SOMETHING_WENT_WRONG, UNSUPPORTED_TYPE, webhook_error
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.recipients import user_id_of
from waypost.sandbox.screens import Note

MEDIA_TYPES: Final = ("image", "video", "audio", "document", "sticker")
_MOVES: Final = ("user_changed_number", "user_changed_user_id", "customer_changed_number")
"""Notices that somebody is somebody else now: they come without contacts, and name the user id themselves."""


def as_posted(number: SandboxNumber, message: dict[str, Any]) -> dict[str, Any]:
    """With what Meta always adds; what the message has already stays as it is."""
    if message["type"] == "unsupported":
        message = {"errors": [webhook_error(UNSUPPORTED_TYPE, "Message type is currently not supported.")], **message}
    context = message.get("context")
    if isinstance(context, dict) and "id" in context:
        message = {**message, "context": {"from": number.display_phone_number, **context}}
    return message


def inbound_value(notes: Sequence[Note], person: Person) -> dict[str, Any]:
    """One change of the field `messages` with everything that one customer sent."""
    value: dict[str, Any] = {}
    if not all(is_move(note.message) for note in notes):
        value["contacts"] = [_contact(notes[0].phone, person)]
    value["messages"] = [_told(note, person) for note in notes]
    if any(_is_hollow(note.message) for note in notes):
        value["errors"] = [webhook_error(SOMETHING_WENT_WRONG, "Unsupported webhook payload")]
    return value


def is_notice(message: dict[str, Any]) -> bool:
    """Whether Meta tells it of the customer: the customer wrote nothing."""
    return bool(message["type"] == "system")


def is_move(message: dict[str, Any]) -> bool:
    notice = message.get("system") if is_notice(message) else None
    return isinstance(notice, dict) and notice.get("type") in _MOVES


def a_move(phone: str, new_phone: str, person: Person) -> dict[str, Any]:
    """A customer's number changes, and the user id with it; who keeps the number back is told of by the id alone."""
    ids = {"user_id": user_id_of(new_phone), "previous_user_id": user_id_of(phone)}
    if person.hide_phone:
        told = {"type": "user_changed_user_id", "body": f"User {person.name} changed user id", **ids}
    else:
        body = f"User {person.name} changed from {phone} to {new_phone}"
        told = {"type": "user_changed_number", "body": body, "wa_id": new_phone, **ids}
    return {"type": "system", "system": told}


def _is_hollow(message: dict[str, Any]) -> bool:
    """Meta posts an interactive message that it cannot tell without its object, and an error beside it."""
    return message["type"] == "interactive" and "interactive" not in message


def _told(note: Note, person: Person) -> dict[str, Any]:
    sender = {} if person.hide_phone else {"from": note.phone}
    if not is_move(note.message):
        sender["from_user_id"] = user_id_of(note.phone)
    return {**sender, "id": note.wamid, "timestamp": str(note.at // 1_000_000), **note.message}


def _contact(phone: str, person: Person) -> dict[str, Any]:
    reached = {} if person.hide_phone else {"wa_id": phone}
    return {"profile": person.profile(), **reached, "user_id": user_id_of(phone)}
