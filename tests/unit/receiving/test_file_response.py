"""A stranger's file is served in a way that can do no harm."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.receiving.file_response import (
    BYTES,
    LONGEST_NAME,
    ByteRange,
    UnsatisfiableRange,
    disposition,
    file_name,
    has_tag,
    part_of,
    served_type,
    shown_inline,
)


@pytest.mark.parametrize(
    ("kept", "served", "inline"),
    [
        ("image/jpeg", "image/jpeg", True),
        ("image/webp", "image/webp", True),
        ("audio/ogg; codecs=opus", "audio/ogg", True),
        ("video/3gpp", "video/3gpp", True),
        ("application/pdf", "application/pdf", False),
        ("image/svg+xml", BYTES, False),
        ("text/html", BYTES, False),
        ("text/plain", BYTES, False),
        ("application/xhtml+xml", BYTES, False),
        ("text/javascript", BYTES, False),
        ("", BYTES, False),
        ("audio/x\r\nset-cookie: a=b", BYTES, False),
    ],
)
def test_only_what_runs_nothing_keeps_its_type(kept: str, served: str, inline: bool) -> None:
    assert (served_type(kept), shown_inline(served)) == (served, inline)


@given(st.text(max_size=80))
def test_no_type_is_served_that_a_browser_would_run(kept: str) -> None:
    served = served_type(kept)
    assert served == BYTES or re.fullmatch(
        r"(image/(jpeg|png|webp|gif)|application/pdf|(audio|video)/[a-z0-9.+-]+)", served
    )


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\system.ini", "system.ini"),
        ("Größe ☃.pdf", "Größe ☃.pdf"),
        ("a\r\nset-cookie: x.pdf", "aset-cookie_ x.pdf"),
        ("\u202efdp.exe", "fdp.exe"),
        ("..", "media-7.jpg"),
        ("", "media-7.jpg"),
        (None, "media-7.jpg"),
        (".bashrc", "bashrc"),
        ("x" * 500 + ".jpeg", "x" * (LONGEST_NAME - 5) + ".jpeg"),
    ],
)
def test_a_customers_name_becomes_a_plain_file_name(given_name: str | None, name: str) -> None:
    assert file_name(given_name, 7, "image/jpeg") == name


@given(st.text(max_size=300), st.booleans())
def test_no_name_breaks_its_header_or_leaves_its_folder(given_name: str, inline: bool) -> None:
    name = file_name(given_name, 7, BYTES)
    assert 0 < len(name) <= LONGEST_NAME
    assert not set(name) & set('/\\"\r\n\0<>:|?*')
    assert name not in (".", "..")
    header = disposition(name, inline=inline)
    assert header.isascii()
    assert header.isprintable()
    found = re.fullmatch(
        r"""(inline|attachment); filename="([^"\\]*)"; filename\*=UTF-8''([!#$&+.^_`|~\w%-]*)""", header
    )
    assert found
    assert unquote(found.group(3)) == name.encode("utf-8", "replace").decode()


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-3", ByteRange(0, 3)),
        ("bytes=4-", ByteRange(4, 9)),
        ("bytes=-3", ByteRange(7, 9)),
        ("bytes=-30", ByteRange(0, 9)),
        ("bytes=8-99", ByteRange(8, 9)),
        ("bytes=10-", UnsatisfiableRange()),
        ("bytes=-0", UnsatisfiableRange()),
        ("bytes=3-1", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("bytes=a-b", None),
        ("items=0-1", None),
        ("", None),
    ],
)
def test_one_part_of_ten_bytes(asked: str, part: ByteRange | UnsatisfiableRange | None) -> None:
    assert part_of(asked, 10) == part


@given(st.from_regex(r"bytes=\d{0,18}-\d{0,18}", fullmatch=True), st.integers(0, 10**9))
def test_a_part_is_always_inside_the_file(asked: str, size: int) -> None:
    part = part_of(asked, size)
    if isinstance(part, ByteRange):
        assert 0 <= part.first <= part.last < size


def test_a_tag_is_found_among_several() -> None:
    assert has_tag('"a", W/"b"', '"b"')
    assert has_tag("*", '"b"')
    assert not has_tag(None, '"b"')
    assert not has_tag('"a"', '"b"')
