"""The invariants, checked from outside: callers' answers, the provider's record, and the API at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations

from waypost.model.time import Instant, to_datetime
from waypost_testing.simulation import START
from waypost_testing.stories.record import ObservedMessage, ObservedView
from waypost_testing.stories.sending import policies
from waypost_testing.stories.sending.customers import FORGED, FORGED_WAMID
from waypost_testing.stories.sending.evidence import AcceptedCall, Evidence, MessageCase
from waypost_testing.stories.verdict import (
    CLIMBS,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    POLICY,
    TENANCY,
    SimulationFinding,
)

RANK = {"QUEUED": 0, "SENDING": 0, "SENT": 1, "DELIVERED": 2}
PARKED = "it is unknown whether the provider has this message"
"""How the API shows an attempt that was given up and left to a person."""
TERMINAL = ("DELIVERED", "FAILED", "CANCELLED")


Checker = Callable[[Evidence, Counter[str]], Iterator[SimulationFinding]]


def _name(case: MessageCase, view: ObservedMessage | None = None) -> str:
    return f"message {view.id} ({case.wish.text})" if view else case.wish.text


# No bug


def no_bug(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every error was handled, every caller got a sensible answer, and the invariant checks found nothing."""
    checked[NO_BUG] += 1
    for complaint in evidence.ending.complaints:
        yield complaint.where, f"{complaint.message}: {complaint.error!r}"
    for finding in evidence.ending.detected:
        yield finding.subject, f"the loss detector says {finding.invariant.value}"
    for surprise in evidence.record.surprises:
        yield "a caller", surprise


# No loss


