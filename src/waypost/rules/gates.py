"""Which gates a message stands behind, and how long one stays closed."""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.gate import Closing, Gate, GateId, GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.pair import Pair
from waypost.model.report import ReportKind, StatusReport
from waypost.model.time import Instant, Span, minutes
from waypost.rules.catalogue import Action, Catalogue, ErrorCode, Scope, wait_for

PROBE_AFTER: Span = minutes(1)
"""How long an open breaker lets nothing through, and how often it then probes."""

NUMBER_DISABLED = "NUMBER_DISABLED"

FORGIVEN_AFTER: Span = minutes(10)
"""A gate that stayed open for this long begins with its shortest wait again."""

NEWS_FOR: Span = minutes(10)
"""How long a reported failure says something about the present; a status is delivered again for days."""


def of_org(org: OrgId) -> GateName:
    return GateName(f"org:{org}")


def of_number(number: NumberId | str) -> GateName:
    return GateName(f"number:{number}")


def of_account(waba_id: str) -> GateName:
    return GateName(f"account:{waba_id}")


def of_template(waba_id: str, template: str) -> GateName:
    return GateName(f"template:{waba_id}/{template}")


def of_pair(number: NumberId | str, recipient: str) -> GateName:
    return GateName(f"pair:{number}/{recipient}")


def is_closed(gate: Gate, now: Instant) -> bool:
    return gate.until is None or now < gate.until


def wants_probe(gate: Gate, now: Instant) -> bool:
    """A breaker does not open by itself: when its time is up, one message finds out."""
    return gate.kind is GateKind.BREAKER and not is_closed(gate, now)


def closed(before: Gate | None, closing: Closing, now: Instant) -> Gate:
    """The gate after one more reason to close it; what it was closed for longer stands."""
    if before is not None and before.code == NUMBER_DISABLED:
        return before  # what its owner said stands until its owner says otherwise
    times = _times(before, now)
    until = _until(closing, times, now)
    fresh = Gate(
        id=before.id if before else GateId(0),
        org_id=closing.org_id,
        name=closing.name,
        kind=closing.kind,
        code=closing.code,
        reason=closing.reason,
        since=now,
        until=until,
        times=times,
    )
    if before is None or not is_closed(before, now):
        return fresh
    longer = None if until is None or before.until is None else Instant(max(until, before.until))
    return replace(fresh, since=before.since, until=longer)


def _times(before: Gate | None, now: Instant) -> int:
    """Tries that were under way when it closed are no new refusal."""
    if before is None:
        return 1
    if before.until is None or now < before.until:
        return before.times
    return 1 if now > before.until + FORGIVEN_AFTER else before.times + 1


def _until(closing: Closing, times: int, now: Instant) -> Instant | None:
    match closing.kind:
        case GateKind.HOLD:
            return closing.until
        case GateKind.BREAKER:
            return Instant(now + PROBE_AFTER)
        case GateKind.THROTTLE:
            return Instant(now + wait_for(closing.wait, times, closing.retry_after))
        case _:
            assert_never(closing.kind)


def block(pair: Pair, closing: Closing, now: Instant) -> Pair:
    """A throttle of one customer only: it stands with the pair, and its few messages wait for their time."""
    times = _blocked_times(pair, now)
    until = Instant(now + wait_for(closing.wait, times, closing.retry_after))
    return replace(pair, blocked_until=max(until, pair.blocked_until), blocked_times=times)


def _blocked_times(pair: Pair, now: Instant) -> int:
    if now > pair.blocked_until + FORGIVEN_AFTER:
        return 1
    return pair.blocked_times if now < pair.blocked_until else pair.blocked_times + 1


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message stands: everything that a gate in front of it is named after."""

    org_id: OrgId
    number: NumberId
    waba_id: str
    recipient: str
    template: str | None


def closing(row: ErrorCode, place: Place, reason: str, retry_after: float | None) -> Closing:
    """What a code of action wait or hold closes."""
    kind = GateKind.THROTTLE if row.rate_limit else GateKind.HOLD
    name, pair = _scope(row.scope, place)
    return Closing(
        org_id=place.org_id,
        name=name,
        kind=kind,
        code=row.code,
        reason=reason,
        wait=row.wait,
        retry_after=retry_after,
        pair=pair,
    )


def _scope(scope: Scope | None, place: Place) -> tuple[GateName, tuple[NumberId, str] | None]:
    match scope:
        case Scope.PAIR:
            return of_pair(place.number, place.recipient), (place.number, place.recipient)
        case Scope.ACCOUNT:
            return of_account(place.waba_id), None
        case Scope.APP:  # an org's numbers are connected through one app of its own
            return of_org(place.org_id), None
        case Scope.TEMPLATE if place.template:
            return of_template(place.waba_id, place.template), None
        case _:
            return of_number(place.number), None


def reported(told: StatusReport, waba_id: str, catalogue: Catalogue, now: Instant) -> Closing | None:
    """What a failure that came by webhook closes, if its code concerns more than its own message.

    A status does not name its template, so the code of one closes nothing: the next direct answer will.
    """
    row = catalogue.find(told.error_code) if told.kind is ReportKind.FAILED and told.error_code else None
    if row is None or row.action not in (Action.WAIT, Action.HOLD) or row.scope is Scope.TEMPLATE:
        return None
    if now > told.at + NEWS_FOR:
        return None
    place = Place(org_id=told.org_id, number=told.number, waba_id=waba_id, recipient=told.recipient, template=None)
    return replace(closing(row, place, told.error_message or row.title, None), code=told.error_code)
