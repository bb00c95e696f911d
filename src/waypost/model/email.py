"""A mailbox that we send from, and one letter, ready to go."""

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
    """Upgraded before anything is said, or given up (usually port 587)."""
    NONE = "none"
    """In the clear: only for a server that asks for no password."""


class Mailbox(msgspec.Struct, frozen=True, kw_only=True):
    """A connected mailbox with its secrets opened; never logged, never stored."""

    address: str
    """In the envelope and in `From`: bounces come back here."""
    name: str = ""
    """Shown beside the address."""
    domain: str
    """The right-hand side of our Message-IDs, and who we say we are."""
    host: str
    port: int
    security: Security
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Mailbox({self.address})"


class MailAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A mailbox as it is stored; its password is sealed and only `Vault` opens it."""

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
    """Letters per second."""


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    id: Wamid
    """Our Message-ID, with its angle brackets: what a bounce or a reply refers to."""
    sender: str
    recipient: str
    content: bytes
    """Headers and body, seven-bit."""
