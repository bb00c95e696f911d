"""Encryption of stored secrets."""

from __future__ import annotations

from typing import Protocol


class UnsealError(Exception):
    """Sealed under another key, for another purpose, or damaged."""


class Vault(Protocol):
    def seal(self, secret: str, purpose: str) -> bytes:
        """Encrypt for storage; only the same purpose can open it."""

    def open(self, sealed: bytes, purpose: str) -> str:
        """Decrypt; raises UnsealError."""

    def key_for(self, purpose: str) -> bytes:
        """A 32-byte signing key for one purpose, the same in every process of the deployment."""
