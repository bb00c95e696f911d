"""Which files may be uploaded, and the form that carries one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.content.media import LARGEST_OF_ALL, form_head, limit
from waypost.rules.text.json_validation import InvalidField

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("image/jpeg", 5 * MB),
        ("IMAGE/PNG", 5 * MB),
        ("image/webp", 500 * 1024),
        ("audio/ogg; codecs=opus", 16 * MB),
        ("video/mp4", 16 * MB),
        ("application/pdf", 100 * MB),
    ],
)
def test_each_type_has_its_largest_size(kind: str, most: int) -> None:
    assert limit(kind) == most <= LARGEST_OF_ALL


@pytest.mark.parametrize("kind", ["", "image/gif", "text/html", "application/octet-stream", "image/png; a=\r\nx: y"])
def test_another_type_is_refused(kind: str) -> None:
    assert isinstance(limit(kind), InvalidField)


@given(st.none() | st.text())
def test_no_file_name_can_break_out_of_the_form(name: str | None) -> None:
    head = form_head("image/png", name, "b0")
    assert head.isascii()
    assert head.count(b"\r\n") == 12
    assert head.count(b'"') == 8
    assert head.count(b"--b0") == 3 + (name or "")[-100:].count("--b0")
