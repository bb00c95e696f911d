"""Recipients: phone numbers, normalised once on input, and business-scoped user ids."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import msgspec

FEWEST: Final = 7
MOST: Final = 15
"""Digits of a number, with its country code."""
_DROPPED = str.maketrans("", "", " .-()[]")
_NUMBER = re.compile(r"\+?([0-9]{7,15})", re.ASCII)
_USER_ID = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
"""Meta's id of a customer at one business, if they hide their number; `ENT`: at a group of businesses."""
_SIGNED_DIGITS = re.compile(r"\+?[0-9]*", re.ASCII)
_TRUNK_ZERO = re.compile(r"^ *((?:\+|00) *(?!39|378|225|242)[0-9]{1,3})[ .-]*\(0\)", re.ASCII)
"""In `+49 (0)30 …` the zero is only dialled within the country. In Italy, San Marino, Ivory Coast and the Congo it is
part of the number."""
_LOOK_ALIKES: Final = {
    **dict.fromkeys("\uff0b\ufe62\u207a", "+"),
    **dict.fromkeys("\uff0e\u00b7", "."),
    **dict.fromkeys("\uff08\uff3b", "("),
    **dict.fromkeys("\uff09\uff3d", ")"),
    "\u2212": "-",
}
_LIKE: Final = {"Zs": " ", "Pd": "-", "Cf": ""}
"""Spaces and dashes of all widths, and invisible marks, as copied from documents and address books."""


class InvalidPhone(msgspec.Struct, frozen=True):
    """Why a text is not a phone number."""

    reason: str


def is_user_id(text: str) -> bool:
    """Whether it is a business-scoped user id, such as `US.13491208655302741918`."""
    return _USER_ID.fullmatch(text) is not None


def address(text: str, region: str | None = None) -> str | InvalidPhone:
    """A WhatsApp recipient: a user id, unchanged, or a normalised phone number."""
    return text if is_user_id(text) else read(text, region)


def phone(text: str, region: str | None = None) -> str | None:
    """`+` and 7 to 15 digits, or None."""
    number = read(text, region)
    return number if isinstance(number, str) else None


def read(text: str, region: str | None = None) -> str | InvalidPhone:
    """`+` and 7 to 15 digits, or the reason; spaces, dots, dashes and brackets are dropped; a leading `00` is a `+`.

    An international number is accepted as written, whether or not it is assigned, and whichever form of a number in
    Brazil, Mexico or Argentina it is. National numbers are read only with a region.
    """
    found = _NUMBER.fullmatch(text.translate(_DROPPED))
    if found and "(0)" not in text and (text[0] == "+" or (region is None and found[1][0] != "0")):
        return f"+{found[1]}"
    return _read_slowly(text, region)


def _read_slowly(text: str, region: str | None) -> str | InvalidPhone:
    if len({ord(char) - unicodedata.decimal(char) for char in text if char.isdecimal()}) > 1:
        return InvalidPhone("mixes digits of different scripts: write it in one, e.g. +15550001111")
    plain = "".join(map(_plain, text))
    compact = plain.translate(_DROPPED)
    if not _SIGNED_DIGITS.fullmatch(compact):
        return InvalidPhone(_foreign(compact))
    if region is not None and compact and compact[0] != "+":
        return _read_at_home(plain, compact, region)
    written = len(compact.removeprefix("+"))
    if not FEWEST <= written <= MOST:
        return InvalidPhone(
            f"must be a phone number of {FEWEST} to {MOST} digits, e.g. +15550001111; this has {written}"
        )
    return f"+{_international(plain)}"


def _plain(char: str) -> str:
    """The ASCII equivalent of a look-alike; any other character unchanged."""
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return _LOOK_ALIKES.get(char, _LIKE.get(unicodedata.category(char), char))


def _foreign(compact: str) -> str:
    """Which character cannot be part of a phone number."""
    if "+" in compact[1:]:
        return "has a + that is not at the start: give one number, e.g. +15550001111"
    (char, *_) = (char for char in compact if char not in "+0123456789")
    return f"must be a phone number, e.g. +15550001111: {char!a} cannot be part of one"


def _international(plain: str) -> str:
    """The digits from the country code on; unchanged if too few would be left."""
    as_written = plain.translate(_DROPPED).removeprefix("+")
    number = _TRUNK_ZERO.sub(r"\1", plain).translate(_DROPPED)
    digits = number[1:] if number.startswith("+") else number.removeprefix("00")
    return digits if len(digits) >= FEWEST else as_written


def _read_at_home(plain: str, compact: str, region: str) -> str | InvalidPhone:
    from waypost.rules.content import national  # noqa: PLC0415  # takes 110 ms and 7 MB, only needed with a region

    abroad = _international(plain) if compact.startswith("00") else None
    number = national.read(compact, abroad, region)
    if number is None:
        return InvalidPhone(f"is not a number of {region} or of another country: write it with + and country code")
    return number
