"""The contract of webhook uptime and number lookups."""

from __future__ import annotations

from waypost.model.message import Status
from waypost.model.time import Span, days, hours, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.examples import (
    ORG,
    UNKNOWN,
    Ledgers,
    PassTime,
    a_tick,
    accept,
    claim,
    claim_one,
    delivery,
    later,
    settle,
    submit,
    try_again,
)

WHILE_TESTING: Span = minutes(5)
MOMENT, SPAN = minutes(30), minutes(20)
"""A Ledger with its own clock continues to count while a test runs."""


def about(counted: int, span: Span) -> bool:
    return span <= counted < span + WHILE_TESTING


class WebhookUptimeContract:
    async def test_the_first_tick_counts_nothing(self, ledger: Ledger) -> None:
        assert await ledger.webhook_uptime.tick(a_tick()) == 0

    async def test_the_time_between_two_ticks_counts(self, ledger: Ledger, pass_time: PassTime) -> None:
        await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(1))
        first = await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(2))
        second = await ledger.webhook_uptime.tick(a_tick())
        assert about(first, hours(1))
        assert about(second - first, hours(2))

    async def test_a_gap_that_is_too_long_counts_nothing(self, ledger: Ledger, pass_time: PassTime) -> None:
        await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(1))
        before = await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(9))
        assert await ledger.webhook_uptime.tick(a_tick(gap=hours(8))) == before

    async def test_counting_goes_on_after_a_gap(self, ledger: Ledger, pass_time: PassTime) -> None:
        await ledger.webhook_uptime.tick(a_tick())
        await pass_time(days(9))
        assert await ledger.webhook_uptime.tick(a_tick()) == 0
        await pass_time(hours(1))
        assert about(await ledger.webhook_uptime.tick(a_tick()), hours(1))

    async def test_a_clock_that_went_back_counts_nothing(self, ledger: Ledger, pass_time: PassTime) -> None:
        await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(1))
        before = await ledger.webhook_uptime.tick(a_tick())
        await pass_time(Span(-hours(3)))
        assert await ledger.webhook_uptime.tick(a_tick()) == before
        await pass_time(hours(1))
        assert about(await ledger.webhook_uptime.tick(a_tick()) - before, hours(1))

    async def test_a_stretch_counts_once_however_many_tick(self, ledgers: Ledgers, pass_time: PassTime) -> None:
        await ledgers[0].webhook_uptime.tick(a_tick())
        await pass_time(hours(1))
        totals = [await ledger.webhook_uptime.tick(a_tick()) for ledger in (*ledgers, *ledgers)]
        assert all(about(total, hours(1)) for total in totals)

    async def test_a_claim_remembers_how_long_the_door_had_been_open(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await ledger.webhook_uptime.tick(a_tick())
        await pass_time(hours(1))
        total = await ledger.webhook_uptime.tick(a_tick())
        await claim_one(ledger)
        assert (await delivery(ledger, message.id)).open_at_claim == total

    async def test_time_in_which_a_listener_is_silent_does_not_count(self, ledger: Ledger, pass_time: PassTime) -> None:
        uptime = ledger.webhook_uptime
        for listener in ("one", "two"):
            await uptime.tick(a_tick(listener, MOMENT))
        await pass_time(SPAN)
        counted = await uptime.tick(a_tick("one", MOMENT))
        assert about(counted, SPAN)
        await pass_time(SPAN)
        assert await uptime.tick(a_tick("one", MOMENT)) == counted, (
            "nothing is heard of the other for longer than a gap"
        )
        await uptime.tick(a_tick("two", MOMENT))
        await pass_time(SPAN)
        assert about(await uptime.tick(a_tick("one", MOMENT)) - counted, SPAN)

    async def test_a_listener_that_left_is_not_waited_for(self, ledger: Ledger, pass_time: PassTime) -> None:
        uptime = ledger.webhook_uptime
        for listener in ("one", "two"):
            await uptime.tick(a_tick(listener, MOMENT))
        await uptime.leave("two")
        await uptime.leave("nobody")
        await pass_time(SPAN)
        await uptime.tick(a_tick("one", MOMENT))
        await pass_time(SPAN)
        assert about(await uptime.tick(a_tick("one", MOMENT)), Span(2 * SPAN))

    async def test_a_process_does_not_take_its_successor_with_it(self, ledger: Ledger, pass_time: PassTime) -> None:
        """A rolling restart: the new process is a listener before the old one leaves."""
        uptime = ledger.webhook_uptime
        for process in ("old", "new"):
            await uptime.tick(a_tick(process, MOMENT, place="here", first=True))
        await uptime.tick(a_tick("old", MOMENT, place="here"))
        await uptime.leave("old")
        await pass_time(SPAN)
        counted = await uptime.tick(a_tick("one", MOMENT))
        assert about(counted, SPAN)
        await pass_time(SPAN)
        assert await uptime.tick(a_tick("one", MOMENT)) == counted, "the new one has been silent for longer than a gap"

    async def test_a_process_that_was_killed_is_replaced(self, ledger: Ledger, pass_time: PassTime) -> None:
        uptime = ledger.webhook_uptime
        await uptime.tick(a_tick("old", MOMENT, place="here", first=True))
        await pass_time(SPAN)
        assert await uptime.tick(a_tick("new", MOMENT, place="here", first=True)) == 0, "it was not up before"
        for counted in (SPAN, Span(2 * SPAN)):
            await pass_time(SPAN)
            assert about(await uptime.tick(a_tick("new", MOMENT, place="here")), counted)

    async def test_a_listener_that_is_silent_for_long_is_forgotten(self, ledger: Ledger, pass_time: PassTime) -> None:
        uptime = ledger.webhook_uptime
        for listener in ("one", "two"):
            await uptime.tick(a_tick(listener, MOMENT, hours(2)))
        await pass_time(hours(3))
        before = await uptime.tick(a_tick("one", MOMENT, hours(2)))
        await pass_time(SPAN)
        assert about(await uptime.tick(a_tick("one", MOMENT, hours(2))) - before, SPAN)


class MessageLookupContract:
    async def test_a_delivery_is_seen_as_last_committed(self, ledgers: Ledgers) -> None:
        message = await submit(ledgers[0])
        sent = (await accept(ledgers[0], await claim_one(ledgers[0]))).delivery
        assert [await ledger.lookup.delivery(message.id) for ledger in ledgers] == [sent, sent]
        assert sent.status is Status.SENT

    async def test_a_message_nobody_knows_has_no_delivery(self, ledger: Ledger) -> None:
        assert await ledger.lookup.delivery(UNKNOWN) is None

    async def test_nothing_is_due_later_when_nothing_waits(self, ledger: Ledger) -> None:
        assert await ledger.lookup.next_due() is None
        await submit(ledger)
        assert await ledger.lookup.next_due() is None

    async def test_the_earliest_of_what_waits_is_due_next(self, ledger: Ledger) -> None:
        await submit(ledger, scheduled_at=later(hours(2)))
        await submit(ledger, scheduled_at=later(hours(1)))
        await submit(ledger)
        assert await ledger.lookup.next_due() == later(hours(1))
        await settle(ledger, await claim_one(ledger), try_again(later(minutes(1))))
        assert await ledger.lookup.next_due() == later(minutes(1))

    async def test_what_has_become_due_is_no_longer_waited_for(self, ledger: Ledger) -> None:
        await submit(ledger, scheduled_at=later(hours(1)))
        await claim(ledger, now=later(hours(1)))
        assert await ledger.lookup.next_due() is None

    async def test_what_was_cancelled_is_no_longer_waited_for(self, ledger: Ledger) -> None:
        message = await submit(ledger, scheduled_at=later(hours(1)))
        await ledger.outbox.cancel(ORG, message.id, later(seconds(1)))
        assert await ledger.lookup.next_due() is None
