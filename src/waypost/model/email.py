"""A mailbox that we send from, and an email ready to send."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from waypost.model.ids import MailboxId, OrgId, Wamid
from waypost.model.time import Instant


class Security(StrEnum):
    """How a connection to the mail server is kept private."""

    TLS = "tls"
    """From the first byte (usually port 465)."""
    STARTTLS = "starttls"
    """Upgraded before anything is sent, or the connection is closed (usually port 587)."""
    NONE = "none"
    """Unencrypted: only for a server that needs no password."""


class Mailbox(msgspec.Struct, frozen=True, kw_only=True):
    """A connected mailbox with its password decrypted; never logged, never stored."""

    address: str
    """Used in the envelope and in `From`; bounces return here."""
    name: str = ""
    """Shown beside the address."""
    domain: str
    """The right-hand side of our Message-IDs, and our name in EHLO."""
    host: str
    port: int
    security: Security
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Mailbox({self.address})"


class MailAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A mailbox as it is stored; its password is sealed and only `Vault` can open it."""

    id: MailboxId
    org_id: OrgId
    address: str
    name: str
    domain: str
    host: str
    port: int
    security: Security
    username: str | None
    sealed_password: bytes | None
    enabled: bool
    created_at: Instant
    updated_at: Instant
    pace: int = 10
    """Emails per second."""


class Email(msgspec.Struct, frozen=True, kw_only=True):
    id: Wamid
    """Our Message-ID with its angle brackets; bounces and replies refer to it."""
    sender: str
    recipient: str
    content: bytes
    """Headers and body, seven-bit."""
