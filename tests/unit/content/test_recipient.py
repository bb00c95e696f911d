"""Phone numbers: international ones as written, national ones by their region, and why others are refused."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.rules.content.recipient import InvalidPhone, address, is_user_id, phone, read
from waypost.runtime.settings.definitions import Settings, SettingsError, load

SPELLINGS = {
    "+4915112345678": "+4915112345678",
    "4915112345678": "+4915112345678",
    "+49 (151) 123-45.678": "+4915112345678",
    "[49] 151 12345678": "+4915112345678",
    "1234567": "+1234567",
    "123456789012345": "+123456789012345",
    "0049 151 12345678": "+4915112345678",
    "00 49-151-12345678": "+4915112345678",
    "+49 (0)30 901820": "+4930901820",
    "+49(0)30 901820": "+4930901820",
    "0049 (0) 30 901820": "+4930901820",
    "+39 (0)6 12345678": "+390612345678",
    "+1555000131026": "+1555000131026",
    "001555000131026": "+1555000131026",
    "0012345": "+0012345",
    "+49 (0)1234": "+4901234",
    "030 901820": "+030901820",
    "\uff0b\uff14\uff19 \uff11\uff15\uff11 \uff11\uff12\uff13\uff14\uff15": "+4915112345",
    "\u0664\u0669\u0661\u0665\u0661\u0661\u0662\u0663": "+49151123",
    "\u202a+49\u00a0151\u202f1234\u20115678\u202c": "+4915112345678",
    "+49\u2013151\u200b1234\u22125678\ufeff": "+4915112345678",
}
AS_WRITTEN = ["+5215512345678", "+525512345678", "+5491123456789", "+541123456789", "+5551980201045", "+555180201045"]
"""Mexico, Argentina, Brazil, with and without the optional digit."""


class TestInternational:
    @pytest.mark.parametrize("text", SPELLINGS)
    def test_a_phone_number_is_plus_and_digits(self, text: str) -> None:
        assert phone(text) == SPELLINGS[text]

    @pytest.mark.parametrize("region", [None, "MX", "AR", "BR", "DE"])
    def test_an_address_is_never_rewritten(self, region: str | None) -> None:
        assert [phone(number, region) for number in AS_WRITTEN] == AS_WRITTEN

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "this has 0"),
            ("+", "this has 0"),
            ("123456", "this has 6"),
            ("1234567890123456", "this has 16"),
            ("+49x15112345678", "'x' cannot be part"),
            ("030/901820", "'/' cannot be part"),
            ("+49 151\n12345678", r"'\\n' cannot be part"),
            ("1234567\x00", r"'\\x00' cannot be part"),
            ("+49 151 123456\u00b2", r"'\\xb2' cannot be part"),
            ("++4915112345678", r"\+ that is not at the start"),
            ("49+15112345678", r"\+ that is not at the start"),
            ("+1650555123\u096a", "different scripts"),
        ],
    )
    def test_anything_else_is_refused_with_its_reason(self, text: str, reason: str) -> None:
        found = read(text)
        assert isinstance(found, InvalidPhone)
        assert re.search(reason, found.reason)
        assert phone(text) is None

    @given(st.text(alphabet="0123456789 .-()[]", max_size=24), st.sampled_from(["", "+", " +"]))
    def test_without_a_region_only_the_count_of_digits_matters(self, text: str, plus: str) -> None:
        digits = sum(char in string.digits for char in text)
        assert (phone(plus + text) is not None) == (7 <= digits <= 15)


@given(
    st.one_of(st.text(max_size=24), st.text(alphabet="+00123456789 ()-", max_size=24)),
    st.sampled_from([None, "DE", "US", "BR", "MX", "AR", "IT", "AU", "IN"]),
)
def test_what_is_normal_stays_as_it_is(text: str, region: str | None) -> None:
    number = phone(text, region)
    if number is not None:
        assert re.fullmatch(r"\+[0-9]{7,15}", number)
        assert phone(number, region) == phone(number) == number


class TestNational:
    @pytest.mark.parametrize(
        ("text", "region", "number"),
        [
            ("030 901820", "DE", "+4930901820"),
            ("(030) 90-18 20", "DE", "+4930901820"),
            ("0049 (0)30 901820", "DE", "+4930901820"),
            ("4915112345678", "DE", "+4915112345678"),
            ("+1555000131026", "DE", "+1555000131026"),
            ("001555000131026", "DE", "+1555000131026"),
            ("(212) 555-2368", "US", "+12125552368"),
            ("1 212 555 2368", "US", "+12125552368"),
            ("011 44 20 7946 0000", "US", "+442079460000"),
            ("442079460000", "US", "+442079460000"),
            ("020 7946 0000", "GB", "+442079460000"),
            ("06 12345678", "IT", "+390612345678"),
            ("8 912 345 67 89", "RU", "+79123456789"),
            ("0412 345 678", "AU", "+61412345678"),
            ("0011 49 30 901820", "AU", "+4930901820"),
            ("98765 43210", "IN", "+919876543210"),
            ("91987 65432", "IN", "+919198765432"),
            ("5215512345678", "MX", "+5215512345678"),
            ("525512345678", "MX", "+525512345678"),
            ("011 15-1234-5678", "AR", "+5491112345678"),
            ("541123456789", "AR", "+541123456789"),
            ("(51) 8020-1045", "BR", "+555180201045"),
            ("(51) 98020-1045", "BR", "+5551980201045"),
            ("0055 51 98020-1045", "BR", "+5551980201045"),
        ],
    )
    def test_a_number_is_read_as_it_is_written_there(self, text: str, region: str, number: str) -> None:
        assert read(text, region) == number

    @pytest.mark.parametrize(("text", "region"), [("110", "DE"), ("00", "DE"), ("555 0100", "US"), ("0", "GB")])
    def test_what_is_none_there_is_refused_with_a_way_out(self, text: str, region: str) -> None:
        found = read(text, region)
        assert isinstance(found, InvalidPhone)
        assert region in found.reason
        assert "country code" in found.reason


class TestSetting:
    def test_no_region_is_set_by_default(self) -> None:
        assert Settings().tuning().default_region is None
        assert load({"WAYPOST_DEFAULT_REGION": "DE"}).tuning().default_region == "DE"

    @pytest.mark.parametrize("region", ["XX", "de", "DEU", "D"])
    def test_a_region_that_does_not_exist_stops_the_start(self, region: str) -> None:
        with pytest.raises(SettingsError, match="WAYPOST_DEFAULT_REGION"):
            load({"WAYPOST_DEFAULT_REGION": region})


class TestUserIds:
    @pytest.mark.parametrize("region", [None, "US"])
    @pytest.mark.parametrize(
        "text", ["US.13491208655302741918", "US.ENT.11815799212886844830", "DE.aB9", "BR." + "x" * 128]
    )
    def test_a_user_id_is_an_address_byte_for_byte(self, text: str, region: str | None) -> None:
        assert address(text, region) == text
        assert is_user_id(text)
        assert phone(text, region) is None

    @pytest.mark.parametrize(
        "text",
        ["", "US.", "us.1", "U.1", "USA.1", "US.ENT.", "US.1-2", "US.1\n", " US.1", "US.\u0661", "US." + "x" * 129],
    )
    def test_what_only_looks_like_one_is_none(self, text: str) -> None:
        assert not is_user_id(text)
        assert isinstance(address(text), InvalidPhone)

    @given(st.text(alphabet="0123456789+ .-()", max_size=20), st.sampled_from([None, "DE"]))
    def test_every_other_address_is_a_phone_number(self, text: str, region: str | None) -> None:
        assert address(text, region) == read(text, region)
