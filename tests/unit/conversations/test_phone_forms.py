"""The forms of a phone number: two forms of one number have one alias."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.conversations.phone_forms import alias, spellings


class TestAlias:
    @pytest.mark.parametrize(
        ("written", "known_as"),
        [
            ("+5215512345678", "+525512345678"),
            ("+525512345678", "+525512345678"),
            ("+5491123456789", "+541123456789"),
            ("+541123456789", "+541123456789"),
            ("+555180201045", "+5551980201045"),
            ("+5551980201045", "+5551980201045"),
            ("+551132345678", "+551132345678"),
            ("+5511932345678", "+5511932345678"),
            ("+52155123456", "+52155123456"),
            ("+4915112345678", "+4915112345678"),
            ("+16505551234", "+16505551234"),
            ("US.13491208655302741918", "US.13491208655302741918"),
            ("", ""),
        ],
    )
    def test_two_forms_of_a_number_have_one_alias_and_others_stay(self, written: str, known_as: str) -> None:
        assert alias(written) == known_as

    @given(st.from_regex(r"\+(52|54|55|521|549)?[0-9]{5,13}", fullmatch=True) | st.text())
    def test_an_alias_is_its_own_alias(self, phone: str) -> None:
        assert alias(alias(phone)) == alias(phone)

    @given(st.from_regex(r"\+(52|54|55|521|549)?[0-9]{5,13}", fullmatch=True) | st.text())
    def test_all_forms_of_a_number_have_the_same_forms_and_one_alias(self, phone: str) -> None:
        assert phone in spellings(phone)
        assert {spellings(form) for form in spellings(phone)} == {spellings(phone)}
        assert {alias(form) for form in spellings(phone)} == {alias(phone)}

    @pytest.mark.parametrize(
        "forms",
        [
            ("+525512345678", "+5215512345678"),
            ("+541123456789", "+5491123456789"),
            ("+5511987654321", "+551187654321"),
            ("+5511932345678",),
            ("+16505551234",),
            ("US.13491208655302741918",),
        ],
    )
    def test_a_number_is_spelled_in_each_of_its_forms(self, forms: tuple[str, ...]) -> None:
        assert spellings(forms[-1]) == forms

    @given(st.from_regex(r"[1-9][0-9]", fullmatch=True), st.from_regex(r"[6-9][0-9]{7}", fullmatch=True))
    def test_with_or_without_the_ninth_digit_a_brazilian_mobile_is_the_same(self, area: str, rest: str) -> None:
        assert alias(f"+55{area}{rest}") == alias(f"+55{area}9{rest}")

    @given(st.from_regex(r"[1-9][0-9]", fullmatch=True), st.from_regex(r"[2-5][0-9]{7}", fullmatch=True))
    def test_a_brazilian_landline_is_not_a_mobile(self, area: str, rest: str) -> None:
        assert alias(f"+55{area}{rest}") != alias(f"+55{area}9{rest}")
