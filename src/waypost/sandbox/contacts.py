"""The people behind the phones: what they call themselves, and when they last wrote to which number."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant, hours

WINDOW = hours(24)


class Person(msgspec.Struct, frozen=True):
    name: str
    username: str | None = None
    hide_phone: bool = False
    """Webhooks then name the user id only."""

    def profile(self, with_username: bool = True) -> dict[str, str]:
        """As webhooks have it."""
        return {"name": self.name, **({"username": self.username} if self.username and with_username else {})}


class Contact(msgspec.Struct):
    person: Person
    last_wrote: dict[str, Instant] = msgspec.field(default_factory=dict)
    """By phone_number_id."""


class Contacts:
    def __init__(self, most: int) -> None:
        self._most = most
        self._by_phone: dict[str, Contact] = {}

    def person(self, phone: str) -> Person:
        contact = self._by_phone.get(phone)
        return contact.person if contact else Person(f"Sandbox {phone[-4:]}")

    def met(self, phone: str, name: str | None, username: str | None, hide_phone: bool | None) -> None:
        """What is None stays as it was known."""
        known = self.person(phone)
        person = Person(
            name or known.name,
            known.username if username is None else username,
            known.hide_phone if hide_phone is None else hide_phone,
        )
        contact = self._by_phone.pop(phone, None)
        self._keep(phone, Contact(person, contact.last_wrote if contact else {}))

    def wrote(self, phone: str, phone_number_id: str, at: Instant) -> None:
        contact = self._by_phone.pop(phone, None) or Contact(self.person(phone))
        contact.last_wrote[phone_number_id] = at
        self._keep(phone, contact)

    def moved(self, phone: str, new_phone: str) -> None:
        """The same person under another number."""
        if contact := self._by_phone.pop(phone, None):
            self._keep(new_phone, contact)

    def _keep(self, phone: str, contact: Contact) -> None:
        self._by_phone[phone] = contact
        if len(self._by_phone) > self._most:
            del self._by_phone[next(iter(self._by_phone))]

    def window_open(self, phone: str, phone_number_id: str, now: Instant) -> bool:
        contact = self._by_phone.get(phone)
        last = contact.last_wrote.get(phone_number_id) if contact else None
        return last is not None and now - last < WINDOW
