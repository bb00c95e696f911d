"""Small bugs, one per mutation: put into the real server, each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_parts
from typing import Any

import pytest
from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.adapters.sql import kernel, reporting, work
from waypost.adapters.sql.rows import Facts
from waypost.flow import confirm
from waypost.model.ids import MessageId
from waypost.model.message import Draft, Status
from waypost.model.report import Post, StatusReport
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.ports.journal import Taken
from waypost.ports.outbox import Created, Patience, Settled, Settlement, Submitted, Swept
from waypost.ports.wire import Reply
from waypost.rules import delivery
from waypost.rules.delivery import Move
from waypost.runtime.simulation.cluster import Dress, Parts, real

Mutation = Callable[[pytest.MonkeyPatch], Dress]


def _with_outbox(parts: Parts, **replaced: Any) -> Parts:
    return with_parts(parts, ledger=Overlay(parts.ledger, outbox=Overlay(parts.ledger.outbox, **replaced)))


# Loss


def a_submit_that_is_acknowledged_and_not_stored(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def submit(draft: Draft, now: Instant) -> Submitted:
            answer = await parts.ledger.outbox.submit(draft, now)
            if isinstance(answer, Created) and answer.message.id % 7 == 0:
                return Created(replace(answer.message, id=MessageId(answer.message.id + 1_000_000)))
            return answer

        return _with_outbox(parts, submit=submit)

    return dress


def a_webhook_that_is_acknowledged_and_dropped(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def take(post: Post, now: Instant) -> Taken:
            kept = [told for told in post.reports if sum(told.wamid.encode()) % 8]
            return await parts.ledger.journal.take(Post(kept, post.items), now)

        journal = Overlay(parts.ledger.journal, take=take)
        return with_parts(parts, ledger=Overlay(parts.ledger, journal=journal))

    return dress


def a_sweep_that_never_comes(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def sweep(patience: Patience, limit: int, now: Instant) -> Swept:
            return Swept([], [])

        return _with_outbox(parts, sweep=sweep)

    return dress


def a_queue_that_promotes_nobody(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(work.Work, "_free", staticmethod(lambda queue, message_id: None))
    return real


# Doubles


def a_wire_that_posts_twice(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def request(method: str, url: str, **call: Any) -> Reply:
            await parts.wire.request(method, url, **call)
            return await parts.wire.request(method, url, **call)

        return with_parts(parts, wire=Overlay(parts.wire, request=request))

    return dress


def a_key_that_is_ignored(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def submit(draft: Draft, now: Instant) -> Submitted:
            other = replace(draft, idempotency_key=f"{draft.idempotency_key}@{now}")
            return await parts.ledger.outbox.submit(other, now)

        return _with_outbox(parts, submit=submit)

    return dress


def a_sweep_that_is_impatient(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def sweep(patience: Patience, limit: int, now: Instant) -> Swept:
            return await parts.ledger.outbox.sweep(replace(patience, limit=seconds(1), slack=Span(0)), limit, now)

        return _with_outbox(parts, sweep=sweep)

    return dress


def a_settle_that_takes_silence_for_a_refusal(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def settle(settlement: Settlement, now: Instant) -> Settled:
            verdict = settlement.verdict
            if isinstance(verdict, delivery.StayUnsure):
                verdict = delivery.TryAgain(Instant(now + minutes(1)), "TIMEOUT", verdict.reason, verdict.response)
            return await parts.ledger.outbox.settle(replace(settlement, verdict=verdict), now)

        return _with_outbox(parts, settle=settle)

    return dress


# Order


def a_claim_that_ignores_the_queue(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(work.Work, "_is_head", staticmethod(lambda queue, message_id: True))
    return real


# Status


def a_ladder_that_goes_down(patch: pytest.MonkeyPatch) -> Dress:
    patch.setitem(delivery.MOVES, (Status.DELIVERED, Move.DELIVER), Status.SENT)
    return real


def a_failure_that_is_not_final(patch: pytest.MonkeyPatch) -> Dress:
    patch.setitem(delivery.MOVES, (Status.CANCELLED, Move.CLAIM), Status.SENDING)
    patch.setattr(work.Work, "_place", lambda self, before, after, now: None)
    return real


# Tenancy


def a_signature_that_anybody_can_make(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(confirm._Signed, "_by", lambda self, secret: True)
    return real


def an_echo_that_crosses_orgs(patch: pytest.MonkeyPatch) -> Dress:
    def echoed(told: StatusReport, page: work.Work) -> Facts | None:
        return page.facts.get(told.echo.message_id) if told.echo else None

    def bound(self: work.Work, told: StatusReport) -> work.Binding:
        return self.bindings.get((told.number, told.wamid), work.NOBODY)

    patch.setattr(kernel, "_echoed", echoed)
    patch.setattr(work.Work, "bound", bound)
    patch.setattr(reporting, "is_short", lambda intent: False)
    return real


# Bugs


def a_settle_that_raises(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        async def settle(settlement: Settlement, now: Instant) -> Settled:
            if settlement.message.id % 11 == 0:
                raise KeyError("a bug")
            return await parts.ledger.outbox.settle(settlement, now)

        return _with_outbox(parts, settle=settle)

    return dress
