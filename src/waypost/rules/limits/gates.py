"""The gates that block a message, and how long each stays closed."""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec.structs import replace

from waypost.model.gate import Gate, GateClosing, GateId, GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, minutes
from waypost.model.webhook import StatusKind, StatusUpdate
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCatalogue, ErrorCode, ErrorScope, wait_for

PROBE_AFTER: Span = minutes(1)
"""How long a tripped breaker blocks everything, and the interval of its probes."""

NUMBER_DISABLED = "NUMBER_DISABLED"
TEMPLATE_PAUSED = "132015"

FORGIVEN_AFTER: Span = minutes(10)
"""After staying open this long, a gate starts with its shortest wait again."""

NEWS_FOR: Span = minutes(10)
"""How long a reported failure may close a gate; the provider redelivers statuses for days."""


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
    """A breaker does not open by itself: when its time is over, one message probes it."""
    return gate.kind is GateKind.BREAKER and not is_closed(gate, now)


def closed(before: Gate | None, closing: GateClosing, now: Instant) -> Gate:
    """The gate after one more reason to close it; a later end stays."""
    if before is not None and before.code == NUMBER_DISABLED:
        return before  # disabled by its owner: only its owner enables it again
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
    """Attempts that were running when it closed do not count as new refusals."""
    if before is None:
        return 1
    if before.until is None or now < before.until:
        return before.times
    return 1 if now > before.until + FORGIVEN_AFTER else before.times + 1


def _until(closing: GateClosing, times: int, now: Instant) -> Instant | None:
    match closing.kind:
        case GateKind.HOLD:
            return closing.until
        case GateKind.BREAKER:
            return Instant(now + PROBE_AFTER)
        case GateKind.THROTTLE:
            return Instant(now + wait_for(closing.wait, times, closing.retry_after))
        case _:
            assert_never(closing.kind)


def block(recipient: RecipientState, closing: GateClosing, now: Instant) -> RecipientState:
    """A throttle of one customer only: stored in the recipient state, without a gate."""
    times = _blocked_times(recipient, now)
    until = Instant(now + wait_for(closing.wait, times, closing.retry_after))
    return replace(recipient, blocked_until=max(until, recipient.blocked_until), blocked_times=times)


def _blocked_times(recipient: RecipientState, now: Instant) -> int:
    if now > recipient.blocked_until + FORGIVEN_AFTER:
        return 1
    return recipient.blocked_times if now < recipient.blocked_until else recipient.blocked_times + 1


class GateScope(msgspec.Struct, frozen=True, kw_only=True):
    """The scopes of a message from which gate names are made."""

    org_id: OrgId
    number: NumberId
    waba_id: str
    recipient: str
    template: str | None


def closing(row: ErrorCode, place: GateScope, reason: str, retry_after: float | None) -> GateClosing:
    """The gate that a code with action wait or hold closes."""
    kind = GateKind.THROTTLE if row.rate_limit else GateKind.HOLD
    name, pair = _scope(row.scope, place)
    return GateClosing(
        org_id=place.org_id,
        name=name,
        kind=kind,
        code=row.code,
        reason=reason,
        wait=row.wait,
        retry_after=retry_after,
        pair=pair,
    )


def paused_template(org: OrgId, name: GateName) -> GateClosing:
    """The gate that the report of a paused template closes, as the refusal of its next message would."""
    reason = "the provider has paused the template"
    return GateClosing(org_id=org, name=name, kind=GateKind.HOLD, code=TEMPLATE_PAUSED, reason=reason)


def _scope(scope: ErrorScope | None, place: GateScope) -> tuple[GateName, tuple[NumberId, str] | None]:
    match scope:
        case ErrorScope.PAIR:
            return of_pair(place.number, place.recipient), (place.number, place.recipient)
        case ErrorScope.ACCOUNT:
            return of_account(place.waba_id), None
        case ErrorScope.APP:  # an org's numbers are connected through one app of its own
            return of_org(place.org_id), None
        case ErrorScope.TEMPLATE if place.template:
            return of_template(place.waba_id, place.template), None
        case _:
            return of_number(place.number), None


def closing_for_failure(
    update: StatusUpdate, waba_id: str, catalogue: ErrorCatalogue, now: Instant
) -> GateClosing | None:
    """The gate that a failed status update closes, if its code concerns more than its own message.

    A status does not name its template, so a template code closes nothing here: the next direct answer will.
    """
    row = catalogue.find(update.error_code) if update.kind is StatusKind.FAILED and update.error_code else None
    if row is None or row.action not in (ErrorAction.WAIT, ErrorAction.HOLD) or row.scope is ErrorScope.TEMPLATE:
        return None
    if now > update.at + NEWS_FOR:
        return None
    place = GateScope(
        org_id=update.org_id, number=update.number, waba_id=waba_id, recipient=update.recipient, template=None
    )
    return replace(closing(row, place, update.error_message or row.title, None), code=update.error_code)
