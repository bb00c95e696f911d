"""Columns of a batch as PostgreSQL reads them; tests/conformance stores them in a real one."""

from __future__ import annotations

import pytest

from waypost.adapters.postgres.columns import Batches, at_once, numbers, set_wise, texts, together
from waypost.adapters.sql.engine.plan import AllOf, Each, Once, Together
from waypost.adapters.sql.engine.statements import SqlStatement

PAIRS = SqlStatement("pairs", "INSERT INTO a SELECT * FROM unnest($1::bigint[], $2::text[])", set_wise=True)
KEYS = SqlStatement("keys", "DELETE FROM b WHERE id = ANY($1::bytea[]) AND org = ANY($2::text[])", set_wise=True)


@pytest.mark.parametrize(
    ("column", "literal"),
    [
        (("a", "b"), '{"a","b"}'),
        (("",), '{""}'),
        (("NULL", "null"), '{"NULL","null"}'),
        (("a", None), '{"a",NULL}'),
        ((None, None), "{NULL,NULL}"),
        (('say "no"', "back\\slash", "{,}"), '{"say \\"no\\"","back\\\\slash","{,}"}'),
        (("line\nbreak", "ünïcödé 🙂"), '{"line\nbreak","ünïcödé 🙂"}'),
        (("a\0b", "c"), '{"a\0b","c"}'),
    ],
)
def test_texts_are_quoted_and_never_become_two(column: tuple[str | None, ...], literal: str) -> None:
    assert texts(column) == literal


def test_numbers_and_truths_are_written_plainly() -> None:
    assert numbers((1, -2, None)) == "{1,-2,null}"
    assert numbers((True, False)) == "{true,false}"


def test_a_set_wise_statement_takes_its_arrays_as_texts_where_that_is_safe() -> None:
    assert set_wise(PAIRS).text == "INSERT INTO a SELECT * FROM unnest($1::text::bigint[], $2::text::text[])"
    keys = set_wise(KEYS)
    assert keys.text == "DELETE FROM b WHERE id = ANY($1::bytea[]) AND org = ANY($2::text::text[])"
    assert keys.arguments([Each("keys", [(b"x", "o"), (b"y", "o")])]) == [[b"x", b"y"], '{"o","o"}']


def test_what_goes_together_numbers_its_arguments_on() -> None:
    whole = together(["keys", "pairs"], [set_wise(KEYS), set_wise(PAIRS)])
    assert "unnest($3::text::bigint[], $4::text::text[])" in whole.text
    assert len(whole.columns) == 4


def test_what_must_be_certain_is_counted_before_anything_is_answered() -> None:
    whole = at_once(["keys", "pairs"], [set_wise(KEYS), set_wise(PAIRS)], 1, "pairs")
    assert whole.text.endswith(
        "SELECT * FROM pairs WHERE 1 / (CASE WHEN (SELECT count(*) FROM keys) = $5::bigint THEN 1 ELSE 0 END) = 1"
    )


def test_a_statement_that_goes_row_by_row_is_no_batch() -> None:
    batches = Batches({"pairs": PAIRS, "one": SqlStatement("one", "SELECT $1", set_wise=False)})
    assert batches.of("one") is None
    pairs = Together([Each("pairs", [])])
    assert batches.together(pairs) is batches.together(pairs)


def test_reads_in_one_trip_say_which_of_them_a_row_is_of() -> None:
    batches = Batches({"pairs": PAIRS, "one": SqlStatement("one", "SELECT 1 WHERE $1 < $2", set_wise=False)})
    whole, arguments = batches.all_of(AllOf([Once("one", (1, 2))], [Each("pairs", [(5, "x")])]))
    assert whole.text.endswith("SELECT 0, ROW(one.*) FROM one")
    assert "SELECT 1 WHERE $3 < $4" in whole.text
    assert arguments == ["{5}", '{"x"}', 1, 2]
