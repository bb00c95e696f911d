"""One request to a push service, and what its answer means."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from waypost.adapters.webpush.encryption import CURVE, LARGEST, SALT_BYTES, encrypt
from waypost.adapters.webpush.vapid import VapidKey, base64url, derived, vapid_key
from waypost.model.push import Delivered, Gone, Later, Notice, Refused, Result, Subscription, Urgency
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.clock import Clock
from waypost.ports.wire import Reply, Wire, WireError
from waypost.rules.push_subscription import Reach, address, decoded, endpoint_fault
from waypost.rules.retry_after import seconds_told

TIMEOUT = 10.0
BLOCK = 512
"""Bytes: notices are as long as the next multiple, so that a length tells little of a text."""
TOPIC_LENGTH = 32
"""The most that RFC 8030 allows."""
_LARGEST_ANSWER = 16 * 1024
_COME_AGAIN = frozenset({408, 425, 429})
_WRONG_KEY = frozenset({400, 401, 403})
"""What push services say to a key that the subscription was not made with."""
_LONGEST_WAIT = 86_400.0
_SHOWN = 200


class WebPusher:
    def __init__(
        self,
        wire: Wire,
        clock: Clock,
        *,
        secret_key: str,
        former_key: str = "",
        contact: str,
        reach: Reach,
        timeout: float = TIMEOUT,
    ) -> None:
        """With a former key, whoever subscribed under it is reached still, until they come back and subscribe anew."""
        self._wire = wire
        self._clock = clock
        self._keys = tuple(vapid_key(key) for key in (secret_key, former_key) if key)
        self._topics = derived(secret_key, "web push topics", 32)
        self._contact = contact
        self._reach = reach
        self._timeout = timeout

    @property
    def public_key(self) -> str:
        return self._keys[0].public

    async def deliver(
        self, to: Subscription, notice: Notice, *, keep: Span, urgency: Urgency = Urgency.NORMAL
    ) -> Result:
        fault = endpoint_fault(to.endpoint, self._reach)
        if fault is not None:
            return Refused(fault)
        plain = msgspec.json.encode(notice)
        if len(plain) > LARGEST:
            return Refused(f"the notice has {len(plain)} bytes, at most {LARGEST} are taken")
        body = _sealed(plain, to)
        if body is None:
            return Gone()
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(max(1, int(as_seconds(keep)))),  # Edge's service takes no 0
            "Urgency": urgency.value,
            "Topic": self._topic(to, notice),
        }
        return await self._sent(to, headers, body)

    async def _sent(self, to: Subscription, headers: Mapping[str, str], body: bytes) -> Result:
        """With the key of today, and once more with the former one where the push service does not take it."""
        result: Result = Refused("no key")
        for key in self._keys:
            try:
                reply = await self._post(to, headers, body, key)
            except WireError as error:
                return Later(f"the push service: {error}")
            result = understood(reply)
            if reply.status not in _WRONG_KEY:
                break
        return result

    async def _post(self, to: Subscription, headers: Mapping[str, str], body: bytes, key: VapidKey) -> Reply:
        there = address(to.endpoint)
        origin = there.origin if there else ""
        return await self._wire.request(
            "POST",
            to.endpoint,
            headers={**headers, "Authorization": key.authorization(origin, self._contact, self._clock.now())},
            body=body,
            timeout=self._timeout,
            limit=_LARGEST_ANSWER,
        )

    def _topic(self, to: Subscription, notice: Notice) -> str:
        """One per device and conversation, so that a later notice replaces one that still waits; it names neither."""
        about = f"{to.endpoint}\0{notice.conversation_id}".encode()
        return base64url(hmac.new(self._topics, about, hashlib.sha256).digest())[:TOPIC_LENGTH]


def _sealed(plain: bytes, to: Subscription) -> bytes | None:
    """None when the device's keys are none."""
    auth, point = decoded(to.auth), decoded(to.p256dh)
    if auth is None or point is None:
        return None
    try:
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)
    except ValueError:
        return None
    fresh = ec.generate_private_key(CURVE)
    return encrypt(plain, receiver=receiver, auth=auth, ours=fresh, salt=os.urandom(SALT_BYTES), block=BLOCK)


def understood(reply: Reply) -> Result:
    """A redirect is followed nowhere: it could lead to where `endpoint_fault` would not."""
    status = reply.status
    if 200 <= status < 300:
        return Delivered()
    if status in (404, 410):
        return Gone()
    if status in _COME_AGAIN or status >= 500:
        asked = seconds_told(reply.headers.get("retry-after"))
        wait = None if asked is None else seconds(min(asked, _LONGEST_WAIT))
        return Later(f"the push service answered HTTP {status}", wait)
    told = reply.headers.get("x-wns-error-description") or reply.body.decode("utf-8", "replace")
    words = " ".join(told.split())[:_SHOWN]
    return Refused(f"the push service answered HTTP {status}" + (f": {words}" if words else ""))
