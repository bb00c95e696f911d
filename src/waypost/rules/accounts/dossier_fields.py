"""Checks of dossier fields."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.dossier import DossierFields
from waypost.rules.content import email, recipient
from waypost.rules.text.json_validation import InvalidField


def checked(given: DossierFields, region: str | None) -> DossierFields | InvalidField:
    """The fields with phone and email normalised as in messages, or the invalid field."""
    phone = given.phone
    if phone is not None:
        read = recipient.read(phone, region)
        if isinstance(read, recipient.InvalidPhone):
            return InvalidField("phone", read.reason)
        phone = read
    address = given.email
    if address is not None:
        address = email.address(address)
        if address is None:
            return InvalidField("email", "must be one email address, e.g. ada@example.com")
    return replace(given, phone=phone, email=address)


def is_anybody(person: DossierFields) -> bool:
    """Whether any field is set."""
    return person != DossierFields()
