"""Sending through the WhatsApp provider."""

from __future__ import annotations

from typing import Protocol

import msgspec

from waypost.model.ids import NumberId
from waypost.model.outcome import Outcome


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """A connected number with its token decrypted; never logged, never stored."""

    number: NumberId
    token: str
    graph_url: str

    def __repr__(self) -> str:
        return f"Sender({self.number})"


class Provider(Protocol):
    async def send(self, sender: Sender, body: bytes) -> Outcome:
        """Send one message to the provider, once; never retries and never raises for a network fault."""
