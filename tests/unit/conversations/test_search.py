"""Search words: folded alike on both sides, never syntax, and highlighted where they occur."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.conversations.search import (
    LONGEST_WORD,
    MOST_ASKED,
    SNIPPET,
    SearchTerms,
    Snippet,
    asked,
    searchable,
    snippet,
    words,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("Crème BRÛLÉE", ["creme", "brulee"]),
        ("cre\u0300me", ["creme"]),
        ("Straße", ["strasse"]),
        ("\uff37\uff29\uff24\uff25 \ufb01ne", ["wide", "fine"]),
        ("don\u00adt", ["dont"]),
        ("order-no. A_12/7", ["order", "no", "a", "12", "7"]),
        ("1.50 €", ["1", "50"]),
        ("\U0001f600 * \" ' - |", []),
        ("x" * 100, ["x" * LONGEST_WORD]),
    ],
)
def test_a_word_is_letters_and_digits_without_case_accent_or_width(text: str, folded: list[str]) -> None:
    assert words(text) == folded


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("late ord", SearchTerms(("late",), "ord")),
        ('"late" AND -ord*', SearchTerms(("and", "late"), "ord")),
        ("late late la", SearchTerms(("late",), "la")),
        ("***", None),
        ("", None),
    ],
)
def test_what_is_asked_are_words_of_which_the_last_is_a_beginning(query: str, wanted: SearchTerms | None) -> None:
    assert asked(query) == wanted


@pytest.mark.parametrize(
    ("last", "text", "found"),
    [
        ("a", "all of it", False),
        ("a", "vitamin A", True),
        ("7", "71 of them", False),
        ("7", "no. 7", True),
        ("al", "all of it", True),
        ("\u4f60", "\u4f60\u597d", True),
    ],
)
def test_a_single_letter_or_digit_is_a_whole_word_and_half_a_chinese_one_is_not(
    last: str, text: str, found: bool
) -> None:
    wanted = asked(last)
    assert wanted is not None
    assert (snippet(text, wanted) is not None) is found


def test_only_so_many_words_count() -> None:
    wanted = asked(" ".join(f"w{n}" for n in range(100)))
    assert wanted is not None
    assert len(wanted.words) + 1 == MOST_ASKED


def test_a_snippet_marks_every_word_that_was_found() -> None:
    text = "Your order is late; the Ordér (order no. 7) left."
    assert snippet(text, SearchTerms(("late",), "ord")) == Snippet(text, ((5, 10), (14, 18), (24, 29), (31, 36)))


def test_a_snippet_of_a_long_text_begins_at_a_word_before_the_first_that_was_found() -> None:
    text = "so much else " * 50 + "the needle " + "and more " * 50
    found = snippet(text, SearchTerms((), "needle"))
    assert found is not None
    assert found.text.startswith(("so ", "much ", "else ", "the "))
    assert [found.text[begin:end] for begin, end in found.marks] == ["needle"]
    assert len(found.text) == SNIPPET


@pytest.mark.parametrize(
    "wanted", [SearchTerms(("late",), "ord"), SearchTerms((), "rder"), SearchTerms(("ord",), "or")]
)
def test_a_text_that_does_not_say_it_has_no_snippet(wanted: SearchTerms) -> None:
    assert snippet("order", wanted) is None


@given(st.text())
def test_a_word_is_never_syntax(text: str) -> None:
    for word in words(text):
        assert word == "".join(word.split())
        assert not set(word) & set("\"'*|&!()<>:^+-\\\x00 _")
        assert 0 < len(word) <= LONGEST_WORD
        word.encode()


@given(st.text(max_size=300))
def test_whatever_was_written_is_found_by_itself_and_marked(text: str) -> None:
    wanted = asked(text)
    if wanted is None:
        return
    found = snippet(text, wanted)
    assert found is not None
    assert found.text in text
    assert found.marks
    for begin, end in found.marks:
        assert 0 <= begin < end <= len(found.text)


@given(st.text())
def test_folding_again_changes_nothing(text: str) -> None:
    assert searchable(" ".join(searchable(text))) == searchable(text)
