"""Injects faults: which calls a fault matches, and what it does to them.

Matchers: `to`, `type` (of the message; `read` and `typing` for receipts, which no other fault touches), `times`,
`probability`. Actions that refuse: `error_code` (a Graph error), `http_status` (that status, code 131000 unless
`error_code` is set), `raw_status` (a gateway's HTML page), `retry_after` (seconds in a Retry-After header;
alone it refuses with 130429). Actions on an accepted message: `status_error` (a `failed` status), `delay_ms`,
`drop_response`, `accept_then_raw_status`, `status_first`, `duplicate_statuses` (extra copies of each),
`reorder_statuses`, `statuses: "never"`, `echo: false`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from waypost.ports.platform.clock import RandomSource
from waypost.sandbox.content.recipients import phone_of
from waypost.sandbox.edge.graph_errors import RATE_LIMIT_HIT, SOMETHING_WENT_WRONG, GraphError, of_code

HttpStatus = Annotated[int, msgspec.Meta(ge=200, le=599)]
PositiveInt = Annotated[int, msgspec.Meta(ge=1)]
NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]

_MATCHERS = ("to", "type", "times", "probability")
_REFUSALS = ("error_code", "http_status", "raw_status", "retry_after")
RECEIPTS = ("read", "typing")


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    to: str | None = None
    type: str | None = None
    times: PositiveInt | None = None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    error_code: NonNegativeInt | None = None
    http_status: HttpStatus | None = None
    raw_status: HttpStatus | None = None
    retry_after: Annotated[float, msgspec.Meta(ge=0)] | None = None
    status_error: NonNegativeInt | None = None
    delay_ms: Annotated[float, msgspec.Meta(ge=0)] = 0
    drop_response: bool = False
    accept_then_raw_status: HttpStatus | None = None
    status_first: bool = False
    duplicate_statuses: NonNegativeInt = 0
    reorder_statuses: bool = False
    statuses: Literal["never"] | None = None
    echo: bool = True

    def actions(self) -> dict[str, Any]:
        """The actions by name; refusals share one name, since a call can be refused only once."""
        set_ = {name: value for name, value in msgspec.to_builtins(self).items() if name not in _MATCHERS}
        return {"refusal" if name in _REFUSALS else name: value for name, value in set_.items()}

    def refuses(self) -> bool:
        return any(getattr(self, name) is not None for name in _REFUSALS)


NO_FAULT = Fault()


class InvalidFault(Exception):
    """A fault without an action, or with an invalid phone number."""


class _Armed(msgspec.Struct):
    id: str
    fault: Fault
    left: int | None


class Faults:
    def __init__(self, random: RandomSource) -> None:
        self._random = random
        self._armed: list[_Armed] = []
        self._count = 0

    def add(self, fault: Fault) -> str:
        if not fault.actions():
            raise InvalidFault("a fault needs an action, such as error_code or drop_response")
        if fault.to is not None:
            fault = msgspec.structs.replace(fault, to=_known_phone(fault.to))
        self._count += 1
        self._armed.append(_Armed(f"fault-{self._count}", fault, fault.times))
        return self._armed[-1].id

    def clear(self) -> int:
        cleared = len(self._armed)
        self._armed.clear()
        return cleared

    def remove(self, fault_id: str) -> bool:
        kept = [armed for armed in self._armed if armed.id != fault_id]
        known = len(kept) < len(self._armed)
        self._armed = kept
        return known

    def listed(self) -> list[dict[str, Any]]:
        return [{"id": armed.id, **msgspec.to_builtins(armed.fault), "left": armed.left} for armed in self._armed]

    def take(self, phone: str, kind: str) -> Fault:
        """The combined faults of this call; uses up one time of each matching fault.

        Faults match in the order of adding. One whose action is already taken is kept for a later call.
        """
        if not self._armed:
            return NO_FAULT
        combined = NO_FAULT
        for armed in self._armed:
            if not combined.refuses() and self._matches(armed, combined, phone, kind):
                combined = _combined(combined, armed.fault)
                armed.left = armed.left and armed.left - 1
        self._armed = [armed for armed in self._armed if armed.left != 0]
        return combined

    def _matches(self, armed: _Armed, so_far: Fault, phone: str, kind: str) -> bool:
        fault = armed.fault
        matches_type = fault.type == kind or (fault.type is None and kind not in RECEIPTS)
        if not matches_type or fault.to not in (None, phone):
            return False
        if fault.actions().keys() & so_far.actions().keys():
            return False
        return fault.probability is None or self._random.unit() < fault.probability


def _known_phone(text: str) -> str:
    phone = phone_of(text)
    if phone is None:
        raise InvalidFault(f"to: {text!r} is not a phone number")
    return phone


def _combined(one: Fault, other: Fault) -> Fault:
    names = [name for name in msgspec.to_builtins(other) if name not in _MATCHERS]
    return msgspec.structs.replace(one, **{name: getattr(other, name) for name in names})


def refusal_of(fault: Fault) -> GraphError | None:
    """The Graph error with which a fault refuses a call, or None."""
    if fault.error_code is not None:
        return of_code(fault.error_code, fault.http_status)
    if fault.http_status is not None:
        return of_code(SOMETHING_WENT_WRONG, fault.http_status)
    return of_code(RATE_LIMIT_HIT) if fault.retry_after is not None else None


def retry_after_header(fault: Fault) -> tuple[tuple[bytes, bytes], ...]:
    if fault.retry_after is None:
        return ()
    return ((b"retry-after", f"{fault.retry_after:g}".encode()),)
