"""What the provider's answer says of a number and its token, and what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

import msgspec

from waypost.model.account import Number
from waypost.model.outcome import LookedUp, NumberRecord, Rejected, Unreached, Unsure
from waypost.rules.gates import of_number
from waypost.rules.remedy import is_known, remedy


class Trial(StrEnum):
    WORKS = "works"
    NOT_READY = "not_ready"
    """The provider knows it, but it cannot send as it is."""
    TOKEN_REFUSED = "token_refused"  # noqa: S105  # the name of a state
    UNKNOWN_NUMBER = "unknown_number"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    SEALED = "sealed"
    """Its token cannot be opened here, so nothing was asked."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    state: Trial
    said: str
    remedy: str | None = None
    code: str | None = None
    """The provider's, where it refused."""
    record: NumberRecord = msgspec.field(default_factory=NumberRecord)


_TOKEN = ("0", "102", "190", "463", "467")
_NO_SUCH_OBJECT = 33
_NOT_AN_OBJECT = ("803", "2500")
"""What the provider says of an id that cannot be one of its own."""
_ANOTHER_ID = "take the phone number ID: is this the id of the business account?"
_SENDS = (None, "CONNECTED", "FLAGGED", "RATE_LIMITED")


def verdict(answer: LookedUp, number: Number, graph_url: str) -> Verdict:
    match answer:
        case NumberRecord():
            return _known(answer)
        case Rejected():
            return _refused(answer, number)
        case Unreached():
            said = f"the provider does not answer: {answer.reason}"
            return Verdict(state=Trial.UNREACHABLE, said=said, remedy=_reach(graph_url))
        case Unsure(response=None):
            said = f"the provider does not answer: {answer.reason}"
            return Verdict(state=Trial.UNREACHABLE, said=said, remedy=_reach(graph_url))
        case Unsure():
            said = f"what answers is not the Cloud API: {answer.reason}"
            return Verdict(state=Trial.UNREACHABLE, said=said, remedy=f"is {graph_url} the right address, and well?")
        case _:
            assert_never(answer)


def sealed() -> Verdict:
    said, wanted = "its secrets cannot be opened", "set the WAYPOST_SECRET_KEY it was sealed with"
    return Verdict(state=Trial.SEALED, said=said, remedy=wanted)


def _reach(graph_url: str) -> str:
    return f"is {graph_url} reachable from this server?"


def _known(record: NumberRecord) -> Verdict:
    if record.display_phone_number is None:
        said_so = "the provider knows the id, but it is no phone number's"
        return Verdict(state=Trial.UNKNOWN_NUMBER, said=said_so, remedy=_ANOTHER_ID)
    name = " ".join(filter(None, (record.verified_name, record.display_phone_number)))
    said = [f"the provider knows it as {name}"]
    said += [f"quality {record.quality}"] if record.quality else []
    said += [f"messaging limit {record.messaging_limit}"] if record.messaging_limit else []
    if record.status in _SENDS:
        return Verdict(state=Trial.WORKS, said=", ".join(said), record=record)
    said.append(f"but its status is {record.status}")
    wanted = "see in WhatsApp Manager what it still needs"
    return Verdict(state=Trial.NOT_READY, said=", ".join(said), remedy=wanted, record=record)


def _refused(answer: Rejected, number: Number) -> Verdict:
    told, code, gate = f"{answer.code} {answer.message}", answer.code, of_number(number.id)
    if code in _TOKEN:
        said, wanted = f"the provider refuses the token: {told}", remedy("190", gate, number.org_id)
        return Verdict(state=Trial.TOKEN_REFUSED, said=said, remedy=wanted, code=code)
    if answer.subcode == _NO_SUCH_OBJECT or code in _NOT_AN_OBJECT:
        said = f"the provider knows no such number under this token: {told}"
        wanted = "check the phone number ID, and that the token is of an app that has this business account"
        return Verdict(state=Trial.UNKNOWN_NUMBER, said=said, remedy=wanted, code=code)
    if _is_permission(code):
        said, wanted = f"the token may not see the number: {told}", remedy(code, gate, number.org_id)
        return Verdict(state=Trial.TOKEN_REFUSED, said=said, remedy=wanted, code=code)
    wanted = remedy(code, gate, number.org_id) if is_known(code) else "try it again in a minute"
    return Verdict(state=Trial.REFUSED, said=f"the provider refuses to say: {told}", remedy=wanted, code=code)


def _is_permission(code: str) -> bool:
    return code in ("3", "10") or (len(code) == 3 and code.isascii() and code.isdecimal() and code[0] == "2")
