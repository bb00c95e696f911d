"""A CSV row as a message: what its columns mean, and which key makes it the same message every time."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.flow.sending.submit import SubmitRequest
from waypost.runtime.cli.send_csv import CsvRow, key_of, message_of

FILE = "customers.csv"


def read(**cells: str) -> SubmitRequest | str:
    return message_of(CsvRow(2, {"to": "+16505551234", **cells}), FILE)


def taken(**cells: str) -> SubmitRequest:
    found = read(**cells)
    assert isinstance(found, SubmitRequest), found
    return found


@pytest.mark.parametrize(
    ("cells", "payload"),
    [
        ({"text": "hello"}, {"text": "hello"}),
        ({"payloadJson": '{"type": "text", "text": {"body": "x"}}'}, {"type": "text", "text": {"body": "x"}}),
        ({"templateCode": "hi"}, {"language": "en"}),
        ({"templateCode": "hi", "language": "de"}, {"language": "de"}),
        (
            {"templateCode": "hi", "body10": "c", "body2": "b", "body1": "a"},
            {
                "language": "en",
                "components": [{"type": "body", "parameters": [{"type": "text", "text": text} for text in "abc"]}],
            },
        ),
        ({"templateCode": "hi", "payloadJson": '{"language": "fr"}'}, {"language": "fr"}),
        ({}, None),
    ],
)
def test_what_is_said_comes_from_text_template_or_json(cells: dict[str, str], payload: Any) -> None:
    assert taken(**cells).payload == payload


def test_the_other_columns_are_those_of_the_api() -> None:
    found = taken(
        text="x", priority="9", ordered="true", maxAttempts="0", scheduledAt="2030-01-01T00:00:00Z", idempotencyKey="k"
    )
    assert (found.priority, found.ordered, found.max_attempts, found.idempotency_key) == (9, True, 0, "k")
    assert found.scheduled_at == 1_893_456_000_000_000
    assert (found.channel, found.sender) == ("WHATSAPP", None)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"priority": "high"}, "'high'"),
        ({"priority": "10"}, "priority: Expected `int` <= 9"),
        ({"ordered": "yes"}, "ordered: must be true or false"),
        ({"scheduledAt": "tomorrow"}, "scheduledAt"),
        ({"scheduledAt": "2030-01-01T00:00:00"}, "scheduledAt"),
        ({"payloadJson": "{"}, "truncated"),
        ({"payloadJson": "[]"}, "payloadJson"),
        ({"payloadJson": "[" * 5000}, ""),
        ({"subject": "\x00"}, "subject"),
    ],
)
def test_what_cannot_be_meant_is_a_reason_and_no_message(cells: dict[str, str], said: str) -> None:
    found = read(**{"text": "x", **cells})
    assert isinstance(found, str)
    assert said in found


def test_the_key_is_of_the_file_the_row_and_its_content() -> None:
    row = CsvRow(2, {"to": "+16505551234", "text": "x"})
    assert key_of(FILE, row) == key_of(FILE, CsvRow(2, {"text": "x", "to": "+16505551234"}))
    others = [
        key_of("other.csv", row),
        key_of(FILE, CsvRow(3, row.cells)),
        key_of(FILE, CsvRow(2, {**row.cells, "text": "y"})),
    ]
    assert len({key_of(FILE, row), *others}) == 4
    assert len(key_of(FILE, row)) <= 255
