"""Users' content is read, stored and shown again; a refusal names its field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.message import Status
from waypost.model.time import Instant, from_unix
from waypost.rules.conversations.chat_content import LONGEST_TEXT, PostContent, note, read, shown, words
from waypost.rules.conversations.chat_status import chat_status
from waypost.rules.text.json_validation import InvalidField

NOW = from_unix(1_760_000_000)
A_TEXT = {"type": "text", "text": {"body": "Hello"}}


def entry(written: PostContent, deleted_at: Instant | None = None) -> Entry:
    return Entry(
        conversation_id=ConversationId(1),
        position=Position(1),
        id_at=NOW,
        at=NOW,
        sender="user:7",
        type=written.type,
        body=msgspec.json.encode(written.body).decode(),
        deleted_at=deleted_at,
    )


@pytest.mark.parametrize("with_customer", [True, False])
@pytest.mark.parametrize("content", [{"type": "text", "text": "Hello"}, A_TEXT, A_TEXT | {"sent_by": "me"}])
def test_a_text_in_either_form_is_the_same_text(content: dict[str, Any], with_customer: bool) -> None:
    written = read(content, with_customer=with_customer)
    assert written == PostContent(type="text", body=A_TEXT)
    assert shown(entry(written)) == {"type": "text", "text": "Hello"}
    assert words(entry(written)) == "Hello"


def test_a_text_may_answer_another() -> None:
    written = read({"type": "text", "text": "Yes", "context": {"message_id": "wamid.1"}}, with_customer=True)
    assert isinstance(written, PostContent)
    assert written.body["context"] == {"message_id": "wamid.1"}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (None, "content"),
        ("Hello", "content"),
        ([A_TEXT], "content"),
        ({}, "content"),
        ({"type": 7}, "content"),
        ({"type": "text"}, "content.text"),
        ({"type": "text", "text": ""}, "content.text"),
        ({"type": "text", "text": " \n\t"}, "content.text"),
        ({"type": "text", "text": 7}, "content.text"),
        ({"type": "text", "text": {"body": None}}, "content.text"),
        ({"type": "text", "text": "x" * (LONGEST_TEXT + 1)}, "content.text"),
    ],
)
@pytest.mark.parametrize("with_customer", [True, False])
def test_what_says_nothing_cannot_be_posted(content: object, field: str, with_customer: bool) -> None:
    found = read(content, with_customer=with_customer)
    assert isinstance(found, InvalidField)
    assert found.field == field


def test_the_longest_text_is_still_one() -> None:
    assert isinstance(read({"type": "text", "text": "x" * LONGEST_TEXT}, with_customer=False), PostContent)


@pytest.mark.parametrize("kind", ["image", "template", "note", "deleted", "reaction"])
def test_among_people_only_texts_are_written(kind: str) -> None:
    found = read({"type": kind, kind: {"link": "https://example.org/a.png"}}, with_customer=False)
    assert isinstance(found, InvalidField)
    assert found.field == "content.type"


def test_a_note_is_not_posted_to_a_customer() -> None:
    assert isinstance(read({"type": "note", "note": {"body": "rude"}}, with_customer=True), InvalidField)


def test_a_file_to_a_customer_is_kept_as_the_provider_has_it() -> None:
    content = {"type": "image", "image": {"link": "https://example.org/a.png", "caption": "Look"}}
    written = read(content, with_customer=True)
    assert written == PostContent(type="image", body=content)
    assert shown(entry(written))["image"] == content["image"]


@pytest.mark.parametrize("language", ["en_US", {"code": "en_US"}])
def test_a_template_names_itself_and_its_language_in_either_form(language: object) -> None:
    content = {"type": "template", "template": {"name": "hello_world", "language": language, "components": []}}
    written = read(content, with_customer=True)
    payload: dict[str, Any] = {"language": "en_US", "components": []}
    named = {"type": "template", "template": {"name": "hello_world", **payload}}
    assert written == PostContent(type="template", body=named, template="hello_world", payload=payload)
    assert shown(entry(written))["template"]["name"] == "hello_world"


@pytest.mark.parametrize("template", [None, "hello_world", {}, {"name": 7}])
def test_a_template_without_a_name_cannot_be_posted(template: object) -> None:
    found = read({"type": "template", "template": template}, with_customer=True)
    assert isinstance(found, InvalidField)
    assert found.field == "content.template"


def test_a_note_says_what_it_says() -> None:
    written = note("call them back")
    assert isinstance(written, PostContent)
    assert shown(entry(written)) == {"type": "note", "text": "call them back"}
    assert words(entry(written)) == "call them back"


@pytest.mark.parametrize("text", ["", "  \n", "x" * (LONGEST_TEXT + 1)])
def test_a_note_that_says_nothing_or_too_much_cannot_be_written(text: str) -> None:
    assert isinstance(note(text), InvalidField)


def test_nothing_of_what_was_taken_back_is_shown() -> None:
    assert shown(entry(PostContent(type="text", body=A_TEXT), deleted_at=NOW)) == {"type": "deleted"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "body"]), inner),
    max_leaves=8,
)
contents = st.dictionaries(st.sampled_from(["type", "text", "template", "note", "image"]), json_values)


@given(json_values | contents | contents.map(lambda content: content | {"type": "template"}), st.booleans())
def test_any_json_is_read_or_refused_and_what_was_read_can_be_shown(content: object, with_customer: bool) -> None:
    written = read(content, with_customer=with_customer)
    if isinstance(written, PostContent):
        assert isinstance(shown(entry(written))["type"], str)
        assert isinstance(words(entry(written)), str)


@pytest.mark.parametrize(
    ("status", "was_read", "seen"),
    [
        (Status.QUEUED, False, None),
        (Status.SENDING, False, None),
        (Status.SENT, False, "sent"),
        (Status.DELIVERED, False, "delivered"),
        (Status.DELIVERED, True, "read"),
        (Status.FAILED, False, "failed"),
        (Status.CANCELLED, False, "failed"),
    ],
)
def test_what_a_screen_shows_of_each_status(status: Status, was_read: bool, seen: str | None) -> None:
    assert chat_status(status, was_read) == seen


def test_the_table_above_has_every_status() -> None:
    assert {chat_status(status, was_read=False) for status in Status} == {None, "sent", "delivered", "failed"}
