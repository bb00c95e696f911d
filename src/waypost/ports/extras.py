"""What the provider does for us beside sending: at once or not at all, never queued."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from waypost.model.outcome import LookedUp, Rejected, Unreached, Unsure
from waypost.ports.provider import Sender


class Done(msgspec.Struct, frozen=True, tag=True):
    id: str | None = None
    """Of what was uploaded."""


Answered: TypeAlias = Done | Rejected | Unreached | Unsure


class Form(msgspec.Struct, frozen=True):
    """An upload as it goes over the wire; one copy of the file, however large."""

    boundary: str
    body: bytes


class Extras(Protocol):
    async def mark_read(self, sender: Sender, message_id: str, *, typing: bool) -> Answered:
        """Tell a customer that their message was read, and that an answer is being typed; once, never raises."""

    async def upload(self, sender: Sender, form: Form) -> Answered:
        """Hand a file over, to be sent by its id; once, never raises for a network fault."""

    async def look_up(self, sender: Sender) -> LookedUp:
        """Ask for the number's own record, with its own token; changes nothing there, never raises."""
