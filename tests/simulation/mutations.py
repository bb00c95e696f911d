"""Small bugs, one per mutation: put into the real server, each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_parts
from typing import Any

import pytest
from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.adapters.local.ledger_clock import LedgerClock
from waypost.adapters.sql.kernel import fast_statuses, kernel, transaction_state
from waypost.adapters.sql.rows.message_rows import MessageFacts
from waypost.flow.receiving import receive_webhook
from waypost.model.ids import MessageId
from waypost.model.message import Draft, Status
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.model.webhook import StatusUpdate, WebhookBatch
from waypost.ports.platform.http_transport import HttpReply
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.ports.sending.outbox import (
    Created,
    Settled,
    Settlement,
    StaleLimits,
    Submitted,
    SweptAttempts,
    UptimeTick,
)
from waypost.rules.sending import delivery
from waypost.rules.sending.delivery import DeliveryTransition
from waypost_testing.stories.cluster import CustomiseParts, ServerParts, unchanged_parts
from waypost_testing.stories.sending import levers
from waypost_testing.stories.sending.trouble import FaultInjector

Mutation = Callable[[pytest.MonkeyPatch], CustomiseParts]


def _with_outbox(parts: ServerParts, **replaced: Any) -> ServerParts:
    return with_parts(parts, ledger=Overlay(parts.ledger, outbox=Overlay(parts.ledger.outbox, **replaced)))


# Loss


def a_submit_that_is_acknowledged_and_not_stored(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def submit(draft: Draft, now: Instant) -> Submitted:
            answer = await parts.ledger.outbox.submit(draft, now)
            if isinstance(answer, Created) and answer.message.id % 7 == 0:
                return Created(replace(answer.message, id=MessageId(answer.message.id + 1_000_000)))
            return answer

        return _with_outbox(parts, submit=submit)

    return dress


def a_webhook_that_is_acknowledged_and_dropped(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def apply_webhook(post: WebhookBatch, now: Instant) -> AppliedWebhook:
            kept = [told for told in post.statuses if sum(told.wamid.encode()) % 8]
            return await parts.ledger.journal.apply_webhook(WebhookBatch(kept, post.items), now)

        journal = Overlay(parts.ledger.journal, apply_webhook=apply_webhook)
        return with_parts(parts, ledger=Overlay(parts.ledger, journal=journal))

    return dress


def a_sweep_that_never_comes(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def sweep(patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
            return SweptAttempts([], [])

        return _with_outbox(parts, sweep=sweep)

    return dress


def a_queue_that_promotes_nobody(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(transaction_state.TransactionState, "_free", staticmethod(lambda queue, message_id: None))
    return unchanged_parts


# Doubles


def a_wire_that_posts_twice(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def request(method: str, url: str, **call: Any) -> HttpReply:
            await parts.transport.request(method, url, **call)
            return await parts.transport.request(method, url, **call)

        return with_parts(parts, transport=Overlay(parts.transport, request=request))

    return dress


def a_key_that_is_ignored(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def submit(draft: Draft, now: Instant) -> Submitted:
            other = replace(draft, idempotency_key=f"{draft.idempotency_key}@{now}")
            return await parts.ledger.outbox.submit(other, now)

        return _with_outbox(parts, submit=submit)

    return dress


def a_sweep_that_is_impatient(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def sweep(patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
            return await parts.ledger.outbox.sweep(replace(patience, limit=seconds(1), slack=Span(0)), limit, now)

        return _with_outbox(parts, sweep=sweep)

    return dress


def webhook_uptime_that_counts_while_a_server_refuses_webhooks(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """As if there were one listener, which never refuses: it is up as long as any server is.

    Among all other incidents and limits, a starved server is rarely what matters.
    """
    patch.setattr(FaultInjector, "incidents", lambda self: ((1, self._starved_server),))
    patch.setattr(levers, "FEW", (levers.PLENTY,))

    def dress(parts: ServerParts) -> ServerParts:
        async def tick(tick: UptimeTick) -> int:
            return await parts.ledger.webhook_uptime.tick(replace(tick, listener="all", place="all", refused=False))

        uptime = Overlay(parts.ledger.webhook_uptime, tick=tick)
        return with_parts(parts, ledger=Overlay(parts.ledger, webhook_uptime=uptime))

    return dress


def a_settle_that_takes_silence_for_a_refusal(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def settle(settlement: Settlement, now: Instant) -> Settled:
            verdict = settlement.verdict
            if isinstance(verdict, delivery.StayUnsure):
                verdict = delivery.TryAgain(Instant(now + minutes(1)), "TIMEOUT", verdict.reason, verdict.response)
            return await parts.ledger.outbox.settle(replace(settlement, verdict=verdict), now)

        return _with_outbox(parts, settle=settle)

    return dress


# Order


def a_claim_that_ignores_the_queue(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(transaction_state.TransactionState, "_is_head", staticmethod(lambda queue, message_id: True))
    return unchanged_parts


# Status


def a_ladder_that_goes_down(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setitem(delivery.MOVES, (Status.DELIVERED, DeliveryTransition.DELIVER), Status.SENT)
    return unchanged_parts


def a_failure_that_is_not_final(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setitem(delivery.MOVES, (Status.CANCELLED, DeliveryTransition.CLAIM), Status.SENDING)
    patch.setattr(transaction_state.TransactionState, "_place", lambda self, before, after, now: None)
    return unchanged_parts


# Tenancy


def a_signature_that_anybody_can_make(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(receive_webhook._Signed, "_by", lambda self, secret: True)
    return unchanged_parts


def an_echo_that_crosses_orgs(patch: pytest.MonkeyPatch) -> CustomiseParts:
    def echoed(told: StatusUpdate, page: transaction_state.TransactionState) -> MessageFacts | None:
        return page.facts.get(told.echo.message_id) if told.echo else None

    def bound(self: transaction_state.TransactionState, told: StatusUpdate) -> transaction_state.WamidBinding:
        return self.bindings.get((told.number, told.wamid), transaction_state.UNBOUND)

    patch.setattr(kernel, "_echoed", echoed)
    patch.setattr(transaction_state.TransactionState, "bound", bound)
    patch.setattr(fast_statuses, "is_fast_status", lambda intent: False)
    return unchanged_parts


# Bugs


def a_settle_that_raises(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        async def settle(settlement: Settlement, now: Instant) -> Settled:
            if settlement.message.id % 11 == 0:
                raise KeyError("a bug")
            return await parts.ledger.outbox.settle(settlement, now)

        return _with_outbox(parts, settle=settle)

    return dress


# Standing still, and wrong clocks


def a_process_that_goes_by_its_own_clock(patch: pytest.MonkeyPatch) -> CustomiseParts:
    async def trusted(self: LedgerClock) -> Instant:
        return self.now()

    patch.setattr(LedgerClock, "now", lambda self: self._machine.now())
    patch.setattr(LedgerClock, "trusted", trusted)
    return unchanged_parts
