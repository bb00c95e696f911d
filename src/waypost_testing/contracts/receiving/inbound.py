"""The contract of a POST's other effects: a customer's message opens the window, a reported failure closes a gate."""

from __future__ import annotations

import asyncio

from waypost.model.gate import Gate, GateClosing, GateKind
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.rules.limits import gates, window
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_NUMBER,
    T0,
    Ledgers,
    a_failure,
    an_inbound,
    an_item,
    claim,
    later,
    submit,
)


async def receive_at(ledger: Ledger, *moments: Instant, now: Instant = T0) -> None:
    """The customer wrote at these moments; one POST reports it."""
    wrote = [an_inbound(CUSTOMER, at, NUMBER) for at in moments]
    await ledger.journal.apply_webhook(WebhookBatch([], [an_item(key=str(moments))], wrote, []), now)


async def pair_of(ledger: Ledger) -> RecipientState:
    (pair,) = await ledger.windows.of([NUMBER], CUSTOMER)
    return pair


def ago(span: Span) -> Instant:
    return Instant(T0 - span)


class InboundContract:
    async def test_a_customers_message_opens_a_window_of_24_hours_from_its_own_time(self, ledger: Ledger) -> None:
        await receive_at(ledger, ago(hours(3)))
        pair = await pair_of(ledger)
        assert (pair.opened_at, pair.last_inbound_at) == (ago(hours(3)), ago(hours(3)))
        assert pair.expires_at == ago(hours(3)) + days(1)

    async def test_the_window_is_of_this_number_and_this_customer_only(self, ledger: Ledger) -> None:
        await receive_at(ledger, T0)
        assert await ledger.windows.of([OTHER_NUMBER], CUSTOMER) == []
        assert await ledger.windows.of([NUMBER], "+15550009999") == []

    async def test_a_newer_message_prolongs_it(self, ledger: Ledger) -> None:
        await receive_at(ledger, T0)
        await receive_at(ledger, later(hours(5)), now=later(hours(5)))
        pair = await pair_of(ledger)
        assert (pair.opened_at, pair.expires_at) == (T0, later(hours(29)))

    async def test_an_older_message_that_is_heard_late_never_shortens_it(self, ledger: Ledger) -> None:
        await receive_at(ledger, T0)
        await receive_at(ledger, ago(hours(5)))
        pair = await pair_of(ledger)
        assert (pair.last_inbound_at, pair.expires_at) == (T0, later(days(1)))

    async def test_several_of_one_post_and_of_two_servers_leave_the_latest(self, ledgers: Ledgers) -> None:
        moments = [ago(seconds(n)) for n in (40, 10, 30, 20)]
        await asyncio.gather(*(receive_at(ledger, at, ago(hours(1))) for ledger in ledgers for at in moments))
        pair = await pair_of(ledgers[0])
        assert (pair.last_inbound_at, pair.expires_at) == (ago(seconds(10)), ago(seconds(10)) + days(1))

    async def test_a_window_that_closed_opens_anew(self, ledger: Ledger) -> None:
        await receive_at(ledger, ago(days(3)))
        await receive_at(ledger, T0)
        assert (await pair_of(ledger)).opened_at == T0

    async def test_a_claim_brings_the_end_of_the_window_along(self, ledger: Ledger) -> None:
        await receive_at(ledger, T0)
        await submit(ledger)
        (claimed,) = await claim(ledger)
        assert claimed.window_until == later(days(1))
        assert window.is_open(claimed.window_until, Instant(later(days(1)) - 1))
        assert not window.is_open(claimed.window_until, later(days(1))), "exactly 24 hours later it is closed"

    async def test_without_a_word_from_the_customer_there_is_none(self, ledger: Ledger) -> None:
        await submit(ledger)
        (claimed,) = await claim(ledger)
        assert claimed.window_until is None


def a_closing(*, pair: bool = False) -> GateClosing:
    name = gates.of_pair(NUMBER, CUSTOMER) if pair else gates.of_number(NUMBER)
    return GateClosing(
        org_id=ORG,
        name=name,
        kind=GateKind.THROTTLE,
        code="130429",
        reason="too fast",
        retry_after=60,
        pair=(NUMBER, CUSTOMER) if pair else None,
    )


async def closed(ledger: Ledger, now: Instant) -> list[Gate]:
    return [found.gate for found in await ledger.gates.of_org(ORG, now)]


class ReportedFailureContract:
    async def test_a_reported_rate_limit_closes_the_gate_of_its_scope(self, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.journal.apply_webhook(a_failure(a_closing()), T0)
        (gate,) = await closed(ledger, T0)
        assert (gate.name, gate.kind, gate.until) == (gates.of_number(NUMBER), "throttle", later(minutes(1)))
        assert await claim(ledger, now=later(seconds(59))) == []
        assert len(await claim(ledger, now=later(minutes(1)))) == 1

    async def test_one_of_a_single_customer_stands_with_the_pair(self, ledger: Ledger) -> None:
        await ledger.journal.apply_webhook(a_failure(a_closing(pair=True)), T0)
        assert await closed(ledger, T0) == []
        assert (await pair_of(ledger)).blocked_until == later(minutes(1))

    async def test_one_that_comes_again_does_not_close_what_was_released(self, ledger: Ledger) -> None:
        failure = a_failure(a_closing())
        await ledger.journal.apply_webhook(failure, T0)
        (gate,) = await closed(ledger, T0)
        await ledger.gates.release(ORG, gate.id)
        await ledger.journal.apply_webhook(failure, later(seconds(5)))
        assert await closed(ledger, later(seconds(5))) == []
        await ledger.journal.apply_webhook(a_failure(a_closing()), later(seconds(5)))
        assert len(await closed(ledger, later(seconds(5)))) == 1, "but a new one does"

    async def test_one_that_comes_again_prolongs_nothing(self, ledger: Ledger) -> None:
        for failure in (a_failure(a_closing()), a_failure(a_closing(pair=True))):
            for moment in (T0, later(seconds(30))):
                await ledger.journal.apply_webhook(failure, moment)
        assert [gate.until for gate in await closed(ledger, later(seconds(30)))] == [later(minutes(1))]
        assert (await pair_of(ledger)).blocked_until == later(minutes(1))

    async def test_one_that_comes_twice_at_once_closes_once(self, ledger: Ledger) -> None:
        failure = a_failure(a_closing())
        moments = (T0, later(seconds(30)))
        await asyncio.gather(*(ledger.journal.apply_webhook(failure, moment) for moment in moments))
        assert [gate.until for gate in await closed(ledger, T0)] == [later(minutes(1))]
