"""Who a message goes to: phone numbers, normalised once, at the edge, and business-scoped user ids."""

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
"""Meta's id of a customer at one business, for who keeps the phone number back; `ENT`: at a whole group of them."""
_SIGNED_DIGITS = re.compile(r"\+?[0-9]*", re.ASCII)
_TRUNK_ZERO = re.compile(r"^ *((?:\+|00) *(?!39|378|225|242)[0-9]{1,3})[ .-]*\(0\)", re.ASCII)
"""People write `+49 (0)30 …` for a zero that is dialled at home only. Italy, San Marino, Ivory Coast and the Congo
have theirs in the number itself."""
_LOOK_ALIKES: Final = {
    **dict.fromkeys("\uff0b\ufe62\u207a", "+"),
    **dict.fromkeys("\uff0e\u00b7", "."),
    **dict.fromkeys("\uff08\uff3b", "("),
    **dict.fromkeys("\uff09\uff3d", ")"),
    "\u2212": "-",
}
_LIKE: Final = {"Zs": " ", "Pd": "-", "Cf": ""}
"""Spaces and dashes of all widths, and marks that nobody sees: they come along from documents and address books."""


class Unreadable(msgspec.Struct, frozen=True):
    """Why a text is no phone number."""

    reason: str


def is_user_id(text: str) -> bool:
    """Whether it is a business-scoped user id, such as `US.13491208655302741918`."""
    return _USER_ID.fullmatch(text) is not None


def address(text: str, region: str | None = None) -> str | Unreadable:
    """Where WhatsApp can deliver: a user id, byte for byte as Meta gave it, or a phone number."""
    return text if is_user_id(text) else read(text, region)


def phone(text: str, region: str | None = None) -> str | None:
    """`+` and 7 to 15 digits, or None."""
    number = read(text, region)
    return number if isinstance(number, str) else None


def read(text: str, region: str | None = None) -> str | Unreadable:
    """`+` and 7 to 15 digits, or why not; spaces, dots, dashes and brackets are dropped, and `00` in front is a `+`.

    An international number is taken as it is written: whether it was ever given out, and which digits Brazil, Mexico
    and Argentina have in it, is not ours to judge. National forms are read where a region says whose they are.
    """
    found = _NUMBER.fullmatch(text.translate(_DROPPED))
    if found and "(0)" not in text and (text[0] == "+" or (region is None and found[1][0] != "0")):
        return f"+{found[1]}"
    return _read_slowly(text, region)


def _read_slowly(text: str, region: str | None) -> str | Unreadable:
    if len({ord(char) - unicodedata.decimal(char) for char in text if char.isdecimal()}) > 1:
        return Unreadable("mixes digits of different scripts: write it in one, e.g. +15550001111")
    plain = "".join(map(_plain, text))
    compact = plain.translate(_DROPPED)
    if not _SIGNED_DIGITS.fullmatch(compact):
        return Unreadable(_foreign(compact))
    if region is not None and compact and compact[0] != "+":
        return _read_at_home(plain, compact, region)
    written = len(compact.removeprefix("+"))
    if not FEWEST <= written <= MOST:
        return Unreadable(f"must be a phone number of {FEWEST} to {MOST} digits, e.g. +15550001111; this has {written}")
    return f"+{_international(plain)}"


def _plain(char: str) -> str:
    """The ASCII character that a look-alike stands for; any other as it is."""
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return _LOOK_ALIKES.get(char, _LIKE.get(unicodedata.category(char), char))


def _foreign(compact: str) -> str:
    """What is in it that no phone number has."""
    if "+" in compact[1:]:
        return "has a + that is not in front: one number at a time, e.g. +15550001111"
    (char, *_) = (char for char in compact if char not in "+0123456789")
    return f"must be a phone number, e.g. +15550001111: {char!a} cannot be part of one"


def _international(plain: str) -> str:
    """The digits from the country code on; where too few would be left, they stay as they were written."""
    as_written = plain.translate(_DROPPED).removeprefix("+")
    number = _TRUNK_ZERO.sub(r"\1", plain).translate(_DROPPED)
    digits = number[1:] if number.startswith("+") else number.removeprefix("00")
    return digits if len(digits) >= FEWEST else as_written


def _read_at_home(plain: str, compact: str, region: str) -> str | Unreadable:
    from waypost.rules import national  # noqa: PLC0415  # 110 ms and 7 MB that nobody without a region should pay

    abroad = _international(plain) if compact.startswith("00") else None
    number = national.read(compact, abroad, region)
    if number is None:
        return Unreadable(f"is no number of {region}, and none of another country: write it with + and country code")
    return number
