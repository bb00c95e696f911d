"""The people behind the phones: their names, and when they last wrote to which number."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant, hours

WINDOW = hours(24)


class Contact(msgspec.Struct):
    name: str
    last_wrote: dict[str, Instant] = msgspec.field(default_factory=dict)
    """By phone_number_id."""


class Contacts:
    def __init__(self, most: int) -> None:
        self._most = most
        self._by_phone: dict[str, Contact] = {}

    def name_of(self, phone: str) -> str:
        contact = self._by_phone.get(phone)
        return contact.name if contact else f"Sandbox {phone[-4:]}"

    def wrote(self, phone: str, phone_number_id: str, at: Instant, name: str | None) -> None:
        known = self._by_phone.pop(phone, None)
        contact = Contact(name or self.name_of(phone)) if known is None else known
        contact.name = name or contact.name
        contact.last_wrote[phone_number_id] = at
        self._by_phone[phone] = contact
        if len(self._by_phone) > self._most:
            del self._by_phone[next(iter(self._by_phone))]

    def window_open(self, phone: str, phone_number_id: str, now: Instant) -> bool:
        contact = self._by_phone.get(phone)
        last = contact.last_wrote.get(phone_number_id) if contact else None
        return last is not None and now - last < WINDOW
