"""Sending of emails."""

from __future__ import annotations

from typing import Protocol

from waypost.model.email import Email, Mailbox
from waypost.model.outcome import Outcome


class Mailer(Protocol):
    async def send(self, mailbox: Mailbox, email: Email) -> Outcome:
        """Send one email through the mailbox's server, once; never retries and never raises for a network fault.

        Accepted with the email's own id; ProviderRejected with a code of the `smtp` catalogue; Unreached if the end of
        the email was not sent, since the server cannot have accepted it; Unsure after that, if no answer came.
        """

    async def greet(self, mailbox: Mailbox) -> str | None:
        """Connect and log in without sending anything; None if that works, otherwise what is wrong."""

    async def close(self) -> None:
        """Close all connections."""
