"""The customers: their profiles, and when each last wrote to which number."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant, hours

WINDOW = hours(24)


class SandboxProfile(msgspec.Struct, frozen=True):
    name: str
    username: str | None = None
    hide_phone: bool = False
    """Whether webhooks contain only the user id."""

    def profile(self, with_username: bool = True) -> dict[str, str]:
        """In the form of a webhook."""
        return {"name": self.name, **({"username": self.username} if self.username and with_username else {})}


class SandboxContact(msgspec.Struct):
    person: SandboxProfile
    last_wrote: dict[str, Instant] = msgspec.field(default_factory=dict)
    """By phone_number_id."""


class Contacts:
    def __init__(self, most: int) -> None:
        self._most = most
        self._by_phone: dict[str, SandboxContact] = {}

    def person(self, phone: str) -> SandboxProfile:
        contact = self._by_phone.get(phone)
        return contact.person if contact else SandboxProfile(f"Sandbox {phone[-4:]}")

    def met(self, phone: str, name: str | None, username: str | None, hide_phone: bool | None) -> None:
        """Updates the profile; None leaves a value unchanged."""
        known = self.person(phone)
        person = SandboxProfile(
            name or known.name,
            known.username if username is None else username,
            known.hide_phone if hide_phone is None else hide_phone,
        )
        contact = self._by_phone.pop(phone, None)
        self._keep(phone, SandboxContact(person, contact.last_wrote if contact else {}))

    def wrote(self, phone: str, phone_number_id: str, at: Instant) -> None:
        contact = self._by_phone.pop(phone, None) or SandboxContact(self.person(phone))
        contact.last_wrote[phone_number_id] = at
        self._keep(phone, contact)

    def moved(self, phone: str, new_phone: str) -> None:
        """The customer's number changed."""
        if contact := self._by_phone.pop(phone, None):
            self._keep(new_phone, contact)

    def _keep(self, phone: str, contact: SandboxContact) -> None:
        self._by_phone[phone] = contact
        if len(self._by_phone) > self._most:
            del self._by_phone[next(iter(self._by_phone))]

    def window_open(self, phone: str, phone_number_id: str, now: Instant) -> bool:
        contact = self._by_phone.get(phone)
        last = contact.last_wrote.get(phone_number_id) if contact else None
        return last is not None and now - last < WINDOW
