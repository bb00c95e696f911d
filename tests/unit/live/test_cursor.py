"""A cursor works for its user, for one list, until it expires; anything else is treated as forged."""

from __future__ import annotations

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from waypost.model.time import Instant, Span, from_unix, seconds
from waypost.rules.live.cursor import LONGEST, CursorExpired, CursorInvalid, CursorPosition, made, read

KEY = b"a key of thirty-two bytes, or so"
NOW = from_unix(1_760_000_000)
BOUND = {"org": "acme", "whose": "user:7", "list": "messages of 12"}
PLACE = CursorPosition(41, 7, NOW)
TEXT = made(PLACE, BOUND, KEY)
numbers = st.integers(-(2**63), 2**63 - 1)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def test_a_cursor_reads_as_what_it_was_made_from_and_fits_in_a_query() -> None:
    assert read(TEXT, BOUND, KEY, NOW, None) == PLACE
    assert set(TEXT) <= set(ALPHABET)


@given(numbers, numbers, numbers)
def test_whatever_place_there_is_can_be_gone_back_to(first: int, second: int, at: int) -> None:
    place = CursorPosition(first, second, Instant(at))
    text = made(place, BOUND, KEY)
    assert len(text) <= LONGEST
    assert read(text, BOUND, KEY, NOW, None) == place


@given(st.data())
def test_one_changed_character_makes_it_forged(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT) - 1))
    other = data.draw(st.sampled_from(ALPHABET))
    changed = TEXT[:at] + other + TEXT[at + 1 :]
    assume(_bytes(changed) != _bytes(TEXT))  # the last character has unused bits
    assert read(changed, BOUND, KEY, NOW, None) == CursorInvalid()


@given(st.text(max_size=80))
def test_any_other_text_is_forged(text: str) -> None:
    assume(text.rstrip("=") != TEXT)
    assert read(text, BOUND, KEY, NOW, None) == CursorInvalid()


@given(st.integers(0, len(TEXT) - 1), st.text(ALPHABET, max_size=4))
def test_a_cursor_cut_or_continued_is_forged(length: int, more: str) -> None:
    assert read(TEXT[:length], BOUND, KEY, NOW, None) == CursorInvalid()
    assume(more)
    assert read(TEXT + more, BOUND, KEY, NOW, None) == CursorInvalid()


@given(st.binary(max_size=64))
def test_bytes_that_nobody_signed_are_forged(content: bytes) -> None:
    text = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
    assert read(text, BOUND, KEY, NOW, None) == CursorInvalid()


@pytest.mark.parametrize("changed", [{"org": "globex"}, {"whose": "user:8"}, {"list": "messages of 13"}, {"more": ""}])
def test_a_cursor_of_somebody_else_or_of_another_list_is_forged(changed: dict[str, str]) -> None:
    assert read(TEXT, BOUND | changed, KEY, NOW, None) == CursorInvalid()


def test_what_a_cursor_is_bound_to_cannot_be_moved_between_names() -> None:
    one, other = {"org": "a", "whose": "bc"}, {"org": "ab", "whose": "c"}
    assert read(made(PLACE, one, KEY), other, KEY, NOW, None) == CursorInvalid()


def test_a_cursor_under_another_key_is_forged() -> None:
    assert read(TEXT, BOUND, KEY[::-1], NOW, None) == CursorInvalid()


def test_what_is_too_long_to_be_ours_is_not_even_decoded() -> None:
    assert read("A" * (LONGEST + 1), BOUND, KEY, NOW, None) == CursorInvalid()


@pytest.mark.parametrize(
    ("age", "lifetime", "found"),
    [
        (seconds(60), seconds(60), PLACE),
        (Span(seconds(60) + 1), seconds(60), CursorExpired()),
        (seconds(10**9), None, PLACE),
        (seconds(-5), seconds(60), PLACE),  # made by a server whose clock is ahead
    ],
)
def test_a_cursor_expires_only_where_a_lifetime_is_set(age: Span, lifetime: Span | None, found: object) -> None:
    assert read(TEXT, BOUND, KEY, Instant(NOW + age), lifetime) == found


def test_a_forged_cursor_is_forged_however_old_it_claims_to_be() -> None:
    old = made(CursorPosition(41, 7, Instant(0)), BOUND | {"org": "globex"}, KEY)
    assert read(old, BOUND, KEY, NOW, seconds(1)) == CursorInvalid()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
