"""What a bot is asked, and what it may answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

import msgspec


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation, as a bot sees it."""

    sender: str
    """`contact`, `bot`, or the id of the person who wrote it."""
    type: str
    """The Cloud API's word: text, image, location, interactive, …"""
    text: str
    """What it says in words: the text, a caption, the title of a button; empty where there are none."""
    content: dict[str, Any]
    """The whole message as the Cloud API has it, under its type's key."""
    timestamp: datetime
    media_id: str | None = None
    """Ours, of a file that came with it: what `GET /media/{id}` serves."""


class Customer(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote; a customer may have no phone number that we are told."""

    id: str
    name: str | None = None
    phone: str | None = None
    user_id: str | None = None
    username: str | None = None
    dossier_id: int | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A burst of one customer's messages that wants one answer."""

    id: str
    """The same for every try of the same burst, so that an answer that was thought of once can be given again."""
    org_id: str
    conversation_id: str
    number: str
    """The business number that was written to."""
    contact: Customer
    messages: list[Line]
    """The burst, in order."""
    history: list[Line]
    """What was said before, oldest first."""
    attempt: int = 1


class Handover(msgspec.Struct, frozen=True):
    """Let a person answer."""

    reason: str = ""


Message: TypeAlias = dict[str, Any]
"""A Cloud API message object (`{"type": "text", "text": {"body": "…"}}`) or the short form `{"text": "…"}`."""

Answer: TypeAlias = str | Message | list[str | Message] | tuple[str | Message, ...] | Handover | None
"""What a bot returns: replies in their order, a handover, or nothing to say."""
