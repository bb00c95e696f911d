"""Secrets at rest."""

from __future__ import annotations

from typing import Protocol


class CannotOpen(Exception):
    """Sealed under another key, for another purpose, or damaged."""


class Vault(Protocol):
    def seal(self, secret: str, purpose: str) -> bytes:
        """Encrypt for storage; only the same purpose opens it."""

    def open(self, sealed: bytes, purpose: str) -> str:
        """Decrypt; raises CannotOpen."""

    def key_for(self, purpose: str) -> bytes:
        """32 bytes to sign with, the same in every process of the deployment, of no use for any other purpose."""
