"""The contract of a deferred message: it costs no attempt, and it is sent when its time comes."""

from __future__ import annotations

import asyncio

import pytest

from waypost.model.gate import GateClosing
from waypost.model.message import AttemptStatus, ClaimedMessage, Status
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.rules.sending.delivery import Defer, StandBack
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    T0,
    a_customer,
    attempts,
    claim,
    claim_one,
    delivery,
    event_kinds,
    later,
    settle,
    status,
    submit,
)
from waypost_testing.contracts.limits.gates import STOPS, a_closing, batch, connect


async def stand_back(ledger: Ledger, claimed: ClaimedMessage, closing: GateClosing, now: Instant = T0) -> None:
    assert (await settle(ledger, claimed, StandBack(closing, "slow down", '{"error":{}}'), now)).held


PAIR_CLOSING = a_closing(f"pair:{NUMBER}/{CUSTOMER}", pair=(NUMBER, CUSTOMER))


class StandBackContract:
    @pytest.mark.parametrize("name", STOPS)
    async def test_it_costs_no_try_and_waits_ready_behind_the_gate(self, name: str, ledger: Ledger) -> None:
        await connect(ledger)
        message = await submit(ledger, template="hello")
        await stand_back(ledger, await claim_one(ledger), a_closing(name))
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.tries, stands.due_at, stands.owner) == (Status.QUEUED, 0, T0, None)
        assert (stands.error_code, stands.error_message) == ("80007", "slow down")
        assert [(shut.gate.name, shut.waiting) for shut in await ledger.gates.of_org(ORG, T0)] == [(name, 1)]
        assert (await batch(ledger)).opens_at == later(minutes(1))
        again = await claim_one(ledger, now=later(minutes(1)))
        assert (again.id, again.tries, again.fence) == (message.id, 1, 2)

    async def test_what_the_provider_answered_is_kept(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await stand_back(ledger, await claim_one(ledger), a_closing())
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.error_code, attempt.response) == (AttemptStatus.FAILED, "80007", '{"error":{}}')
        assert "deferred" in await event_kinds(ledger, message.id)

    async def test_many_at_once_close_one_gate(self, ledger: Ledger) -> None:
        for _ in range(5):
            await submit(ledger)
        claimed = await claim(ledger)
        await asyncio.gather(*(stand_back(ledger, each, a_closing()) for each in claimed))
        (shut,) = await ledger.gates.of_org(ORG, T0)
        assert (shut.waiting, shut.gate.times, shut.gate.until) == (5, 1, later(minutes(1)))

    async def test_of_one_customer_only_it_waits_for_its_own_time(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        other = await submit(ledger, recipient=a_customer())
        mine, theirs = await claim(ledger)
        assert (mine.id, theirs.id) == (message.id, other.id)
        await stand_back(ledger, mine, PAIR_CLOSING)
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.tries, stands.due_at) == (Status.QUEUED, 0, later(minutes(1)))
        assert stands.deferred_by == "throttle"
        assert await ledger.gates.of_org(ORG, T0) == []
        assert await claim(ledger, now=Instant(T0 + minutes(1) - 1)) == []
        assert (await claim_one(ledger, now=later(minutes(1)))).put_off_until is None

    async def test_whoever_else_writes_to_that_customer_is_told(self, ledger: Ledger) -> None:
        await submit(ledger)
        await stand_back(ledger, await claim_one(ledger), PAIR_CLOSING)
        await submit(ledger)
        other = await claim_one(ledger, now=later(seconds(1)))
        assert (other.put_off_until, other.put_off_by) == (later(minutes(1)), "throttle")

    async def test_a_late_one_changes_nothing(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        late = await claim_one(ledger)
        await settle(ledger, late, Defer(T0, "pacing", "not now"))
        await claim_one(ledger)
        answer = await settle(ledger, late, StandBack(a_closing(), "slow down", None))
        assert (answer.held, await status(ledger, message.id)) == (False, Status.SENDING)
        assert await ledger.gates.of_org(ORG, T0) == []


class DeferContract:
    async def test_nothing_was_tried_and_nothing_counts(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), Defer(later(minutes(5)), "pacing", "written to too often"))
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.tries, stands.due_at) == (Status.QUEUED, 0, later(minutes(5)))
        assert (stands.deferred_by, stands.error_code) == ("pacing", None)
        assert await attempts(ledger, message.id) == []
        assert "deferred" in await event_kinds(ledger, message.id)
        assert await claim(ledger, now=Instant(T0 + minutes(5) - 1)) == []
        again = await claim_one(ledger, now=later(minutes(5)))
        assert (again.tries, again.delivery.deferred_by) == (1, None)
