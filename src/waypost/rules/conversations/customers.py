"""The customer of a conversation, from the stored contact."""

from __future__ import annotations

from waypost.model.conversation import Contact, Conversation
from waypost.model.turn import Customer


def customer(conversation: Conversation, known: Contact | None) -> Customer:
    """The phone is the form last received; contacts are matched by a form that may differ."""
    if known is None:
        return Customer(id=conversation.address)
    return Customer(
        id=str(known.id),
        name=known.name,
        phone=conversation.address if conversation.address.startswith("+") else known.known_as("phone"),
        user_id=known.known_as("user"),
        username=known.username,
        dossier_id=known.dossier_id,
    )
