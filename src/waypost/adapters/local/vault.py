"""Secrets sealed with AES-256-GCM under one key, each bound to its purpose."""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from waypost.ports.platform.vault import UnsealError

_NONCE = 12
_FORMAT = b"\x01"


class AesVault:
    def __init__(self, secret_key: str, former_key: str = "") -> None:
        """Secrets sealed under the former key can still be opened; new ones are sealed under the current key."""
        self._secret = secret_key
        self._aead = _cipher(secret_key)
        self._former = _cipher(former_key) if former_key else None

    def seal(self, secret: str, purpose: str) -> bytes:
        nonce = os.urandom(_NONCE)
        return _FORMAT + nonce + self._aead.encrypt(nonce, secret.encode(), purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> str:
        if sealed[:1] != _FORMAT:
            raise UnsealError("sealed in a format that this version does not know")
        for cipher in (self._aead, self._former):
            opened = _opened(cipher, sealed, purpose) if cipher else None
            if opened is not None:
                return opened
        raise UnsealError("sealed under another WAYPOST_SECRET_KEY, or damaged")

    def key_for(self, purpose: str) -> bytes:
        return hmac.digest(self._secret.encode(), b"waypost key\0" + purpose.encode(), hashlib.sha256)


def _cipher(key: str) -> AESGCM:
    return AESGCM(hashlib.sha256(b"waypost vault\0" + key.encode()).digest())


def _opened(cipher: AESGCM, sealed: bytes, purpose: str) -> str | None:
    nonce, box = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
    try:
        return cipher.decrypt(nonce, box, purpose.encode()).decode()
    except (InvalidTag, ValueError):  # ValueError: truncated within the nonce
        return None
