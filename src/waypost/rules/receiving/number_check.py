"""The check of a number and its token, with a remedy for each result."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

import msgspec

from waypost.model.account import Number
from waypost.model.outcome import LookedUp, NumberRecord, ProviderRejected, Unreached, Unsure
from waypost.rules.limits.gates import of_number
from waypost.rules.operations.remedy import is_known, remedy


class NumberCheckState(StrEnum):
    WORKS = "works"
    NOT_READY = "not_ready"
    """The provider knows the number, but it cannot send yet."""
    TOKEN_REFUSED = "token_refused"  # noqa: S105  # the name of a state
    UNKNOWN_NUMBER = "unknown_number"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    SEALED = "sealed"
    """Its token cannot be decrypted here, so the provider was not asked."""


class NumberCheckResult(msgspec.Struct, frozen=True, kw_only=True):
    state: NumberCheckState
    said: str
    remedy: str | None = None
    code: str | None = None
    """The provider's error code, if it refused."""
    record: NumberRecord = msgspec.field(default_factory=NumberRecord)


_TOKEN = ("0", "102", "190", "463", "467")
_NO_SUCH_OBJECT = 33
_NOT_AN_OBJECT = ("803", "2500")
"""Codes for an id that does not exist at the provider."""
_ANOTHER_ID = "take the phone number ID: is this the id of the business account?"
_SENDS = (None, "CONNECTED", "FLAGGED", "RATE_LIMITED")


def verdict(answer: LookedUp, number: Number, graph_url: str) -> NumberCheckResult:
    match answer:
        case NumberRecord():
            return _known(answer)
        case ProviderRejected():
            return _refused(answer, number)
        case Unreached():
            text = f"the provider does not answer: {answer.reason}"
            return NumberCheckResult(state=NumberCheckState.UNREACHABLE, said=text, remedy=_reach(graph_url))
        case Unsure(response=None):
            text = f"the provider does not answer: {answer.reason}"
            return NumberCheckResult(state=NumberCheckState.UNREACHABLE, said=text, remedy=_reach(graph_url))
        case Unsure():
            text = f"what answers is not the Cloud API: {answer.reason}"
            return NumberCheckResult(
                state=NumberCheckState.UNREACHABLE,
                said=text,
                remedy=f"is {graph_url} the right address, and does it work?",
            )
        case _:
            assert_never(answer)


def sealed() -> NumberCheckResult:
    text, wanted = "its secrets cannot be opened", "set the WAYPOST_SECRET_KEY it was encrypted with"
    return NumberCheckResult(state=NumberCheckState.SEALED, said=text, remedy=wanted)


def _reach(graph_url: str) -> str:
    return f"is {graph_url} reachable from this server?"


def _known(record: NumberRecord) -> NumberCheckResult:
    if record.display_phone_number is None:
        text = "the provider knows the id, but it is not a phone number ID"
        return NumberCheckResult(state=NumberCheckState.UNKNOWN_NUMBER, said=text, remedy=_ANOTHER_ID)
    name = " ".join(filter(None, (record.verified_name, record.display_phone_number)))
    parts = [f"the provider knows it as {name}"]
    parts += [f"quality {record.quality}"] if record.quality else []
    parts += [f"messaging limit {record.messaging_limit}"] if record.messaging_limit else []
    if record.status in _SENDS:
        return NumberCheckResult(state=NumberCheckState.WORKS, said=", ".join(parts), record=record)
    parts.append(f"but its status is {record.status}")
    wanted = "see in WhatsApp Manager what it still needs"
    return NumberCheckResult(state=NumberCheckState.NOT_READY, said=", ".join(parts), remedy=wanted, record=record)


def _refused(answer: ProviderRejected, number: Number) -> NumberCheckResult:
    refusal, code, gate = f"{answer.code} {answer.message}", answer.code, of_number(number.id)
    if code in _TOKEN:
        text, wanted = f"the provider refuses the token: {refusal}", remedy("190", gate, number.org_id)
        return NumberCheckResult(state=NumberCheckState.TOKEN_REFUSED, said=text, remedy=wanted, code=code)
    if answer.subcode == _NO_SUCH_OBJECT or code in _NOT_AN_OBJECT:
        text = f"the provider knows no such number under this token: {refusal}"
        wanted = "check the phone number ID, and that the token is of an app that has this business account"
        return NumberCheckResult(state=NumberCheckState.UNKNOWN_NUMBER, said=text, remedy=wanted, code=code)
    if _is_permission(code):
        text, wanted = f"the token may not see the number: {refusal}", remedy(code, gate, number.org_id)
        return NumberCheckResult(state=NumberCheckState.TOKEN_REFUSED, said=text, remedy=wanted, code=code)
    wanted = remedy(code, gate, number.org_id) if is_known(code) else "try it again in a minute"
    return NumberCheckResult(
        state=NumberCheckState.REFUSED, said=f"the provider refuses the check: {refusal}", remedy=wanted, code=code
    )


def _is_permission(code: str) -> bool:
    return code in ("3", "10") or (len(code) == 3 and code.isascii() and code.isdecimal() and code[0] == "2")
