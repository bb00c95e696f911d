"""Who a customer is, from what is stored of them and of a conversation with them."""

from __future__ import annotations

from waypost.model.conversation import Contact, Conversation
from waypost.model.turn import Customer


def customer(talk: Conversation, known: Contact | None) -> Customer:
    """The phone number as it came last: the one that a contact is matched by may be another form of it."""
    if known is None:
        return Customer(id=talk.address)
    return Customer(
        id=str(known.id),
        name=known.name,
        phone=talk.address if talk.address.startswith("+") else known.known_as("phone"),
        user_id=known.known_as("user"),
        username=known.username,
        dossier_id=known.dossier_id,
    )
