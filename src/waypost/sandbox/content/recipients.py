"""Recipients: phone numbers in any format, or business-scoped user ids."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from waypost.sandbox.edge.graph_errors import GraphError, bad_parameter, invalid

_DROPPED = str.maketrans("", "", " .-()[]")
_USER_ID = re.compile(r"[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}")
_OWN_USER_ID = re.compile(r"US\.1(\d{19})")
_MAGIC = "1555000"


class Recipient(msgspec.Struct, frozen=True):
    written: str
    """As the caller wrote it."""
    phone: str
    """Digits, or a user id that the sandbox did not issue."""
    by_user_id: bool = False


def phone_digits(text: str) -> str | None:
    """The digits of a phone number, or None if it is not one."""
    digits = text.translate(_DROPPED).removeprefix("+")
    valid = 7 <= len(digits) <= 15 and digits.isascii() and digits.isdigit()
    return digits if valid else None


def user_id_of(phone: str) -> str:
    """A user id that contains the phone, so that no table is needed."""
    return f"US.1{phone:0>19}" if phone.isdigit() else phone


def phone_of(text: str) -> str | None:
    """The phone behind a number or a user id."""
    if own := _OWN_USER_ID.fullmatch(text):
        return own[1].lstrip("0")
    return text if _USER_ID.fullmatch(text) else phone_digits(text)


def magic_code(phone: str) -> int | None:
    """The error code in a magic number: +1555000 followed by the code in at least six digits."""
    asked = phone.startswith(_MAGIC) and len(phone) >= len(_MAGIC) + 6 and phone.isdigit()
    return int(phone[len(_MAGIC) :]) if asked else None


def recipient_of(body: dict[str, Any]) -> Recipient | GraphError:
    """`to` takes precedence over `recipient`, as with Meta."""
    to = body.get("to")
    if to is None or to == "":
        return _by_user_id(body.get("recipient"))
    if not isinstance(to, str):
        return invalid("to", "must be a string")
    digits = phone_digits(to)
    if digits is None:
        return invalid("to", "is not a valid phone number")
    return Recipient(written=to, phone=digits)


def _by_user_id(user_id: object) -> Recipient | GraphError:
    if user_id is None or user_id == "":
        return bad_parameter("The parameter to is required.")
    if not isinstance(user_id, str) or not _USER_ID.fullmatch(user_id):
        return invalid("recipient", "is not a valid user id")
    return Recipient(written=user_id, phone=phone_of(user_id) or user_id, by_user_id=True)
