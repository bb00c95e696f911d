"""The two forms of a phone number in Mexico, Argentina and Brazil, and the one that a contact is matched by."""

from __future__ import annotations

import re
from typing import Final

from waypost.rules.content.recipient import is_user_id

_TWO_FORMS: Final = (
    (re.compile(r"\+521([0-9]{10})", re.ASCII), r"+52\1"),
    (re.compile(r"\+549([0-9]{10})", re.ASCII), r"+54\1"),
    (re.compile(r"\+55([1-9][0-9])([6-9][0-9]{7})", re.ASCII), r"+55\g<1>9\2"),
)
"""Mexico's 1 and Argentina's 9 are removed; Brazil's ninth digit is added if eight digits can only be a mobile."""
_OTHER_FORMS: Final = (
    (re.compile(r"\+52([0-9]{10})", re.ASCII), r"+521\1"),
    (re.compile(r"\+54([0-9]{10})", re.ASCII), r"+549\1"),
    (re.compile(r"\+55([1-9][0-9])9([6-9][0-9]{7})", re.ASCII), r"+55\1\2"),
)
"""From the alias to the other form."""
_COUNTRIES: Final = ("+52", "+54", "+55")


def alias(phone: str) -> str:
    """The form that contacts are matched by, the same for both forms of a number. Never send to it."""
    for form, same in _TWO_FORMS:
        if form.fullmatch(phone):
            return form.sub(same, phone)
    return phone


def shared_alias(phone: str | None) -> str | None:
    """The alias of a number that has two forms; None for any other number."""
    forms = spellings(phone or "")
    return forms[0] if len(forms) > 1 else None


def address_of(recipient: str) -> str:
    """The contact address of a recipient: `phone:` with its alias, or `user:` with its id."""
    return f"user:{recipient}" if is_user_id(recipient) else f"phone:{alias(recipient)}"


def spellings(address: str) -> tuple[str, ...]:
    """All forms of a phone number, its alias first; any other address has one form."""
    if not address.startswith(_COUNTRIES):  # fast path: called for every inbound message
        return (address,)
    name = alias(address)
    return (name, *(form.sub(other, name) for form, other in _OTHER_FORMS if form.fullmatch(name)))