def no_loss(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every acknowledged message exists in its right status; every message on a phone is in the database."""
    for case in evidence.cases:
        if case.wish.ids:
            checked[NO_LOSS] += 1
        stored = {view.id for view in case.views}
        for missing in sorted(case.wish.ids - stored):
            yield _name(case), f"was acknowledged as message {missing}, which does not exist"
        if case.accepted and not stored:
            yield _name(case), f"is on the phone ({case.accepted[0].wamid}) and not in the database"
        for view in case.views:
            yield from ((_name(case, view), seen) for seen in _not_at_rest(evidence, case, view))
            yield from ((_name(case, view), seen) for seen in _wrong_status(evidence, case, view))
    for wamid, acknowledged in evidence.record.inbound.items():
        checked[NO_LOSS] += 1
        kept = evidence.ending.logged.get(wamid, 0)
        if (acknowledged and not kept) or kept > 1:
            yield f"inbound {wamid}", f"is in the log {kept} times; acknowledged: {acknowledged}"


def _not_at_rest(evidence: Evidence, case: MessageCase, view: ObservedMessage) -> Iterator[str]:
    """In the end a message is final, or it waits and shows the reason."""
    match view.status:
        case "QUEUED" if not _waits_visibly(evidence, case, view):
            yield f"is QUEUED for no visible reason (next try {view.next_retry_at}, error {view.error_code})"
        case "FAILED" if view.error_code is None:
            yield "is FAILED and does not say why"
        case "SENDING" if PARKED not in (view.error_message or ""):
            yield f"is SENDING and not parked ({view.error_code}: {view.error_message})"
        case _:
            pass


def _waits_visibly(evidence: Evidence, case: MessageCase, view: ObservedMessage) -> bool:
    """It waits for its own time, for a gate that it names, or for an earlier message of its queue that does."""
    if _not_due(evidence, view) or view.deferred_by == "hold":
        return True
    others = [other for other in evidence.cases if other.wish.stream == case.wish.stream and other is not case]
    waiting = [v for other in others for v in other.views if v.status == "QUEUED"]
    return case.wish.stream is not None and any(_not_due(evidence, v) or v.deferred_by == "hold" for v in waiting)


def _not_due(evidence: Evidence, view: ObservedMessage) -> bool:
    now = to_datetime(Instant(START + evidence.ending.micros))
    return any(moment is not None and moment > now for moment in (view.next_retry_at, view.scheduled_at))


def _wrong_status(evidence: Evidence, case: MessageCase, view: ObservedMessage) -> Iterator[str]:
    calls = _latest_generation(evidence, case)
    reported = {posted.kind for call in calls for posted in call.posted}
    if view.status in ("SENT", "DELIVERED") and not calls:
        yield f"is {view.status}, and the provider accepted no call of its present generation"
    if view.status == "DELIVERED" and not reported & {"delivered", "read"}:
        yield "is DELIVERED, and the provider never said so"
    for call in calls:
        yield from _not_followed(evidence, calls, call, view)


def _not_followed(
    evidence: Evidence, calls: list[AcceptedCall], call: AcceptedCall, view: ObservedMessage
) -> Iterator[str]:
    """A status that the provider delivered, and that could be matched to the message, must show."""
    known = call.acknowledged if evidence.linked(call) else set()
    acknowledged = (
        f"{call.wamid}: acknowledged {sorted(known)}, answered {evidence.answered(call)}; it is {view.status}"
    )
    ended = view.status in ("FAILED", "CANCELLED")
    if ended and _rightly_ended(evidence, calls, call, view):
        return
    if view.status not in _right_statuses(known, evidence.answered(call)):
        yield acknowledged
    elif "read" in known and view.read_at is None:
        yield f"{acknowledged}, unread"


def _right_statuses(known: set[str], answered: bool) -> tuple[str, ...]:
    """The statuses that a message may show after these reports of the provider."""
    if known & {"delivered", "read"}:
        return ("DELIVERED",)
    if "failed" in known:
        return ("FAILED", "DELIVERED")
    if known or answered:
        return ("SENT", "DELIVERED")
    return tuple(RANK) + TERMINAL


def _rightly_ended(evidence: Evidence, calls: list[AcceptedCall], call: AcceptedCall, view: ObservedMessage) -> bool:
    """The provider failed it; or it was silent for so long that a later attempt, or a person, ended it first."""
    if view.status == "FAILED" and any("failed" in {p.kind for p in each.posted} for each in calls):
        return True
    acknowledged = call.acknowledged_at if call.acknowledged_at is not None else evidence.ending.micros
    if not evidence.silent_until(call, acknowledged):
        return False
    return view.status == "CANCELLED" or evidence.tried_again(call)


def _latest_generation(evidence: Evidence, case: MessageCase) -> list[AcceptedCall]:
    """None if it was not attempted since a user retried it: earlier calls do not decide its outcome then."""
    org = case.wish.org
    if any(view.status == "CANCELLED" and view.attempt_count == 0 for view in case.views):
        return []
    attempts = [each for view in case.views for each in evidence.ending.attempts.get((org, view.id), [])]
    latest = max((each.generation for each in attempts), default=1)
    return [call for call in case.accepted if evidence.generation(org, call) == latest]


# No double


def no_double(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """One message per key; one accepted call per message and generation, with one named exception."""
    for case in evidence.cases:
        checked[NO_DOUBLE] += 1
        if len(case.wish.ids) > 1 or len(case.views) > 1:
            ids = sorted(case.wish.ids | {view.id for view in case.views})
            yield _name(case), f"one key became the messages {ids}"
        yield from ((_name(case), seen) for seen in _doubles(evidence, case))


def _doubles(evidence: Evidence, case: MessageCase) -> Iterator[str]:
    org = case.wish.org
    by_generation: dict[int, list[AcceptedCall]] = {}
    for call in case.accepted:
        by_generation.setdefault(evidence.generation(org, call), []).append(call)
    asked = sum(len(evidence.record.retried.get((org, view.id), ())) for view in case.views)
    if len(by_generation) > 1 + asked:
        yield f"was accepted in {len(by_generation)} generations, and a person asked {asked} times for a new one"
    for calls in by_generation.values():
        for earlier, later in combinations(calls, 2):
            if not evidence.excused(earlier, later):
                yield _sent_twice(evidence, earlier, later)


def _sent_twice(evidence: Evidence, earlier: AcceptedCall, later: AcceptedCall) -> str:
    acknowledged = earlier.acknowledged_at
    words = [
        f"accepted as {earlier.stamp} and again, {(later.at - earlier.at) / 1e6:.1f} s later, as {later.stamp}",
        f"answered: {evidence.answered(earlier)}",
        "never reported"
        if acknowledged is None
        else f"first status acknowledged {(acknowledged - earlier.at) / 1e6:.1f} s after",
        f"servers up for {evidence.record.open_between(earlier.at, later.at) / 1e6:.1f} s in between",
        f"policy {evidence.ending.policy.value}",
    ]
    return "; ".join(words)


# Order


def order(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """In a stream submitted one by one, every call comes after all calls of earlier messages."""
    streams: dict[str, list[MessageCase]] = {}
    for case in evidence.cases:
        if case.wish.stream is not None:
            streams.setdefault(case.wish.stream, []).append(case)
    ranks = {call.wamid: rank for rank, call in enumerate(evidence.acceptances)}
    for stream, cases in streams.items():
        reached, by = -1, ""
        for case in sorted(cases, key=lambda each: each.wish.place):
            first = [ranks[c.wamid] for c in case.accepted if evidence.generation(case.wish.org, c) == 1]
            checked[ORDER] += len(first)
            if first and min(first) < reached:
                yield stream, f"{case.wish.text} was accepted before {by}, which was submitted first"
            if first and max(first) > reached:
                reached, by = max(first), case.wish.text


# Policy


def policy(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """No freeform outside the window, none above the quota, none while throttled, held or disabled, none without
    consent, none after its time. policies.py says how each is judged, and with what tolerance."""
    for rule in policies.ALL:
        for subject, seen in rule(evidence):
            if seen is None:
                checked[POLICY] += 1
            else:
                yield subject, seen


# Status climbs


def climbs(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Of two answers that do not overlap, the later one is not lower, unless a user asked for a new generation."""
    for (org, message_id), answers_seen in evidence.record.views.items():
        final = evidence.ending.views.get((org, message_id))
        now = evidence.ending.micros
        answers = [*answers_seen, ObservedView(now, now, final)] if final else answers_seen
        retried = evidence.record.retried.get((org, message_id), [])
        for one, other in combinations(answers, 2):
            first, second = (one, other) if one.answered <= other.asked else (other, one)
            if first.answered > second.asked:
                continue
            checked[CLIMBS] += 1
            reopened = any(each.asked < second.answered and each.until > first.asked for each in retried)
            if not reopened and (fall := _fall(first.view, second.view)):
                yield f"message {message_id} of {org}", fall
    yield from _sent_after_the_end(evidence)


def _fall(first: ObservedMessage, second: ObservedMessage) -> str | None:
    if first.status in TERMINAL and second.status != first.status:
        return f"was {first.status}, then {second.status}"
    if RANK.get(second.status, 3) < RANK.get(first.status, 3):
        return f"was {first.status}, then {second.status}"
    for moment in ("sent_at", "delivered_at", "read_at", "provider_message_id"):
        if getattr(first, moment) is not None and getattr(second, moment) != getattr(first, moment):
            return f"had {moment} {getattr(first, moment)}, then {getattr(second, moment)}"
    return None


def _sent_after_the_end(evidence: Evidence) -> Iterator[SimulationFinding]:
    """A cancel that was answered 200 means that the message is never sent."""
    for case in evidence.cases:
        for view in case.views:
            at = evidence.record.cancelled.get((case.wish.org, view.id))
            if at is None or evidence.retried(case.wish.org, view):
                continue
            for call in case.accepted:
                if call.at > at:
                    yield _name(case, view), f"was cancelled and sent {(call.at - at) / 1e6:.1f} s later"


# Tenancy


def tenancy(evidence: Evidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """An intruder's requests were refused, and its forged statuses show nowhere."""
    checked[TENANCY] += evidence.record.intrusions
    for breach in evidence.record.breaches:
        yield "an intruder", breach
    for case in evidence.cases:
        reads = {posted.kind for call in case.accepted for posted in call.posted}
        for view in case.views:
            if view.error_code == FORGED or view.provider_message_id == FORGED_WAMID:
                yield _name(case, view), f"shows a forged status: {view.error_code}, {view.provider_message_id}"
            if view.read_at is not None and "read" not in reads:
                yield _name(case, view), "was read, and only a forged status said so"


CHECKERS: tuple[tuple[str, Checker], ...] = (
    (NO_BUG, no_bug),
    (NO_LOSS, no_loss),
    (NO_DOUBLE, no_double),
    (ORDER, order),
    (POLICY, policy),
    (CLIMBS, climbs),
    (TENANCY, tenancy),
)
