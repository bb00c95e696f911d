"""Rules before a send as one often meets them, in place of ours: each must be found out by the policy checker."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace as with_parts

import pytest
from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.model.gate import GateKind
from waypost.model.ids import NumberId
from waypost.model.message import ClaimedMessage
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.sending.outbox import Batch, Demand, Settled, Settlement
from waypost.rules.limits import send_pace
from waypost.rules.sending import send_checks
from waypost.rules.sending.delivery import Defer, DeliveryVerdict, StandBack, TryAgain
from waypost_testing.stories.cluster import CustomiseParts, ServerParts, unchanged_parts


def a_window_that_is_ignored(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(send_checks, "_needs_window", lambda message: False)
    return unchanged_parts


def a_window_that_is_asked_for_too_early(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """When the message was queued, not when it goes."""
    real_check = send_checks.check_before_send

    def check_before_send(
        message: ClaimedMessage, now: Instant, *, enforce_window: bool = True
    ) -> DeliveryVerdict | None:
        before = real_check(replace(message, expires_at=None), message.created_at, enforce_window=enforce_window)
        return before or real_check(message, now, enforce_window=False)

    patch.setattr("waypost.flow.sending.deliver.check_before_send", check_before_send)
    return unchanged_parts


class OwnCount:
    """The quota as a counter in this process: another one has its own, and after a crash it begins at 0."""

    def __init__(self, parts: ServerParts) -> None:
        self._ledger = parts.ledger
        self._sent: Counter[str] = Counter()

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        batch = await self._ledger.outbox.claim(demand, now)
        return replace(batch, claimed=[m for m in batch.claimed if await self._allowed(m, now)])

    async def _allowed(self, message: ClaimedMessage, now: Instant) -> bool:
        most = (await self._ledger.quotas.get(message.org_id)).most
        if most is None or self._sent[message.org_id] < most:
            self._sent[message.org_id] += 1
            return True
        verdict = Defer(Instant(now + minutes(1)), "quota", "the quota is used up")
        await self._ledger.outbox.settle(Settlement(message=message, verdict=verdict), now)
        return False


def a_quota_counted_by_each_process(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(send_pace, "remaining", lambda permit, now: None)

    def dress(parts: ServerParts) -> ServerParts:
        outbox = Overlay(parts.ledger.outbox, claim=OwnCount(parts).claim)
        return with_parts(parts, ledger=Overlay(parts.ledger, outbox=outbox))

    return dress


class OwnThrottle:
    """`throttledUntil` in this process's memory: the other process and the next life know nothing of it."""

    def __init__(self, parts: ServerParts) -> None:
        self._ledger = parts.ledger
        self._until: dict[NumberId, Instant] = {}

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        batch = await self._ledger.outbox.claim(demand, now)
        return replace(batch, claimed=[m for m in batch.claimed if await self._allowed(m, now)])

    async def _allowed(self, message: ClaimedMessage, now: Instant) -> bool:
        until = self._until.get(message.sender, now)
        if until <= now:
            return True
        verdict = Defer(until, "throttle", "the provider asked us to wait")
        await self._ledger.outbox.settle(Settlement(message=message, verdict=verdict), now)
        return False

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        verdict = settlement.verdict
        if isinstance(verdict, StandBack) and verdict.closing.kind is GateKind.THROTTLE:
            until = Instant(now + seconds(verdict.closing.retry_after or 60))
            self._until[settlement.message.sender] = until
            again = TryAgain(until, verdict.closing.code, verdict.message, verdict.response, counts=False)
            settlement = replace(settlement, verdict=again)
        return await self._ledger.outbox.settle(settlement, now)


def a_throttle_in_memory(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        own = OwnThrottle(parts)
        outbox = Overlay(parts.ledger.outbox, claim=own.claim, settle=own.settle)
        return with_parts(parts, ledger=Overlay(parts.ledger, outbox=outbox))

    return dress


def consent_asked_for_at_submit_only(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(send_checks, "refused_by_consent", lambda with_dossier, dossier, address: None)
    return unchanged_parts


def a_claim_that_walks_through_gates(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(send_pace, "open_outlets", lambda outlets, now: list(outlets))
    return unchanged_parts


def an_expiry_that_is_looked_at_when_queued_only(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_check = send_checks.check_before_send

    def check_before_send(
        message: ClaimedMessage, now: Instant, *, enforce_window: bool = True
    ) -> DeliveryVerdict | None:
        return real_check(replace(message, expires_at=None), now, enforce_window=enforce_window)

    patch.setattr("waypost.flow.sending.deliver.check_before_send", check_before_send)
    return unchanged_parts
