"""Values that nest too deep become their own text; nothing else changes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.receiving import envelope
from waypost.rules.text.deep_json import MOST_BRACKETS, shallow
from waypost.rules.text.json_parts import DEEPEST


def nested(depth: int, inside: str = "") -> str:
    return "[" * depth + inside + "]" * depth


DEEP = nested(5000, '"]", "\\"[", 1')

JSON = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(alphabet='[]{}"\\a', max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
)


@given(JSON, st.integers(0, 3))
def test_what_is_not_too_deep_stays_as_it_is(value: Any, level: int) -> None:
    body = json.dumps(value).encode()
    assert shallow(body, level) == body


@given(st.binary(max_size=60) | st.text(alphabet='[]{}"\\a', max_size=60).map(str.encode))
def test_what_is_no_json_is_none_afterwards_either(body: bytes) -> None:
    assert shallow(body, 0) == body


def test_the_deep_value_is_a_text_and_its_neighbours_are_what_they_were() -> None:
    body = f'{{"a": [1, "]"], "deep": {DEEP}, "b": {{"c": {DEEP}, "d": {nested(DEEPEST - 2)}}}, "e": "[{{"}}'.encode()
    assert json.loads(shallow(body, 1)) == {
        "a": [1, "]"],
        "deep": DEEP,
        "b": f'{{"c": {DEEP}, "d": {nested(DEEPEST - 2)}}}',
        "e": "[{",
    }
    found = json.loads(shallow(body, 2))
    assert (found["b"]["c"], found["e"], found["deep"]) == (DEEP, "[{", [DEEP[1:-1]])


@pytest.mark.parametrize("body", [b"[" * 20_000, b'"' + b"a" * 2_000_000, b'["a' * 9_000, b"]" * 1_000_000, b'"\\' * 9])
def test_what_never_ends_is_looked_through_once(body: bytes) -> None:
    started = time.process_time()
    assert shallow(body, 8) == body
    assert time.process_time() - started < 5, "milliseconds, on a calm machine; anything quadratic takes minutes"


def test_what_has_too_many_brackets_is_not_looked_through() -> None:
    body = nested(MOST_BRACKETS + 1).encode()
    assert shallow(body, 8) is body
    with pytest.raises(envelope.UnreadableWebhook):
        envelope.parts(b'{"entry": ' + body + b"}")
