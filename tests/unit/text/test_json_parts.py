"""JSON written by others, read part by part."""

from __future__ import annotations

import msgspec
import pytest

from waypost.rules.conversations import message_text
from waypost.rules.text import json_parts


@pytest.mark.parametrize("odd", ["1e999", "-1e999", "9" * 5000, "[" * 101 + "]" * 101])
def test_a_field_that_cannot_be_read_is_left_out_and_the_rest_stays(odd: str) -> None:
    body = f'{{"type": "text", "text": {{"body": "hi"}}, "x": {odd}}}'
    assert json_parts.whole(body) == {"type": "text", "text": {"body": "hi"}}


def test_what_is_wide_is_not_deep() -> None:
    body = {"type": "order", "order": [{"a": [1]}] * 500}
    assert json_parts.whole(msgspec.json.encode(body).decode()) == body


@pytest.mark.parametrize("body", ["", "[]", "1", "null", '"x"', "{", "1e999", "{}", "[" * 5000])
def test_of_what_is_no_message_only_its_kind_is_known(body: str) -> None:
    assert message_text.read(body, "image") == {"type": "image"}


def test_the_short_form_of_what_we_queued_is_a_text() -> None:
    assert message_text.read('{"text": "hi"}', "text") == {"type": "text", "text": {"body": "hi"}}


@pytest.mark.parametrize(
    ("written", "items"), [("[1, 2]", [b"1", b"2"]), ("null", []), ("{}", [b"{}"]), ("[1e999]", [b"1e999"])]
)
def test_what_should_be_a_list_and_is_none_is_its_own_only_item(written: str, items: list[bytes]) -> None:
    assert [bytes(each) for each in json_parts.listed(msgspec.Raw(written.encode()))] == items


@pytest.mark.parametrize(
    ("written", "read"), [('"a"', "a"), ("7", "7"), ("1.5", None), ("true", None), ("1e999", None)]
)
def test_an_id_may_be_written_as_a_number(written: str, read: str | None) -> None:
    assert json_parts.text(msgspec.Raw(written.encode())) == read
