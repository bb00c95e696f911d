"""The other side of an email."""

from __future__ import annotations

from typing import Protocol

from waypost.model.email import Letter, Mailbox
from waypost.model.outcome import Outcome


class Mailer(Protocol):
    async def send(self, mailbox: Mailbox, letter: Letter) -> Outcome:
        """Hand one letter to the mailbox's server, once; never retries by itself and never raises for a network fault.

        Accepted with the letter's own id; Rejected with a code of the `smtp` catalogue; Unreached as long as the
        letter's end was not sent, since the server cannot have taken it; Unsure from then on until the server answers.
        """

    async def greet(self, mailbox: Mailbox) -> str | None:
        """Connect and log in without sending anything; None when that works, else what is wrong."""

    async def close(self) -> None:
        """Let go of every connection."""
