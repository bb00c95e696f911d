"""What a quick reply may be called and say."""

from __future__ import annotations

import pytest

from waypost.rules.accounts.quick_replies import LONGEST_NAME, LONGEST_TEXT, check, folded
from waypost.rules.text.json_validation import InvalidField


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "Hello",
        "order-status",
        "größe",
        "👍",
        "👩\u200d🔧",
        "\u0645\u200c\u062e",
        "50%",
        "a?b#c",
        "x" * LONGEST_NAME,
    ],
)
def test_a_name_is_whatever_can_be_seen_and_typed_in_one_word(name: str) -> None:
    assert check(name, "Hello") is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty: write 1 to 40 characters"),
        ("x" * 41, "has 41 characters: write at most 40"),
        ("order status", "has white space: join its words with a dash"),
        ("a\u00a0b", "has white space"),
        ("a\n", "has white space"),
        ("/hello", "has a slash: leave it out"),
        ("a\0", "has an invisible character"),
        ("a\u202eb", "has an invisible character"),
        ("\u200b", "has an invisible character"),
        ("..", "must not be . or .."),
    ],
)
def test_a_name_that_cannot_be_taken_is_told_why_and_what_to_do(name: str, reason: str) -> None:
    found = check(name, "Hello")
    assert found is not None
    assert found.field == "name"
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty: write 1 to 4000 characters"),
        (" \n", "has only white space: write the text of the reply"),
        ("x" * (LONGEST_TEXT + 1), "has 4001 characters: write at most 4000"),
        ("a\0b", "has the character NUL, which cannot be stored: remove it"),
    ],
)
def test_a_text_that_cannot_be_taken_is_told_why_and_what_to_do(text: str, reason: str) -> None:
    assert check("hello", text) == InvalidField("text", reason)


def test_a_text_may_be_as_long_as_it_may() -> None:
    assert check("hello", "👍" * LONGEST_TEXT) is None


@pytest.mark.parametrize(
    ("one", "other"), [("Hello", "hELLO"), ("Größe", "GRÖSSE"), ("caf\u00e9", "CAFE\u0301"), ("ΣΑΣ", "σας")]
)
def test_names_that_differ_by_case_only_are_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_other_names_are_others() -> None:
    assert len({folded(name) for name in ("a", "b", "ä", "a-", "👍")}) == 5
