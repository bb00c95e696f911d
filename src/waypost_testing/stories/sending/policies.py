"""The rules before a send, judged from outside: by the servers' requests, customers' messages, operators' changes.

Each moment is judged by the Ledger's clock, whatever the clock of the server that acted shows. A message that was
claimed before a change may still go after it: ALREADY_CLAIMED is that tolerance, also for a server that stood still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from waypost.model.time import Span, days, seconds
from waypost_testing.simulation import START
from waypost_testing.stories.record import ProviderRequest
from waypost_testing.stories.sending.callers import LONGEST_ECHO
from waypost_testing.stories.sending.evidence import Evidence

WINDOW: Span = days(1)
ALREADY_CLAIMED: Span = seconds(5)
"""Between a claim and its call lie the number's pace (0.1 s) and a look at the number: the Ledger at its slowest takes
some 0.1 s for it. The same span covers a gate that is on its way into the Ledger. Nothing claimed later is excused."""
AT_ONCE: Span = seconds(0.01)
"""The rules are checked again right before the call; a clock jump may fall into the same moment."""
THROTTLES = {130429: "number", 131056: "pair", 4: "account", 80007: "account"}
"""Provider codes that close a gate for a while, and their scopes; each org here has one of each."""
HOLDS = (190,)

Seen = Iterator[tuple[str, str | None]]
"""The subject, and what was seen; None counts one more case in which the rule was kept."""
Rule = Callable[[Evidence], Seen]


def _ago(later: int, earlier: int) -> str:
    return f"{(later - earlier) / 1e6:.1f} s"


# Time


def outside_the_window(evidence: Evidence) -> Seen:
    """A freeform call needs a message of the customer, by its own time, younger than 24 hours."""
    for sent in evidence.record.sent:
        if sent.template:
            continue
        clock = START + sent.at + min(evidence.skews(sent.at - AT_ONCE, sent.at + AT_ONCE))
        written = evidence.record.written.get((sent.number, sent.to), [])
        latest = max((at for at in written if at <= START + sent.at), default=None)
        if latest is None:
            yield sent.text, f"went as {sent.stamp} to a customer who never wrote"
        elif clock >= latest + WINDOW:
            yield sent.text, f"went as {sent.stamp}, {_ago(clock, latest + WINDOW)} after the window had closed"
        else:
            yield sent.text, None


def after_its_time(evidence: Evidence) -> Seen:
    expires = {w.text: w.expires_at for w in evidence.record.wishes.values() if w.expires_at is not None}
    for sent in evidence.record.sent:
        if sent.text not in expires:
            continue
        clock = START + sent.at + min(evidence.skews(sent.at - AT_ONCE, sent.at + AT_ONCE))
        late = clock >= expires[sent.text]
        yield sent.text, f"went {_ago(clock, expires[sent.text])} after it had expired" if late else None


# Quota


def above_the_quota(evidence: Evidence) -> Seen:
    """A run is shorter than a quota's day, so an org's calls count together; a definite refusal returns its permit."""
    for org, limits in evidence.record.limits.items():
        counted = [sent for sent in evidence.record.sent if sent.text.startswith(f"{org}:") and _may_be_there(sent)]
        for place, sent in enumerate(sorted(counted, key=lambda each: each.at), 1):
            most = _most(limits, sent.at - ALREADY_CLAIMED, sent.at)
            yield sent.text, None if place <= most else f"was the {place}th call of {org}, whose quota is {most}"


def _may_be_there(sent: ProviderRequest) -> bool:
    return sent.wamid is not None or not (sent.unreached or sent.refused)


def _most(limits: list[tuple[int, int]], since: int, until: int) -> int:
    """The highest limit that was in force at some moment in between."""
    starts = [at for at, _ in limits[1:]] + [until + 1]
    return max(most for (at, most), end in zip(limits, starts, strict=True) if at <= until and end >= since)


# Gates


@dataclass(frozen=True)
class ClosedScope:
    """A scope that is closed for a while."""

    number: str
    to: str | None
    since: int
    stored: int
    """When the Ledger knew it, at the latest."""
    until: int
    """By the simulated clock, or, with `by_clock`, by the Ledger's."""
    why: str
    by_clock: bool = False


