"""The turn that a bot gets, and the answers it may return."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

import msgspec


class TurnMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation, as a bot sees it."""

    sender: str
    """`contact`, `bot`, or the id of the user who wrote it."""
    type: str
    """The Cloud API's message type: text, image, location, interactive, …"""
    text: str
    """Its text: the body, a caption, the title of a button; empty if it has none."""
    content: dict[str, Any]
    """The whole Cloud API message object, with its content under the type's key."""
    timestamp: datetime
    media_id: str | None = None
    """Our id of the attached file, served by `GET /media/{id}`."""


class Customer(msgspec.Struct, frozen=True, kw_only=True):
    """The customer; the provider may withhold their phone number."""

    id: str
    name: str | None = None
    phone: str | None = None
    user_id: str | None = None
    username: str | None = None
    dossier_id: int | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A burst of one customer's messages that needs one answer."""

    id: str
    """The same for every attempt of the same burst, so that a bot can reuse an earlier answer."""
    org_id: str
    conversation_id: str
    number: str
    """The business number that received the messages."""
    contact: Customer
    messages: list[TurnMessage]
    """The burst, in order."""
    history: list[TurnMessage]
    """Earlier messages, oldest first."""
    attempt: int = 1


class Handover(msgspec.Struct, frozen=True):
    """Hand the conversation over to an agent."""

    reason: str = ""


BotMessage: TypeAlias = dict[str, Any]
"""A Cloud API message object (`{"type": "text", "text": {"body": "…"}}`) or the short form `{"text": "…"}`."""

Answer: TypeAlias = str | BotMessage | list[str | BotMessage] | tuple[str | BotMessage, ...] | Handover | None
"""What a bot returns: replies in their order, a handover, or None for no reply."""
