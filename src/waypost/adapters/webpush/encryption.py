"""Encryption of a notification for one browser: RFC 8291, one record of RFC 8188's aes128gcm."""

from __future__ import annotations

import struct

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
SALT_BYTES = 16
RECORD = 4096
LARGEST = RECORD - 16 - 4 - 1 - 65 - 16 - 1
"""The largest notification in bytes: a body of 4096 less head, tag and delimiter."""
_LAST_RECORD = b"\x02"


def encrypt(
    plain: bytes,
    *,
    receiver: ec.EllipticCurvePublicKey,
    auth: bytes,
    ours: ec.EllipticCurvePrivateKey,
    salt: bytes,
    block: int = 1,
) -> bytes:
    """The body of a request. `ours` and `salt` are fresh each time; padding to `block` bytes hides the length."""
    sender = point(ours.public_key())
    shared = ours.exchange(ec.ECDH(), receiver)
    secret = _derived(shared, auth, b"WebPush: info\0" + point(receiver) + sender, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, plain + _LAST_RECORD + _padding(len(plain), block), None)
    return salt + struct.pack("!LB", RECORD, len(sender)) + sender + sealed


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _padding(size: int, block: int) -> bytes:
    return bytes(min(-size % block, LARGEST - size))


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)
