"""Which subscriptions are taken: where a notice may be sent, and whether the keys can be keys.

The address comes from a browser, so whoever may sign in could name one inside our network. Only push services are
called, by name and over TLS: their names are not the caller's to point elsewhere, and no address in digits is taken.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

import msgspec

from waypost.model.push import Subscription

PUSH_SERVICES = (
    "fcm.googleapis.com",  # Chrome and what is built on it
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
"""Nothing that two readers could read differently: no name and password, no backslash, no space, no capital host."""
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


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """Where this deployment sends notices."""

    local: bool = False
    """A laptop's: to any address, without TLS too."""
    services: tuple[str, ...] = PUSH_SERVICES
    """Domains; `*` is every public name, which trusts whoever may sign in with what those names stand for."""


class Address(NamedTuple):
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """Without a port that goes without saying, as RFC 6454 writes it."""
        usual = self.port == _PORTS[self.scheme]
        return f"{self.scheme}://{self.host}" if usual else f"{self.scheme}://{self.host}:{self.port}"


def address(endpoint: str) -> Address | None:
    found = _ENDPOINT.fullmatch(endpoint) if len(endpoint) <= LONGEST_ENDPOINT else None
    if found is None:
        return None
    port = int(found["port"] or _PORTS[found["scheme"]])
    return Address(found["scheme"], found["host"], port) if 0 < port < 65536 else None


def endpoint_fault(endpoint: str, reach: Reach) -> str | None:
    """Why nothing is sent there; None when it may be."""
    there = address(endpoint)
    if there is None:
        return "the endpoint is no plain web address"
    if reach.local:
        return None
    if there.scheme != "https" or there.port != 443:
        return "the endpoint must be https, on its usual port"
    if not is_public_name(there.host):
        return "the endpoint must be on a public host, by name"
    if ANY not in reach.services and not any(_under(there.host, domain) for domain in reach.services):
        return "the endpoint is on no push service that this server knows"
    return None


def is_public_name(host: str) -> bool:
    """A name with a dot that is not known to stand for something inside; what ends in a number is an address."""
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


def subscription_fault(subscription: Subscription, reach: Reach) -> str | None:
    """Why a subscription is not taken; None when it is. Whether the point is on its curve shows when it is used."""
    point, auth = decoded(subscription.p256dh), decoded(subscription.auth)
    if point is None or len(point) != POINT_BYTES or point[0] != 4:
        return f"p256dh must be an uncompressed point of P-256: {POINT_BYTES} bytes in base64url"
    if auth is None or len(auth) != AUTH_BYTES:
        return f"auth must be {AUTH_BYTES} bytes in base64url"
    return endpoint_fault(subscription.endpoint, reach)


def written(subscription: Subscription) -> str:
    """As it is stored: always the same text of the same subscription."""
    return msgspec.json.encode(subscription).decode()


def decoded(text: str) -> bytes | None:
    """Base64url, with its padding or without."""
    if not _BASE64.fullmatch(text):
        return None
    bare = text.rstrip("=")
    try:
        return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None


def is_contact(text: str) -> bool:
    """Whether a push service can reach the operator by it: `mailto:` or `https:`, with a name that has a dot."""
    return len(text) <= 300 and _CONTACT.fullmatch(text) is not None
