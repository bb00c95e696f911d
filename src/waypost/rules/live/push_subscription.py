"""Checks of push subscriptions: the endpoint and the keys.

The endpoint comes from a browser, so any user could name one inside our network. Only known push services are called,
by name and over TLS: a user cannot redirect their names, and IP addresses are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

import msgspec

from waypost.model.push import Subscription

PUSH_SERVICES = (
    "fcm.googleapis.com",  # Chrome and Chromium browsers
    "push.services.mozilla.com",  # Firefox
    "push.apple.com",  # Safari
    "notify.windows.com",  # Edge
)
ANY = "*"
LONGEST_ENDPOINT = 2048
POINT_BYTES = 65
AUTH_BYTES = 16

_ENDPOINT = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?",
    re.ASCII,
)
"""Nothing that two parsers could read differently: no credentials, no backslash, no space, no upper-case host."""
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_TOP = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9_-]{1,200}={0,2}", re.ASCII)
_CONTACT = re.compile(r"mailto:[^@\s<>]+@[^@\s<>]+\.[^@\s<>]+|https://[^\s<>/]+\.[^\s<>]+", re.ASCII)
_PORTS = {"https": 443, "http": 80}
_NOT_PUBLIC = frozenset(
    [
        "arpa",
        "corp",
        "example",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "onion",
        "private",
        "test",
    ]
)


class AllowedPushServices(msgspec.Struct, frozen=True, kw_only=True):
    """Where this deployment may send notifications."""

    local: bool = False
    """For development: any address, even without TLS."""
    services: tuple[str, ...] = PUSH_SERVICES
    """Domains; `*` allows every public name, and so trusts users not to name internal hosts."""


class PushEndpoint(NamedTuple):
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """Without the default port, as in RFC 6454."""
        usual = self.port == _PORTS[self.scheme]
        return f"{self.scheme}://{self.host}" if usual else f"{self.scheme}://{self.host}:{self.port}"


def address(endpoint: str) -> PushEndpoint | None:
    found = _ENDPOINT.fullmatch(endpoint) if len(endpoint) <= LONGEST_ENDPOINT else None
    if found is None:
        return None
    port = int(found["port"] or _PORTS[found["scheme"]])
    return PushEndpoint(found["scheme"], found["host"], port) if 0 < port < 65536 else None


def endpoint_fault(endpoint: str, reach: AllowedPushServices) -> str | None:
    """Why the endpoint is refused; None if it is allowed."""
    there = address(endpoint)
    if there is None:
        return "the endpoint is not a plain web address"
    if reach.local:
        return None
    if there.scheme != "https" or there.port != 443:
        return "the endpoint must be https, on port 443"
    if not is_public_name(there.host):
        return "the endpoint must be on a public host, by name"
    if ANY not in reach.services and not any(_under(there.host, domain) for domain in reach.services):
        return "the endpoint is not on a push service that this server allows"
    return None


def is_public_name(host: str) -> bool:
    """A name with a dot outside the reserved domains; a name that ends in a number is an IP address."""
    labels = host.removesuffix(".").split(".")
    return (
        len(labels) > 1
        and all(_LABEL.fullmatch(label) for label in labels)
        and _TOP.fullmatch(labels[-1]) is not None
        and labels[-1] not in _NOT_PUBLIC
    )


def _under(host: str, domain: str) -> bool:
    name = host.removesuffix(".")
    return name == domain or name.endswith(f".{domain}")


def subscription_fault(subscription: Subscription, reach: AllowedPushServices) -> str | None:
    """Why a subscription is refused; None if it is valid. Whether the point is on the curve is checked on use."""
    point, auth = decoded(subscription.p256dh), decoded(subscription.auth)
    if point is None or len(point) != POINT_BYTES or point[0] != 4:
        return f"p256dh must be an uncompressed point of P-256: {POINT_BYTES} bytes in base64url"
    if auth is None or len(auth) != AUTH_BYTES:
        return f"auth must be {AUTH_BYTES} bytes in base64url"
    return endpoint_fault(subscription.endpoint, reach)


def written(subscription: Subscription) -> str:
    """The stored form; equal subscriptions have equal texts."""
    return msgspec.json.encode(subscription).decode()


def decoded(text: str) -> bytes | None:
    """Decode base64url, with or without padding."""
    if not _BASE64.fullmatch(text):
        return None
    bare = text.rstrip("=")
    try:
        return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None


def is_contact(text: str) -> bool:
    """Whether it is a valid operator contact for push services: `mailto:` or `https:` with a dotted name."""
    return len(text) <= 300 and _CONTACT.fullmatch(text) is not None
