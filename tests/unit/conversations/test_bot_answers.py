"""A bot's answer becomes messages, a handover, silence, or a clear error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.model.turn import Handover, TurnMessage
from waypost.rules.content.content import LONGEST_TEXT
from waypost.rules.content.payload import check
from waypost.rules.conversations.bot_answers import (
    MOST_REPLIES,
    HandoverRequested,
    InvalidAnswer,
    Replies,
    Silence,
    message_text,
    parse_answer,
    parts,
)

QUOTED = {"message_id": "wamid.A"}
IMAGE = {"type": "image", "image": {"link": "https://example.com/cat.jpg"}}


def text(body: str, **beside: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}, **beside}


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("hello", Replies((text("hello"),))),
        ({"text": "hello"}, Replies((text("hello"),))),
        (text("hello"), Replies((text("hello"),))),
        (IMAGE, Replies((IMAGE,))),
        (["one", {"text": "two"}, IMAGE], Replies((text("one"), text("two"), IMAGE))),
        (("one", "two"), Replies((text("one"), text("two")))),
        (["one", "", None, " \n"], Replies((text("one"),))),
        ({"text": "hi", "context": QUOTED}, Replies((text("hi", context=QUOTED),))),
        (Handover("angry"), HandoverRequested("angry")),
        (Handover(), HandoverRequested("")),
        (Handover("a\0b \ud800"), HandoverRequested("a\ufffdb ?")),
        (Handover(5), HandoverRequested("5")),  # type: ignore[arg-type] # a careless bot
        (None, Silence()),
        ("", Silence()),
        (" \n", Silence()),
        ([], Silence()),
        ((), Silence()),
        ([""], Silence()),
        ({"text": ""}, Silence()),
    ],
)  # fmt: skip
def test_an_answer_is_understood(answer: object, meant: object) -> None:
    assert parse_answer(answer) == meant


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (5, "a bot returns a text, a message, a list of these, Handover or None, not int"),
        (b"hello", "a bot returns a text, a message, a list of these, Handover or None, not bytes"),
        ([5], "reply 1: must be a text or a message, not int"),
        (["one", Handover("x")], "reply 2: must be a text or a message, not Handover"),
        ([["nested"]], "reply 1: must be a text or a message, not list"),
        (
            {},
            'reply 1: type is required, e.g. {"type": "text", "text": {"body": "…"}}, or in short {"text": "…"}',
        ),
        (["one", {"type": "image", "image": {}}], "reply 2: image must have an id or a link"),
        ({"type": "text", "text": "hello"}, 'reply 1: text.body is required: {"type": "text", "text": {"body": "…"}}'),
        (
            "half \ud800",
            "reply 1: has a value that JSON cannot represent: an unpaired surrogate or an infinite number",
        ),
        ({"type": "image", "image": object()}, "reply 1: has a value that JSON cannot represent"),
        (["x"] * 11, "more than 10 replies in one turn"),
        ("word " * 20_000, "more than 10 replies in one turn"),
    ],
)
def test_a_mistake_is_named(answer: object, reason: str) -> None:
    assert parse_answer(answer) == InvalidAnswer(reason)


def test_a_long_text_is_cut_at_a_paragraph_else_a_sentence_else_a_space_else_anywhere() -> None:
    for end, start in (("a.\n\n", "b"), ("a.\n", "b"), ("a. ", "b"), ("a ", "b")):
        left = "x" * 3000 + end
        assert list(parts(left + start * 3000)) == [left.rstrip(), start * 3000], repr(end)
    assert list(parts("x" * 5000)) == ["x" * LONGEST_TEXT, "x" * (5000 - LONGEST_TEXT)]


def test_a_pause_that_comes_too_early_is_passed_over() -> None:
    """A short greeting is not a separate message."""
    first, _ = parts("Hi.\n\n" + "word " * 1000)
    assert len(first) > LONGEST_TEXT - 10


def test_a_long_text_keeps_what_stands_beside_it_and_quotes_once() -> None:
    long = {"type": "text", "text": {"body": "x" * 5000, "preview_url": True}, "context": QUOTED}
    answer = parse_answer(long)
    assert isinstance(answer, Replies)
    assert [("context" in each, each["text"]["preview_url"]) for each in answer.payloads] == [
        (True, True),
        (False, True),
    ]


def test_a_message_without_words_is_named_by_its_type() -> None:
    line = TurnMessage(sender="contact", type="image", text="", content={}, timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    assert message_text(line) == "[image]"


words = st.text(st.sampled_from("ab. \n?é🙂"), max_size=60).map(lambda some: some * 150)


@given(words)
@example("x" * 4096 + " ")
@example(" " * 5000)
@example("x" * 4095 + ". " + "y" * 4096)
def test_no_word_is_lost_and_no_part_is_too_long_or_empty(whole: str) -> None:
    made = list(parts(whole))
    assert "".join("".join(made).split()) == "".join(whole.split())
    assert all(len(part) <= LONGEST_TEXT and part.strip() for part in made)


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Handover, st.text()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | st.fixed_dictionaries({"text": inner})
        | st.fixed_dictionaries({"type": st.sampled_from(["text", "image"]), "text": inner, "image": inner})
    ),
    max_leaves=8,
)


@given(anything)
def test_whatever_a_bot_returns_is_understood_and_only_good_messages_pass(answer: Any) -> None:
    meant = parse_answer(answer)
    if isinstance(meant, Replies):
        assert 1 <= len(meant.payloads) <= MOST_REPLIES
        assert all(check(payload, None) is None for payload in meant.payloads)
