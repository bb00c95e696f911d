"""National phone numbers, parsed with the numbering plan of a region."""

from __future__ import annotations

import re
from typing import Final

from phonenumbers import (
    SUPPORTED_REGIONS,
    CountryCodeSource,
    NumberParseException,
    PhoneMetadata,
    PhoneNumber,
    PhoneNumberFormat,
    ValidationResult,
    country_code_for_region,
    format_number,
    is_possible_number_with_reason,
    is_valid_number,
    parse,
)

_NUMBER: Final = re.compile(r"\+[0-9]{7,15}", re.ASCII)
_MEXICAN_MOBILE: Final = re.compile(r"\+521[0-9]{10}", re.ASCII)
"""With the 1 that Mexico abolished and WhatsApp's ids still have."""


def known(region: str) -> bool:
    return region in SUPPORTED_REGIONS


def read(digits: str, abroad: str | None, region: str) -> str | None:
    """Digits without a `+` are a number of the region, unless they begin with 00 or the region's country code.

    `abroad` is the part after a leading 00. It is tried first, since Brazil's plan would read `0055` as a carrier code.
    A foreign number without a `+` is the last choice.
    """
    plain = f"+{digits}"
    foreign = f"+{abroad}" if abroad and _NUMBER.fullmatch(f"+{abroad}") else None
    begins = digits.startswith(str(country_code_for_region(region)))
    for way in (foreign, plain if begins else None):
        if way and _valid(way):
            return way
    home = _at_home(digits, region)
    if home and _possible(home):
        return home
    return foreign or (plain if _valid(plain) else None)


def _at_home(digits: str, region: str) -> str | None:
    try:
        number = parse(digits, region, keep_raw_input=True)
    except NumberParseException:
        return None
    match number.country_code_source:
        case CountryCodeSource.FROM_DEFAULT_COUNTRY:
            return format_number(number, PhoneNumberFormat.E164)
        case CountryCodeSource.FROM_NUMBER_WITH_IDD:
            return f"+{_after_prefix(digits, region)}"
        case _:
            return f"+{digits}"


def _after_prefix(digits: str, region: str) -> str:
    """The digits after the region's international prefix, as written."""
    metadata = PhoneMetadata.metadata_for_region(region)
    prefix = metadata.international_prefix if metadata else None
    return re.sub(f"^(?:{prefix})", "", digits) if prefix else digits


def _valid(number: str) -> bool:
    """Valid by its country's plan. Plans are incomplete, so this only ranks interpretations."""
    if _MEXICAN_MOBILE.fullmatch(number):
        return True
    parsed = _parsed(number)
    return parsed is not None and is_valid_number(parsed)


def _possible(number: str) -> bool:
    """Whether its length exists in its country, with the area code."""
    parsed = _parsed(number)
    return parsed is not None and is_possible_number_with_reason(parsed) == ValidationResult.IS_POSSIBLE


def _parsed(number: str) -> PhoneNumber | None:
    if not _NUMBER.fullmatch(number):
        return None
    try:
        return parse(number, None)
    except NumberParseException:
        return None
