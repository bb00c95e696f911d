"""The contract of windows: open for as long as the customer's latest message says, whenever it is received."""

from __future__ import annotations

import asyncio

import pytest

from waypost.model.ids import NumberId
from waypost.model.message import Status
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, days, hours, minutes
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.rules.limits.recipient_pace import BURST, STEP
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    T0,
    Ledgers,
    a_number,
    accept,
    an_inbound,
    an_org,
    claim,
    claim_one,
    later,
    status,
    submit,
)

TWO_FORMS = [
    ("+5511987654321", "+551187654321"),
    ("+5215512345678", "+525512345678"),
    ("+5491123456789", "+541123456789"),
]
"""Each pair is two forms of one phone number."""


async def wrote(ledger: Ledger, *moments: Instant, customer: str = CUSTOMER, number: NumberId = NUMBER) -> None:
    inbound = [an_inbound(customer, moment, number) for moment in moments]
    await ledger.journal.apply_webhook(WebhookBatch([], [], inbound), later(days(2)))


async def known(ledger: Ledger) -> RecipientState:
    (pair,) = await ledger.windows.of([NUMBER], CUSTOMER)
    return pair


class WindowsContract:
    async def test_a_customer_s_message_opens_24_hours(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        pair = await known(ledger)
        assert (pair.opened_at, pair.last_inbound_at, pair.expires_at) == (T0, T0, later(days(1)))

    async def test_the_order_of_arrival_does_not_matter(self, ledger: Ledger) -> None:
        await wrote(ledger, later(hours(2)))
        await wrote(ledger, T0, later(hours(1)))
        pair = await known(ledger)
        assert (pair.opened_at, pair.last_inbound_at) == (T0, later(hours(2)))
        assert pair.expires_at == later(hours(26))

    async def test_two_processes_that_hear_at_once_agree(self, ledgers: Ledgers) -> None:
        moments = [later(minutes(n)) for n in (3, 9, 1, 7, 5, 0)]
        await asyncio.gather(*(wrote(ledgers[n % 2], moment) for n, moment in enumerate(moments)))
        pair = await known(ledgers[0])
        assert (pair.last_inbound_at, pair.expires_at) == (later(minutes(9)), Instant(later(minutes(9)) + days(1)))

    async def test_a_window_is_between_one_number_and_one_customer(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        assert await ledger.windows.of([OTHER_NUMBER], CUSTOMER) == []
        assert await ledger.windows.of([NUMBER], OTHER_CUSTOMER) == []
        await wrote(ledger, T0, number=OTHER_NUMBER)
        assert len(await ledger.windows.of([NUMBER, OTHER_NUMBER], CUSTOMER)) == 2

    async def test_a_claim_knows_until_when_it_may_answer_freely(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        await submit(ledger)
        await submit(ledger, recipient=OTHER_CUSTOMER)
        assert [claimed.window_until for claimed in await claim(ledger)] == [later(days(1)), None]

    @pytest.mark.parametrize(("wrote_as", "sent_to"), [*TWO_FORMS, *(forms[::-1] for forms in TWO_FORMS)])
    async def test_a_window_is_open_in_whichever_form_the_phone_is_written_to(
        self, ledger: Ledger, wrote_as: str, sent_to: str
    ) -> None:
        await wrote(ledger, T0, customer=wrote_as)
        await submit(ledger, recipient=sent_to)
        assert (await claim_one(ledger)).window_until == later(days(1))
        await wrote(ledger, later(hours(1)), customer=sent_to)
        for form in (wrote_as, sent_to):
            (pair,) = await ledger.windows.of([NUMBER], form)
            assert (pair.opened_at, pair.expires_at) == (T0, later(hours(25)))

    async def test_sending_does_not_change_the_window(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        await submit(ledger)
        await accept(ledger, await claim_one(ledger))
        await wrote(ledger, later(minutes(1)))
        pair = await known(ledger)
        assert (pair.opened_at, pair.free_at) == (T0, T0 + STEP)

    async def test_when_the_provider_last_took_one_is_known(self, ledger: Ledger) -> None:
        assert await ledger.windows.last_outbound([NUMBER], CUSTOMER) is None
        await ledger.accounts.create_org(an_org(), None)
        await ledger.accounts.connect(a_number())
        await submit(ledger)
        first = await claim_one(ledger)
        await accept(ledger, first, now=later(minutes(1)))
        await submit(ledger)  # queued: the provider does not have it
        assert await status(ledger, first.id) is Status.SENT
        assert await ledger.windows.last_outbound([NUMBER, OTHER_NUMBER], CUSTOMER) == later(minutes(1))
        assert await ledger.windows.last_outbound([OTHER_NUMBER], CUSTOMER) is None

    async def test_a_window_that_is_over_is_forgotten(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        await wrote(ledger, later(hours(1)), customer=OTHER_CUSTOMER)
        assert await ledger.windows.expire(later(days(1)), 100) == 0
        assert await ledger.windows.expire(Instant(later(days(1)) + 1), 100) == 1
        assert await ledger.windows.of([NUMBER], CUSTOMER) == []
        assert len(await ledger.windows.of([NUMBER], OTHER_CUSTOMER)) == 1

    async def test_windows_that_are_over_are_forgotten_so_many_at_a_time(self, ledger: Ledger) -> None:
        for customer in (CUSTOMER, OTHER_CUSTOMER, "+4915112349999"):
            await wrote(ledger, T0, customer=customer)
        assert [await ledger.windows.expire(later(days(2)), 2) for _ in range(3)] == [2, 1, 0]

    async def test_a_customer_who_was_just_written_to_is_not_forgotten(self, ledger: Ledger) -> None:
        await wrote(ledger, T0)
        await submit(ledger)
        await claim_one(ledger, now=later(days(1)))
        assert await ledger.windows.expire(Instant(later(days(1)) + 1), 100) == 0

    async def test_after_a_burst_a_customer_is_written_to_slowly(self, ledgers: Ledgers) -> None:
        for _ in range(BURST + 5):
            await submit(ledgers[0])
        taken = [*await claim(ledgers[0], slots=BURST - 5), *await claim(ledgers[1])]
        assert [claimed.put_off_until for claimed in taken] == [None] * BURST + [T0 + STEP * n for n in range(1, 6)]
        assert {claimed.put_off_by for claimed in taken[BURST:]} == {"pacing"}
