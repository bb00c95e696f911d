"""Identification to push services: RFC 8292, with a key that every process derives from the deployment's secret."""

from __future__ import annotations

import base64

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from waypost.adapters.webpush.encryption import CURVE, point
from waypost.model.time import Instant, Span, hours

VALID: Span = hours(12)
"""A push service accepts at most 24 hours, and its clock may differ."""
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of P-256: a private key is a number below it."""
_HEAD = {"typ": "JWT", "alg": "ES256"}


class VapidKey:
    """Subscriptions are bound to its public key: this key cannot reach subscriptions made with another."""

    def __init__(self, private: ec.EllipticCurvePrivateKey) -> None:
        self._private = private
        self.public = base64url(point(private.public_key()))

    def authorization(self, origin: str, contact: str, now: Instant) -> str:
        """The header for one push service; it is not valid at any other."""
        claims = {"aud": origin, "exp": (now + VALID) // 1_000_000, "sub": contact}
        signed = ".".join(base64url(msgspec.json.encode(part)) for part in (_HEAD, claims))
        return f"vapid t={signed}.{base64url(self._signature(signed.encode()))}, k={self.public}"

    def _signature(self, signed: bytes) -> bytes:
        """In the form of JWS: two numbers of 32 bytes, not the library's DER."""
        r, s = decode_dss_signature(self._private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def vapid_key(secret_key: str) -> VapidKey:
    """Deterministic for a secret; 16 extra bytes make the modulo bias negligible."""
    number = int.from_bytes(derived(secret_key, "web push identity", 48), "big") % (_ORDER - 1) + 1
    return VapidKey(ec.derive_private_key(number, CURVE))


def public_key(secret_key: str) -> str:
    """The `applicationServerKey` that browsers subscribe with."""
    return vapid_key(secret_key).public


def derived(secret_key: str, purpose: str, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=f"waypost {purpose} 1".encode()).derive(
        secret_key.encode()
    )


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
