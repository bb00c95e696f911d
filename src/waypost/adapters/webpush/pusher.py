"""Sends a notification to a push service and interprets its answer."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from waypost.adapters.webpush.encryption import CURVE, LARGEST, SALT_BYTES, encrypt
from waypost.adapters.webpush.vapid import VapidKey, base64url, derived, vapid_key
from waypost.model.push import (
    Notification,
    PushDelivered,
    PushGone,
    PushRefused,
    PushResult,
    PushRetry,
    Subscription,
    Urgency,
)
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.http_transport import HttpReply, HttpTransport, TransportError
from waypost.rules.live.push_subscription import AllowedPushServices, address, decoded, endpoint_fault
from waypost.rules.text.retry_after import retry_after_seconds

TIMEOUT = 10.0
BLOCK = 512
"""Bytes: notifications are padded to a multiple of it, so that their length reveals little of the text."""
TOPIC_LENGTH = 32
"""RFC 8030's maximum."""
_LARGEST_ANSWER = 16 * 1024
_COME_AGAIN = frozenset({408, 425, 429})
_WRONG_KEY = frozenset({400, 401, 403})
"""Push services' answers to a key that the subscription was not made with."""
_LONGEST_WAIT = 86_400.0
_SHOWN = 200


class WebPusher:
    def __init__(
        self,
        transport: HttpTransport,
        clock: Clock,
        *,
        secret_key: str,
        former_key: str = "",
        contact: str,
        reach: AllowedPushServices,
        timeout: float = TIMEOUT,
    ) -> None:
        """With a former key, subscriptions made under it still work until the device subscribes again."""
        self._transport = transport
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
        self, to: Subscription, notification: Notification, *, keep: Span, urgency: Urgency = Urgency.NORMAL
    ) -> PushResult:
        fault = endpoint_fault(to.endpoint, self._reach)
        if fault is not None:
            return PushRefused(fault)
        plain = msgspec.json.encode(notification)
        if len(plain) > LARGEST:
            return PushRefused(f"the notification has {len(plain)} bytes, at most {LARGEST} are allowed")
        body = _sealed(plain, to)
        if body is None:
            return PushGone()
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(max(1, int(as_seconds(keep)))),  # Edge's service rejects 0
            "Urgency": urgency.value,
            "Topic": self._topic(to, notification),
        }
        return await self._sent(to, headers, body)

    async def _sent(self, to: Subscription, headers: Mapping[str, str], body: bytes) -> PushResult:
        """Try the current key, then the former one if the push service refuses the first."""
        result: PushResult = PushRefused("no key")
        for key in self._keys:
            try:
                reply = await self._post(to, headers, body, key)
            except TransportError as error:
                return PushRetry(f"the push service: {error}")
            result = push_result(reply)
            if reply.status not in _WRONG_KEY:
                break
        return result

    async def _post(self, to: Subscription, headers: Mapping[str, str], body: bytes, key: VapidKey) -> HttpReply:
        there = address(to.endpoint)
        origin = there.origin if there else ""
        return await self._transport.request(
            "POST",
            to.endpoint,
            headers={**headers, "Authorization": key.authorization(origin, self._contact, self._clock.now())},
            body=body,
            timeout=self._timeout,
            limit=_LARGEST_ANSWER,
        )

    def _topic(self, to: Subscription, notification: Notification) -> str:
        """One per device and conversation, so that a new notification replaces a queued one; it reveals neither."""
        about = f"{to.endpoint}\0{notification.conversation_id}".encode()
        return base64url(hmac.new(self._topics, about, hashlib.sha256).digest())[:TOPIC_LENGTH]


def _sealed(plain: bytes, to: Subscription) -> bytes | None:
    """None if the device's keys are invalid."""
    auth, point = decoded(to.auth), decoded(to.p256dh)
    if auth is None or point is None:
        return None
    try:
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)
    except ValueError:
        return None
    fresh = ec.generate_private_key(CURVE)
    return encrypt(plain, receiver=receiver, auth=auth, ours=fresh, salt=os.urandom(SALT_BYTES), block=BLOCK)


def push_result(reply: HttpReply) -> PushResult:
    """Redirects are not followed: they could lead to an address that `endpoint_fault` rejects."""
    status = reply.status
    if 200 <= status < 300:
        return PushDelivered()
    if status in (404, 410):
        return PushGone()
    if status in _COME_AGAIN or status >= 500:
        asked = retry_after_seconds(reply.headers.get("retry-after"))
        wait = None if asked is None else seconds(min(asked, _LONGEST_WAIT))
        return PushRetry(f"the push service answered HTTP {status}", wait)
    reason = reply.headers.get("x-wns-error-description") or reply.body.decode("utf-8", "replace")
    words = " ".join(reason.split())[:_SHOWN]
    return PushRefused(f"the push service answered HTTP {status}" + (f": {words}" if words else ""))
