"""The provider's record, sorted by message: which calls it accepted, and which statuses were delivered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from waypost.model.time import Span, seconds
from waypost.rules.sending.delivery import Unsettled
from waypost_testing.simulation import START
from waypost_testing.stories.record import (
    ObservedMessage,
    PostedStatus,
    ProviderRequest,
    SimulationRecord,
    WantedMessage,
)
from waypost_testing.stories.sending.scenario import ScenarioResult
from waypost_testing.stories.wires import text_of

IN_A_MOMENT: Span = seconds(2)
"""Between a claim and the request that follows it nothing can be cancelled."""
_STAMP = re.compile(r"wp1\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class AcceptedCall:
    """A call that the provider accepted."""

    at: int
    """When the request was sent, if that is known, else when it arrived."""
    wamid: str
    stamp: str
    text: str
    sent: ProviderRequest | None
    posted: tuple[PostedStatus, ...]

    @property
    def acknowledged(self) -> set[str]:
        """Its statuses that a server answered with 200."""
        return {posted.kind for posted in self.posted if posted.ok}

    @property
    def acknowledged_at(self) -> int | None:
        """When a server first answered 200 to one of its statuses."""
        return min((posted.over for posted in self.posted if posted.ok), default=None)

    @property
    def echoed(self) -> bool:
        return any(posted.echo for posted in self.posted if posted.ok)


@dataclass
class MessageCase:
    """One message with all evidence about it."""

    wish: WantedMessage
    views: list[ObservedMessage] = field(default_factory=list)
    accepted: list[AcceptedCall] = field(default_factory=list)


class Evidence:
    def __init__(self, ending: ScenarioResult) -> None:
        self.ending = ending
        self.record: SimulationRecord = ending.record
        self._answered = {sent.wamid: sent for sent in self.record.sent if sent.wamid is not None}
        self._stamped = {sent.stamp: sent for sent in self.record.sent if sent.stamp}

    @cached_property
    def cases(self) -> list[MessageCase]:
        cases = {wish.text: MessageCase(wish) for wish in self.record.wishes.values()}
        for (org, _), view in self.ending.views.items():
            case = cases.get(f"{org}:{view.idempotency_key}")
            if case is not None:
                case.views.append(view)
        for acceptance in self.acceptances:
            if acceptance.text in cases:
                cases[acceptance.text].accepted.append(acceptance)
        return list(cases.values())

    @cached_property
    def acceptances(self) -> list[AcceptedCall]:
        """In the order in which the provider accepted them."""
        found = []
        for call in self.ending.calls:
            if call.wamid is None:
                continue
            body: dict[str, Any] = msgspec.json.decode(call.body)
            stamp, text = str(body.get("biz_opaque_callback_data", "")), text_of(body)
            sent = self._answered.get(call.wamid) or self._stamped.get(stamp)
            posted = tuple(self.record.posted.get(call.wamid, ()))
            found.append(AcceptedCall(sent.at if sent else call.at - START, call.wamid, stamp, text, sent, posted))
        return found

    def generation(self, org: str, acceptance: AcceptedCall) -> int:
        """The generation of the attempt that made the call, as the API shows it; without a retry there is only one."""
        stamp = _STAMP.match(acceptance.stamp)
        if stamp is None:
            return 1
        attempts = self.ending.attempts.get((org, int(stamp[1])), [])
        return next((each.generation for each in attempts if each.id == f"{stamp[1]}.{stamp[2]}"), 1)

    def answered(self, acceptance: AcceptedCall) -> bool:
        """The provider's answer reached a process that lived to store it."""
        sent = acceptance.sent
        return sent is not None and sent.wamid == acceptance.wamid and self.record.lived_on(sent)

    def answered_by(self, acceptance: AcceptedCall, moment: int) -> bool:
        """A process that stands still reads the answer later."""
        sent = acceptance.sent
        return self.answered(acceptance) and sent is not None and sent.answered is not None and sent.answered <= moment

    def linked(self, acceptance: AcceptedCall) -> bool:
        """The statuses could be matched to the message."""
        return acceptance.echoed or self.answered(acceptance)

    def silent_until(self, acceptance: AcceptedCall, moment: int) -> bool:
        """The one named exception: for the whole stale limit, counted while a server was up, the provider neither
        answered nor had a status of this call acknowledged, and no server refused one. A server that refused one needs
        `told_within` to say so."""
        acknowledged = acceptance.acknowledged_at
        if self.answered_by(acceptance, moment) or (acknowledged is not None and acknowledged < moment - IN_A_MOMENT):
            return False
        refused = sorted(posted.over for posted in acceptance.posted if posted.refused and posted.over < moment)
        ends = [*(min(at + self.ending.told_within, moment) for at in refused), moment]
        stretches = zip([acceptance.at, *refused], ends, strict=True)
        return any(self.record.open_between(since, until) >= self.ending.stale for since, until in stretches)

    def tried_again(self, acceptance: AcceptedCall) -> bool:
        """A later attempt of the same message, after the stale limit, may have ended it."""
        later = [sent.at for sent in self.record.sent if sent.text == acceptance.text and sent.at > acceptance.at]
        return any(self.record.open_between(acceptance.at, at) >= self.ending.stale for at in later)

    def excused(self, earlier: AcceptedCall, later: AcceptedCall) -> bool:
        """Whether `later` may follow `earlier` in the same generation."""
        return self.ending.policy is Unsettled.REQUEUE and self.silent_until(earlier, later.at)

    def skews(self, since: int, until: int) -> list[int]:
        """How far the Ledger's clock was off, at any moment in between."""
        history = self.ending.skew
        ends = [at for at, _ in history[1:]] + [until + 1]
        return [skew for (at, skew), end in zip(history, ends, strict=True) if at <= until and end >= since]

    def retried(self, org: str, view: ObservedMessage) -> bool:
        return (org, view.id) in self.record.retried
