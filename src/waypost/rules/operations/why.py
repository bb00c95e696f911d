"""Why a message has its status and what happens next, in one line."""

from __future__ import annotations

import msgspec

from waypost.model.ids import MessageId
from waypost.model.message import Delivery, Message, Status
from waypost.model.time import Instant, Span, as_seconds, seconds, to_datetime
from waypost.rules.operations.remedy import remedy
from waypost.rules.operations.timeline import AnsweredTurn
from waypost.rules.sending.deferral import Deferral, next_retry_at

SILENT_AFTER: Span = seconds(30)
"""Workers report every few seconds; without a report for this long, none is running."""


class WhyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that the message itself does not contain."""

    deferred: Deferral | None = None
    head: MessageId | None = None
    """The first message of its ordered queue, if it waits in one."""
    ready_since: Instant | None = None
    worker_seen_at: Instant | None = None
    answers: AnsweredTurn | None = None
    """The turn, for a bot's reply."""


def why(message: Message, known: WhyFacts, now: Instant) -> str:
    reason = _why(message, known, now)
    return reason if known.answers is None else f"{reason}. It answers turn {known.answers.id}"


def _why(message: Message, known: WhyFacts, now: Instant) -> str:
    delivery = message.delivery
    match delivery.status:
        case Status.QUEUED:
            return _why_queued(message, known, now)
        case Status.SENDING:
            return _why_sending(delivery, now)
        case Status.SENT:
            return "the provider has it; no delivery was reported yet"
        case Status.DELIVERED:
            return "read by the recipient" if delivery.read_at else "delivered; no reading was reported yet"
        case _:
            return _why_ended(delivery)


def next_at(message: Message, known: WhyFacts, now: Instant) -> Instant | None:
    """When the next automatic change happens, if known."""
    delivery = message.delivery
    if delivery.status is not Status.QUEUED:
        return None
    if delivery.due_at is not None and delivery.due_at > now:
        return delivery.due_at
    return next_retry_at(delivery, known.deferred) if known.deferred else None


def _why_queued(message: Message, known: WhyFacts, now: Instant) -> str:
    delivery = message.delivery
    silence = _silence(known, now)
    if known.deferred is not None:
        return _also(_deferred(known.deferred, message, now), silence)
    if delivery.due_at is not None and delivery.due_at > now:
        return _also(_in_time(delivery, now), silence)
    if known.head is not None:
        return _also(f"ordered, and behind message {known.head}: it is sent after that one", silence)
    if silence is not None:
        return f"due, but {silence}: start one with `waypost serve --roles worker`"
    since = f" since {_span(now - known.ready_since)}" if known.ready_since is not None else ""
    return f"due{since}: nothing blocks it, the next free worker sends it"


def _also(reason: str, silence: str | None) -> str:
    return reason if silence is None else f"{reason}. Also, {silence}"


def _silence(known: WhyFacts, now: Instant) -> str | None:
    """Set if no worker is running; a busy worker counts as running."""
    if known.worker_seen_at is None:
        return "no worker has ever run on this database"
    quiet_for = now - known.worker_seen_at
    return None if quiet_for <= SILENT_AFTER else f"no worker is running: none was seen for {_span(quiet_for)}"


def _in_time(delivery: Delivery, now: Instant) -> str:
    due = _moment(delivery.due_at, now)
    if delivery.error_code is None:
        return f"scheduled: it will be sent {due}"
    return (
        f"attempt {delivery.tries} failed with {delivery.error_code} ({delivery.error_message}); the next comes {due}"
    )


_RULES = {
    "quota": "the org's quota is used up",
    "throttle": "the provider asked us to wait",
    "pacing": "it is not its turn yet",
    "breaker": "the provider fails too often, so sending is interrupted",
    "hold": "it is held",
    "quiet": "the org's quiet hours apply at the recipient's local time",
}
_ONE_CUSTOMER = "with this customer only, so no gate is listed"
_HELP = {
    "quota": ", or at once when the quota is raised: `waypost admin set-quota {org} N`",
    "breaker": ", when one message tests whether it works again",
}


def _deferred(deferred: Deferral, message: Message, now: Instant) -> str:
    rule = _RULES.get(deferred.by, f"the rule {deferred.by} defers it")
    closed = f" ({deferred.gate or _ONE_CUSTOMER})" if deferred.gate or deferred.by == "throttle" else ""
    cause = deferred.reason or _last_words(message.delivery)
    reason = f": {cause}" if cause else ""
    until = "when a person opens it" if deferred.until is None else _moment(deferred.until, now)
    org = message.draft.org_id
    help_ = f": {remedy(deferred.code, deferred.gate, org)}" if deferred.by == "hold" else _HELP.get(deferred.by, "")
    return f"{rule}{closed}{reason}; it continues {until}{help_.format(org=org)}"


def _last_words(delivery: Delivery) -> str:
    return f"{delivery.error_code} {delivery.error_message}" if delivery.error_code else ""


def _moment(at: Instant | None, now: Instant) -> str:
    if at is None:
        return "at no known time"
    return f"at {to_datetime(at):%Y-%m-%d %H:%M:%S}Z, in {_span(max(0, at - now))}"


def _span(span: int) -> str:
    whole = max(0, as_seconds(span))
    if whole < 120:
        return f"{whole:.0f} s"
    return f"{whole / 60:.0f} min" if whole < 7200 else f"{whole / 3600:.1f} h"


def _why_sending(delivery: Delivery, now: Instant) -> str:
    if delivery.parked:
        return "parked: it is unknown whether the provider has it. Retry it, or leave it as it is"
    if delivery.owner is None:
        return f"unsure: {delivery.error_message}. A status update settles it, or the stale limit requeues it"
    ago = _span(now - (delivery.claimed_at or now))
    return f"claimed {ago} ago; if its worker is gone, a status update settles it, or the stale limit requeues it"


def _why_ended(delivery: Delivery) -> str:
    if delivery.error_code is None:
        return "cancelled by a person"
    return f"ended by {delivery.error_code}: {delivery.error_message}"
