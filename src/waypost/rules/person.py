"""What may stand in a dossier."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.dossier import Person
from waypost.rules import email, recipient
from waypost.rules.shape import Invalid


def checked(given: Person, region: str | None) -> Person | Invalid:
    """With phone and email as messages will name them, or the field at fault."""
    phone = given.phone
    if phone is not None:
        read = recipient.read(phone, region)
        if isinstance(read, recipient.Unreadable):
            return Invalid("phone", read.reason)
        phone = read
    address = given.email
    if address is not None:
        address = email.address(address)
        if address is None:
            return Invalid("email", "must be one email address, e.g. ada@example.com")
    return replace(given, phone=phone, email=address)


def is_anybody(person: Person) -> bool:
    """Whether there is anything to tell this person from others."""
    return person != Person()
