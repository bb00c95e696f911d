"""Where a customer's file may be fetched from, whether it is the right one, and the outcome of an attempt."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import NumberId, OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, days, hours, seconds
from waypost.rules.receiving.media_fetch import (
    FetchAbandoned,
    FetchFailure,
    FetchLater,
    LinkOrigin,
    checksum,
    judge,
    kept_type,
    may_get_token,
    mismatched,
    too_large,
    wait_after,
)

NOW = Instant(1_760_000_000_000_000)
GRAPH = LinkOrigin("https", "graph.facebook.com", 443)
SANDBOX = LinkOrigin("http", "127.0.0.1", 8400)
DIGEST = hashlib.sha256(b"a cat")


def a_file(tries: int = 1, age: int = 0) -> MediaFile:
    return MediaFile(
        id=MediaId(1),
        org_id=OrgId("acme"),
        number=NumberId("1001"),
        conversation_id=ConversationId(1),
        position=Position(1),
        provider_id="77",
        mime_type="image/jpeg",
        told_sha256=None,
        filename=None,
        state=MediaState.PENDING,
        tries=tries,
        due_at=NOW,
        owner=None,
        created_at=Instant(NOW - age),
    )


@pytest.mark.parametrize(
    "link",
    [
        GRAPH,
        LinkOrigin("https", "lookaside.fbsbx.com", 443),
        LinkOrigin("https", "LOOKASIDE.FBSBX.COM", 443),
        LinkOrigin("https", "lookaside.fbsbx.com.", 443),
        LinkOrigin("https", "mmg.whatsapp.net", 443),
    ],
)
def test_the_token_goes_to_the_providers_own_hosts(link: LinkOrigin) -> None:
    assert may_get_token(link, GRAPH)


@pytest.mark.parametrize(
    "link",
    [
        LinkOrigin("http", "lookaside.fbsbx.com", 80),
        LinkOrigin("https", "lookaside.fbsbx.com", 8443),
        LinkOrigin("https", "fbsbx.com.evil.example", 443),
        LinkOrigin("https", "evilfbsbx.com", 443),
        LinkOrigin("https", "facebook.com.", 8443),
        LinkOrigin("http", "169.254.169.254", 80),
        LinkOrigin("http", "127.0.0.1", 80),
        LinkOrigin("https", "localhost", 443),
        LinkOrigin("https", "[::1]", 443),
        LinkOrigin("https", "10.0.0.7", 443),
        SANDBOX,
    ],
)
def test_the_token_goes_nowhere_else(link: LinkOrigin) -> None:
    assert not may_get_token(link, GRAPH)


@given(host=st.text(max_size=40), scheme=st.sampled_from(["http", "https"]), port=st.integers(1, 65535))
def test_whatever_is_not_under_the_providers_names_gets_no_token(host: str, scheme: str, port: int) -> None:
    allowed = may_get_token(LinkOrigin(scheme, host, port), GRAPH)
    name = host.lower().removesuffix(".")
    under = name in ("fbsbx.com", "facebook.com", "whatsapp.net") or name.endswith(
        (".fbsbx.com", ".facebook.com", ".whatsapp.net")
    )
    assert allowed == (under and scheme == "https" and port == 443)


def test_a_sandbox_gets_its_own_token_back_and_no_other_port_does() -> None:
    assert may_get_token(SANDBOX, SANDBOX)
    assert not may_get_token(SANDBOX._replace(port=8401), SANDBOX)
    assert not may_get_token(SANDBOX._replace(host="localhost"), SANDBOX)


def test_waits_double_from_a_second_to_an_hour() -> None:
    waits = [wait_after(tries, 0.0) for tries in range(1, 16)]
    assert waits[:4] == [seconds(1), seconds(2), seconds(4), seconds(8)]
    assert waits[-1] == hours(1)
    assert wait_after(10**9, 1.0) == round(hours(1) * 1.1)


def test_a_file_is_tried_again_while_the_provider_keeps_it() -> None:
    trouble = FetchFailure("HTTP 500")
    assert judge(trouble, a_file(tries=3), NOW, 0.0) == FetchLater(Instant(NOW + seconds(4)), "HTTP 500")
    assert judge(trouble, a_file(tries=99, age=days(7) - hours(2)), NOW, 0.0) == FetchLater(
        Instant(NOW + hours(1)), "HTTP 500"
    )
    last = judge(trouble, a_file(tries=99, age=days(7) - hours(1)), NOW, 0.0)
    assert last == FetchAbandoned("not fetched while the provider kept it: HTTP 500")


def test_what_is_hopeless_ends_at_once() -> None:
    assert judge(FetchFailure("gone", hopeless=True), a_file(), NOW, 0.0) == FetchAbandoned("gone")


def test_a_wrong_checksum_is_a_bad_copy_four_times_and_a_wrong_file_the_fifth() -> None:
    wrong = mismatched("00" * 32, DIGEST.hexdigest())
    assert wrong is not None
    ended = [isinstance(judge(wrong, a_file(tries), NOW, 0.0), FetchAbandoned) for tries in range(1, 6)]
    assert ended == [False, False, False, False, True]


def test_a_checksum_is_read_in_hex_and_in_base64() -> None:
    hexed = DIGEST.hexdigest()
    told = base64.b64encode(DIGEST.digest()).decode()
    assert checksum(hexed.upper()) == checksum(told) == hexed
    assert checksum(base64.urlsafe_b64encode(DIGEST.digest()).decode()) == hexed
    assert mismatched(hexed, told, hexed, None, "unreadable") is None


@given(st.one_of(st.none(), st.text(max_size=100)))
def test_what_is_no_checksum_is_no_claim(told: str | None) -> None:
    read = checksum(told)
    assert read is None or len(bytes.fromhex(read)) == 32


def test_a_file_above_the_limit_is_not_fetched() -> None:
    assert too_large(None, 10) is too_large(10, 10) is None
    assert too_large(11, 10) == FetchFailure("it has 11 bytes, at most 10 are allowed", hopeless=True)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("image/jpeg", "image/jpeg"),
        ("audio/ogg; codecs=opus", "audio/ogg"),
        ("Application/PDF", "application/pdf"),
        ("text/html", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("image/jpeg\r\nx: y", "application/octet-stream"),
    ],
)
def test_a_type_that_the_provider_does_not_document_is_only_bytes(told: str, kept: str) -> None:
    assert kept_type(told) == kept


def test_of_a_file_of_our_own_only_the_link_tells_the_type() -> None:
    assert kept_type("application/octet-stream", "image/png") == "image/png"
    assert kept_type("application/octet-stream", "text/html") == "application/octet-stream"
    assert kept_type("image/jpeg", "image/png") == "image/jpeg", "what the webhook told counts"
