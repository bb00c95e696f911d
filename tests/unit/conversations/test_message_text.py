"""Customers and their messages: aliases of numbers, the text of a message, its image, and the burst they make."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.conversations.message_text import burst, shown, words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=15,
)
KINDS = [
    "text",
    "image",
    "video",
    "audio",
    "document",
    "sticker",
    "location",
    "contacts",
    "reaction",
    "button",
    "interactive",
    "order",
    "system",
    "template",
    "edit",
    "revoke",
    "unsupported",
    "request_welcome",
    "hologram",
    "errors",
    "context",
]
FIELDS = st.sampled_from([*KINDS, "type", "id", "timestamp", "body", "message", "original_message_id", "name"])
MESSAGES = st.dictionaries(FIELDS, JSON | st.sampled_from(KINDS), max_size=6) | st.builds(
    lambda kind, content, more: {**more, "type": kind, kind: content},
    st.sampled_from(KINDS),
    JSON,
    st.dictionaries(FIELDS, JSON, max_size=3),
)

REPLY = {"type": "button_reply", "button_reply": {"id": "1", "title": "Yes"}}
CHOICE = {"type": "list_reply", "list_reply": {"id": "1", "title": "Tea", "description": "green"}}
FLOW = {"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": "{}"}}
SPOKEN: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"type": "text", "text": {"body": "hi"}}, "hi"),
    "short form": ({"text": "hi"}, "hi"),
    "image": ({"type": "image", "image": {"id": "1", "caption": "a cat"}}, "a cat"),
    "image alone": ({"type": "image", "image": {"id": "1"}}, ""),
    "video": ({"type": "video", "video": {"id": "1", "caption": "cats"}}, "cats"),
    "audio": ({"type": "audio", "audio": {"id": "1", "voice": True}}, ""),
    "document": ({"type": "document", "document": {"caption": "bill", "filename": "b.pdf"}}, "bill"),
    "sticker": ({"type": "sticker", "sticker": {"id": "1", "animated": False}}, ""),
    "location": ({"type": "location", "location": {"latitude": 1, "longitude": 2}}, ""),
    "place": ({"type": "location", "location": {"name": "Café", "address": "High St 1"}}, "Café, High St 1"),
    "contacts": (
        {"type": "contacts", "contacts": [{"name": {"formatted_name": "Ann B"}}, {"name": {"first_name": "Bo"}}, {}]},
        "Ann B, Bo",
    ),
    "reaction": ({"type": "reaction", "reaction": {"message_id": "wamid.1", "emoji": "👍"}}, "👍"),
    "reaction taken back": ({"type": "reaction", "reaction": {"message_id": "wamid.1"}}, ""),
    "button": ({"type": "button", "button": {"payload": "p", "text": "Stop"}}, "Stop"),
    "button_reply": ({"type": "interactive", "interactive": REPLY}, "Yes"),
    "list_reply": ({"type": "interactive", "interactive": CHOICE}, "Tea"),
    "nfm_reply": ({"type": "interactive", "interactive": FLOW}, "Sent"),
    "buttons of ours": ({"type": "interactive", "interactive": {"type": "button", "body": {"text": "Tea?"}}}, "Tea?"),
    "interactive without an object": ({"type": "interactive"}, ""),
    "order": (
        {"type": "order", "order": {"catalog_id": "1", "text": "soon please", "product_items": []}},
        "soon please",
    ),
    "system": ({"type": "system", "system": {"type": "user_changed_number", "body": "Ann changed"}}, "Ann changed"),
    "template": ({"type": "template", "template": {"name": "hello_world"}}, "hello_world"),
    "edit": (
        {"type": "edit", "edit": {"original_message_id": "1", "message": {"type": "text", "text": {"body": "new"}}}},
        "new",
    ),
    "revoke": ({"type": "revoke", "revoke": {"original_message_id": "1"}}, ""),
    "unsupported": ({"type": "unsupported", "unsupported": {"type": "poll_creation"}}, ""),
    "request_welcome": ({"type": "request_welcome"}, ""),
}


class TestWords:
    @pytest.mark.parametrize(("message", "said"), SPOKEN.values(), ids=SPOKEN)
    def test_each_kind_has_its_words(self, message: dict[str, Any], said: str) -> None:
        assert words(message) == said

    @given(MESSAGES)
    def test_any_shape_has_words_or_none(self, message: dict[str, Any]) -> None:
        assert isinstance(words(message), str)

    def test_an_edit_of_an_edit_however_deep_has_the_innermost_words(self) -> None:
        message: dict[str, Any] = {"type": "text", "text": {"body": "at last"}}
        for _ in range(5000):
            message = {"type": "edit", "edit": {"message": message}}
        assert words(message) == "at last"


class TestShown:
    def test_a_text_is_shown_as_its_words(self) -> None:
        message = {"from": "1", "id": "w", "timestamp": "1", "type": "text", "text": {"body": "hi"}}
        assert shown(message) == {"type": "text", "text": "hi"}
        assert shown({"text": "hi"}) == {"type": "text", "text": "hi"}

    @pytest.mark.parametrize("kind", SPOKEN)
    def test_every_other_kind_is_shown_whole_with_its_words(self, kind: str) -> None:
        message, said = SPOKEN[kind]
        picture = shown({"from": "1", "id": "w", **message})
        assert picture.get("text", "") == said
        assert not {"from", "id", "unknown"} & picture.keys()
        if picture["type"] != "text":
            assert {name: picture[name] for name in message} == message

    def test_what_comes_along_with_the_content_is_kept(self) -> None:
        beside = {
            "context": {"id": "wamid.1"},
            "referral": {"source_id": "7"},
            "errors": [{"code": 131051}],
            "identity": {"hash": "h"},
        }
        for kind in ("text", "image", "unsupported", "hologram"):
            content = {"body": "hi"} if kind == "text" else {}
            picture = shown({"type": kind, kind: content, **beside})
            assert {name: picture[name] for name in beside} == beside

    def test_an_unknown_kind_is_kept_whole_and_says_so(self) -> None:
        message = {"id": "w", "type": "hologram", "hologram": {"depth": 3}, "text": "beside it"}
        assert shown(message) == {**message, "unknown": True}

    @pytest.mark.parametrize("message", [{}, {"type": 5}, {"type": ""}, {"type": None, "text": "x"}])
    def test_without_a_kind_it_is_unknown(self, message: dict[str, Any]) -> None:
        assert shown(message) == {**message, "type": "unknown", "unknown": True}

    @pytest.mark.parametrize("text", [None, 5, [], {}, {"body": 5}])
    def test_a_text_without_words_is_kept_whole(self, text: object) -> None:
        assert shown({"type": "text", "text": text}) == {"type": "text", "text": text, "unknown": True}

    @given(MESSAGES)
    def test_any_shape_is_shown_with_a_kind(self, message: dict[str, Any]) -> None:
        picture = shown(message)
        assert isinstance(picture["type"], str)
        assert picture["type"] != "text" or picture.get("unknown") or isinstance(picture["text"], str)


def text(body: str, at: object = "100", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}, "timestamp": at, **more}


def edit(original: str, body: str, at: object = "100") -> dict[str, Any]:
    inner = {"type": "text", "text": {"body": body}}
    return {"type": "edit", "edit": {"original_message_id": original, "message": inner}, "timestamp": at}


def revoke(original: str, at: object = "100") -> dict[str, Any]:
    return {"type": "revoke", "revoke": {"original_message_id": original}, "timestamp": at}


def texts_of(messages: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str]]:
    return [(wamid, words(message)) for wamid, message in burst(messages)]


class TestBurst:
    def test_messages_come_in_the_order_of_writing(self) -> None:
        messages = [("c", text("c", "102")), ("a", text("a", 100)), ("b", text("b", "100")), ("d", text("d", "1e2"))]
        assert [wamid for wamid, _ in burst(messages)] == ["a", "b", "d", "c"]

    @pytest.mark.parametrize("time", [None, "", "soon", True, [], "nan", "inf", 10**400])
    def test_without_a_readable_time_a_message_stays_behind_the_one_before_it(self, time: object) -> None:
        messages = [("b", text("b", "101")), ("?", text("?", time)), ("a", text("a", "100"))]
        assert [wamid for wamid, _ in burst(messages)] == ["a", "b", "?"]

    def test_an_edited_message_has_its_new_content_at_its_old_place(self) -> None:
        messages = [("a", text("tee", id="a", **{"from": "1"})), ("b", text("please")), ("e", edit("a", "tea"))]
        (first, second) = burst(messages)
        assert first == ("a", text("tea", id="a", **{"from": "1"}))
        assert second == ("b", text("please"))

    def test_the_last_of_several_edits_counts(self) -> None:
        messages = [("a", text("1")), ("e", edit("a", "3", "102")), ("f", edit("a", "2", "101"))]
        assert texts_of(messages) == [("a", "3")]

    def test_an_edit_may_name_the_edit_before_it(self) -> None:
        assert texts_of([("a", text("1")), ("e", edit("a", "2")), ("f", edit("e", "3"))]) == [("a", "3")]

    def test_an_edit_may_arrive_before_its_message(self) -> None:
        assert texts_of([("e", edit("a", "new")), ("a", text("old"))]) == [("a", "new")]

    def test_an_edit_of_something_earlier_stays(self) -> None:
        assert texts_of([("e", edit("long ago", "new")), ("a", text("hi"))]) == [("e", "new"), ("a", "hi")]

    @pytest.mark.parametrize("gone", ["a", "e"])
    def test_a_revoked_message_is_gone_with_its_edits(self, gone: str) -> None:
        messages = [("a", text("oops")), ("e", edit("a", "ouch")), ("b", text("hi")), ("r", revoke(gone))]
        assert texts_of(messages) == [("b", "hi")]

    def test_a_revocation_of_something_earlier_says_nothing(self) -> None:
        assert texts_of([("r", revoke("long ago")), ("a", text("hi"))]) == [("a", "hi")]

    def test_reactions_drop_out(self) -> None:
        reaction = {"type": "reaction", "reaction": {"message_id": "x", "emoji": "👍"}}
        assert texts_of([("1", reaction), ("a", text("hi"))]) == [("a", "hi")]

    def test_edits_that_point_at_each_other_stay(self) -> None:
        messages = [("e", edit("f", "1")), ("f", edit("e", "2")), ("g", edit("g", "3"))]
        assert burst(messages) == messages

    def test_an_edit_that_says_too_little_stays_as_it_is(self) -> None:
        odd: dict[str, Any] = {"type": "edit", "edit": {"original_message_id": ["a"]}}
        assert burst([("a", text("hi")), ("e", odd)]) == [("a", text("hi")), ("e", odd)]

    @given(
        st.lists(
            st.tuples(
                st.sampled_from("abcd"),
                MESSAGES
                | st.builds(edit, st.sampled_from("abcd"), st.text(max_size=3), JSON)
                | st.builds(revoke, st.sampled_from("abcd"), JSON),
            ),
            max_size=8,
        )
    )
    def test_any_shapes_come_to_something_and_nothing_is_made_up(
        self, messages: list[tuple[str, dict[str, Any]]]
    ) -> None:
        before = msgspec.msgpack.encode(messages) if _plain(messages) else None
        kept = [wamid for wamid, _ in burst(messages)]
        assert len(kept) <= len(messages)
        assert {*kept} <= {wamid for wamid, _ in messages}
        assert before is None or before == msgspec.msgpack.encode(messages)


def _plain(messages: object) -> bool:
    try:
        msgspec.msgpack.encode(messages)
    except (OverflowError, UnicodeEncodeError):
        return False
    return True
