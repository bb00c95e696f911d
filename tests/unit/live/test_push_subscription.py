"""Where a notification may be sent, which keys are accepted, and which contacts are valid."""

from __future__ import annotations

import base64
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.push import Subscription
from waypost.rules.live.push_subscription import (
    AllowedPushServices,
    address,
    decoded,
    endpoint_fault,
    is_contact,
    is_public_name,
    subscription_fault,
)

STRICT, ANYWHERE, LOCAL = AllowedPushServices(), AllowedPushServices(services=("*",)), AllowedPushServices(local=True)

REAL = [
    "https://fcm.googleapis.com/fcm/send/dQw4w9WgXcQ:APA91bH-_x",
    "https://fcm.googleapis.com/wp/dQw4:APA91bH",
    "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABl",
    "https://web.push.apple.com/QGuQyavXutnMH",
    "https://wns2-par02p.notify.windows.com/w/?token=BQYAAAA%2bO3U%2f6Q%3d",
    "https://fcm.googleapis.com:443/x",
    "https://fcm.googleapis.com./x",
]


@pytest.mark.parametrize("endpoint", REAL)
def test_the_push_services_of_browsers_are_called(endpoint: str) -> None:
    for reach in (STRICT, ANYWHERE, LOCAL):
        assert endpoint_fault(endpoint, reach) is None


NO_ADDRESS = "the endpoint is not a plain web address"
NO_TLS = "the endpoint must be https, on port 443"
INSIDE = "the endpoint must be on a public host, by name"
UNKNOWN = "the endpoint is not on a push service that this server allows"

REFUSED = [
    ("http://fcm.googleapis.com/x", NO_TLS),
    ("https://fcm.googleapis.com:8443/x", NO_TLS),
    ("https://fcm.googleapis.com:22/x", NO_TLS),
    ("https://127.0.0.1/x", INSIDE),
    ("https://10.0.0.7/x", INSIDE),
    ("https://169.254.169.254/latest/meta-data", INSIDE),
    ("https://8.8.8.8/x", INSIDE),
    ("https://2130706433/x", INSIDE),
    ("https://127.1/x", INSIDE),
    ("https://0x7f.0.0.1/x", INSIDE),
    ("https://fcm.googleapis.com.127.0.0.1/x", INSIDE),
    ("https://fcm.googleapis.com.0x7f/x", INSIDE),
    ("https://[::1]/x", INSIDE),
    ("https://[::ffff:127.0.0.1]/x", INSIDE),
    ("https://[fe80::1]/x", INSIDE),
    ("https://localhost/x", INSIDE),
    ("https://localhost./x", INSIDE),
    ("https://app.localhost/x", INSIDE),
    ("https://redis/x", INSIDE),
    ("https://vault.internal/x", INSIDE),
    ("https://metadata.google.internal/x", INSIDE),
    ("https://printer.local/x", INSIDE),
    ("https://router.home.arpa/x", INSIDE),
    ("https://a..com/x", INSIDE),
    ("https://-a.com/x", INSIDE),
    ("https://.com/x", INSIDE),
    ("ftp://fcm.googleapis.com/x", NO_ADDRESS),
    ("file:///etc/passwd", NO_ADDRESS),
    ("//fcm.googleapis.com/x", NO_ADDRESS),
    ("https:fcm.googleapis.com/x", NO_ADDRESS),
    ("https://fcm.googleapis.com@127.0.0.1/x", NO_ADDRESS),
    ("https://user:pass@fcm.googleapis.com/x", NO_ADDRESS),
    ("https://127.0.0.1#@fcm.googleapis.com/x", NO_ADDRESS),
    ("https://127.0.0.1\\@fcm.googleapis.com/x", NO_ADDRESS),
    ("https://127.0.0.1?@fcm.googleapis.com/x", NO_ADDRESS),
    ("https://fcm.googleapis.com/x y", NO_ADDRESS),
    ("https://fcm.googleapis.com/x\r\nx: y", NO_ADDRESS),
    ("https://fcm.googleapis.com/x\n", NO_ADDRESS),
    ("https://fcm.googleapis.com:99999/x", NO_ADDRESS),
    ("https://fcm.googleapis.com:0/x", NO_ADDRESS),
    ("https://fcm.googleapis.com:/x", NO_ADDRESS),
    ("https://fcm。googleapis。com/x", NO_ADDRESS),
    ("https://①②⑦.0.0.1/x", NO_ADDRESS),
    ("https://fcm.googleapis.com/" + "x" * 2048, NO_ADDRESS),
    ("", NO_ADDRESS),
]


