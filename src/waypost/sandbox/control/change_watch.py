"""The state of a phone for a web page: its screen, the other phones and the faults, with a long poll."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.clock import Clock
from waypost.sandbox.faults import Faults
from waypost.sandbox.phones.changes import Changes
from waypost.sandbox.phones.contacts import Contacts
from waypost.sandbox.phones.screens import Screens
from waypost.sandbox.store.numbers import Numbers

LONGEST_WAIT = 30.0
"""Seconds."""
MOST_MESSAGES = 200
MOST_PHONES = 20


class WatchQuery(msgspec.Struct, frozen=True):
    """The query parameters."""

    after: int
    wait: float = 0


class ChangeWatch:
    def __init__(
        self, clock: Clock, numbers: Numbers, contacts: Contacts, screens: Screens, faults: Faults, changes: Changes
    ) -> None:
        self._clock = clock
        self._numbers = numbers
        self._contacts = contacts
        self._screens = screens
        self._faults = faults
        self._changes = changes

    async def poll(self, phone: str, query: dict[str, str]) -> dict[str, Any]:
        asked = msgspec.convert(query, WatchQuery, strict=False)
        wait = seconds(min(max(asked.wait, 0), LONGEST_WAIT))
        await self._changes.beyond(asked.after, self._timeout(phone, wait))
        return self._now(phone)

    def notify(self) -> None:
        """Wakes the waiting requests after the faults have changed."""
        self._changes.happened()

    def _timeout(self, phone: str, wait: Span) -> Span:
        """The end of a typing indicator is a change too."""
        until, now = self._screens.typing_until(phone), self._clock.now()
        return wait if until is None or until <= now else Span(min(wait, until - now))

    def _now(self, phone: str) -> dict[str, Any]:
        until: Instant | None = self._screens.typing_until(phone)
        return {
            "phone": phone,
            "messages": self._screens.watched(phone, MOST_MESSAGES),
            "version": self._changes.version,
            "typing": until is not None and self._clock.now() < until,
            "business": self._business(),
            "phones": [self._phone(each) for each in self._screens.latest_phones(MOST_PHONES)],
            "faults": self._faults.listed(),
        }

    def _phone(self, phone: str) -> dict[str, Any]:
        return {"phone": phone, "name": self._contacts.person(phone).name, "unread": self._screens.unread(phone)}

    def _business(self) -> dict[str, str] | None:
        """The business that the phones write to."""
        number = next(iter(self._numbers.all()), None)
        return {"name": number.verified_name, "phone": number.display_phone_number} if number else None