def through_a_closed_gate(evidence: Evidence) -> Seen:
    """Throttled, held or disabled: nothing claimed since then is sent, from any server, until it is over."""
    for shut in [*_throttled(evidence), *_held(evidence), *_disabled(evidence)]:
        for sent in evidence.record.sent:
            if sent.number != shut.number or shut.to not in (None, sent.to) or sent.at <= shut.stored + ALREADY_CLAIMED:
                continue
            skew = max(evidence.skews(sent.at - ALREADY_CLAIMED, sent.at)) if shut.by_clock else 0
            if sent.at + skew < shut.until and not evidence.record.troubled(shut.since, sent.at):
                yield sent.text, f"went as {sent.stamp}, {_ago(sent.at, shut.since)} after {shut.why}"
        yield shut.why, None


def _throttled(evidence: Evidence) -> Iterator[ClosedScope]:
    for sent, answered in _refused(evidence):
        refusal = sent.refused
        if refusal is None or refusal.code not in THROTTLES or not refusal.retry_after:
            continue
        skew = min(evidence.skews(answered, answered + ALREADY_CLAIMED))
        until = answered + skew + round(refusal.retry_after * 1_000_000)
        to = sent.to if THROTTLES[refusal.code] == "pair" else None
        stored, why = evidence.record.resumed(answered, ALREADY_CLAIMED), f"wait {refusal.retry_after:g} s"
        yield ClosedScope(sent.number, to, answered, stored, until, f"{refusal.code}, {why}", by_clock=True)


def _held(evidence: Evidence) -> Iterator[ClosedScope]:
    for sent, answered in _refused(evidence):
        if sent.refused and sent.refused.code in HOLDS:
            until = _first(evidence, sent.number, "release", answered)
            stored, why = evidence.record.resumed(answered, ALREADY_CLAIMED), "until somebody releases it"
            yield ClosedScope(sent.number, None, answered, stored, until, f"{sent.refused.code}, {why}")


def _disabled(evidence: Evidence) -> Iterator[ClosedScope]:
    for number, changes in evidence.record.switched.items():
        for change in changes:
            if change.what == "off":
                until = _first(evidence, number, "on", change.asked)
                yield ClosedScope(number, None, change.answered, change.answered, until, "the number was disabled")


def _refused(evidence: Evidence) -> Iterator[tuple[ProviderRequest, int]]:
    """What was reported to a server that lived to store it."""
    for sent in evidence.record.sent:
        if sent.refused and sent.answered is not None and evidence.record.lived_on(sent):
            yield sent, sent.answered


def _first(evidence: Evidence, number: str, what: str, since: int) -> int:
    """The first moment at which this can have come about: a request is repeated until it is answered, and may arrive
    once more, late."""
    changes = [change for change in evidence.record.switched.get(number, ()) if change.what == what]
    possible = [max(change.asked, since) for change in changes if change.answered + LONGEST_ECHO > since]
    return min(possible, default=evidence.ending.micros)


# Consent


def without_consent(evidence: Evidence) -> Seen:
    for (org, customer), changes in evidence.record.consents.items():
        ends = [at for at, _ in changes[1:]] + [evidence.ending.micros]
        revoked = [(at, end) for (at, granted), end in zip(changes, ends, strict=True) if not granted]
        sends = [s for s in evidence.record.sent if s.to == customer and s.text.startswith(f"{org}:")]
        for since, until in revoked:
            for sent in sends:
                if since + ALREADY_CLAIMED < sent.at < until:
                    yield sent.text, f"went as {sent.stamp}, {_ago(sent.at, since)} after the customer had said STOP"
            yield customer, None


ALL: tuple[Rule, ...] = (
    outside_the_window,
    after_its_time,
    above_the_quota,
    through_a_closed_gate,
    without_consent,
)