@pytest.mark.parametrize(("endpoint", "fault"), REFUSED)
def test_nothing_else_is_called_not_even_where_every_public_name_is(endpoint: str, fault: str) -> None:
    assert endpoint_fault(endpoint, STRICT) == endpoint_fault(endpoint, ANYWHERE) == fault


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://vault.acme.com/v1/secret",  # a public name that may resolve to a private address
        "https://127.0.0.1.nip.io/x",
        "https://evilfcm.googleapis.com/x",
        "https://storage.googleapis.com/x",
        "https://fcm.googleapis.com.evil.net/x",
        "https://push.acme.com/x",
    ],
)
def test_a_name_that_is_no_push_services_is_called_only_where_the_operator_says_so(endpoint: str) -> None:
    assert endpoint_fault(endpoint, STRICT) == UNKNOWN
    assert endpoint_fault(endpoint, ANYWHERE) is None


def test_an_operator_adds_a_push_service() -> None:
    reach = AllowedPushServices(services=("push.acme.com",))
    assert endpoint_fault("https://push.acme.com/x", reach) is None
    assert endpoint_fault("https://eu.push.acme.com/x", reach) is None
    assert endpoint_fault("https://acme.com/x", reach) == UNKNOWN


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9000/push/1", "http://localhost/x", "http://[::1]:9000/"])
def test_a_laptop_may_call_itself(endpoint: str) -> None:
    assert endpoint_fault(endpoint, LOCAL) is None


@given(st.ip_addresses())
def test_no_address_in_digits_is_a_public_name(literal: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert not is_public_name(str(literal))
    assert not is_public_name(f"[{literal}]")


@given(st.text(max_size=60))
def test_whatever_stands_before_it_only_a_push_services_host_is_called(host: str) -> None:
    endpoint = f"https://{host}/x"
    if endpoint_fault(endpoint, STRICT) is None:
        there = address(endpoint)
        assert there is not None
        name = there.host.removesuffix(".")
        assert any(name == each or name.endswith(f".{each}") for each in STRICT.services)


@pytest.mark.parametrize(
    ("endpoint", "origin"),
    [
        ("https://push.example.net/push/1", "https://push.example.net"),
        ("https://push.example.net:443/push/1", "https://push.example.net"),
        ("https://push.example.net", "https://push.example.net"),
        ("http://127.0.0.1:9000/push/1", "http://127.0.0.1:9000"),
    ],
)
def test_the_origin_that_we_sign_for(endpoint: str, origin: str) -> None:
    there = address(endpoint)
    assert there is not None
    assert there.origin == origin


def in_base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


POINT, AUTH = in_base64(b"\x04" + b"k" * 64), in_base64(b"a" * 16)


@pytest.mark.parametrize(
    ("p256dh", "auth", "word"),
    [
        (POINT, AUTH, None),
        (POINT.rstrip("="), AUTH.rstrip("="), None),
        (in_base64(b"\x04" + b"k" * 63), AUTH, "p256dh"),
        (in_base64(b"\x02" + b"k" * 32), AUTH, "p256dh"),
        (in_base64(b"\x05" + b"k" * 64), AUTH, "p256dh"),
        ("", AUTH, "p256dh"),
        ("not base64!", AUTH, "p256dh"),
        ("A" * 100_000, AUTH, "p256dh"),
        (POINT, in_base64(b"a" * 15), "auth"),
        (POINT, "", "auth"),
        (POINT, "ü", "auth"),
    ],
)
def test_keys_have_the_shape_of_keys(p256dh: str, auth: str, word: str | None) -> None:
    fault = subscription_fault(Subscription(REAL[0], p256dh, auth), STRICT)
    assert fault is None if word is None else (fault or "").startswith(word)


def test_a_subscription_to_a_wrong_place_is_not_taken() -> None:
    assert subscription_fault(Subscription("https://10.0.0.7/x", POINT, AUTH), STRICT) == INSIDE


@given(st.binary(min_size=1, max_size=100))
def test_base64url_is_read_with_its_padding_and_without(raw: bytes) -> None:
    assert decoded(in_base64(raw)) == decoded(in_base64(raw).rstrip("=")) == raw


@given(st.text(max_size=30))
def test_what_is_no_base64url_is_nothing(text: str) -> None:
    assert decoded(text) is None or text.isascii()


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("mailto:ops@acme.com", True),
        ("https://acme.com/contact", True),
        ("mailto:ops@localhost", False),
        ("mailto:", False),
        ("ops@acme.com", False),
        ("http://acme.com", False),
        ("https://localhost", False),
        ("mailto:ops@acme.com\nx", False),
        ("", False),
    ],
)
def test_a_contact_is_a_mail_address_or_a_page(text: str, good: bool) -> None:
    assert is_contact(text) is good
