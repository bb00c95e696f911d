"""The contract of the Ledger as a whole: it answers, it fails in three known ways, it closes in order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.message import Message, Status
from waypost.model.time import days
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Rejected, Unavailable
from waypost_testing.contracts.examples import (
    ORG,
    T0,
    Ledgers,
    a_draft,
    a_report,
    a_wamid,
    accept,
    claim,
    claim_one,
    status,
    submit,
    take,
)

UNWRITABLE = "half of a character: \ud83d"
"""No database can store this text."""


class LedgerContract:
    async def test_it_answers_a_ping(self, ledger: Ledger) -> None:
        await ledger.ping()

    async def test_its_time_passes_and_is_the_same_for_every_process(self, ledgers: Ledgers) -> None:
        times = [await ledgers[turn % 2].time() for turn in range(6)]
        assert times == sorted(times)
        assert times[0] > T0 - days(36_500), "microseconds since 1970"

    @pytest.mark.parametrize("poison", [{"subject": UNWRITABLE}, {"dossier_id": 2**63}], ids=["text", "number"])
    async def test_one_draft_that_cannot_be_stored_fails_alone(self, poison: dict[str, Any], ledger: Ledger) -> None:
        drafts = [a_draft() for _ in range(40)]
        drafts[17] = a_draft(**poison)
        answers = await asyncio.gather(*(ledger.outbox.submit(d, T0) for d in drafts), return_exceptions=True)
        (failure,) = [answer for answer in answers if isinstance(answer, BaseException)]
        assert isinstance(failure, Rejected)
        assert answers.index(failure) == 17
        assert len(await claim(ledger)) == 39

    async def test_it_works_on_after_something_could_not_be_stored(self, ledger: Ledger) -> None:
        for _ in range(3):
            with pytest.raises(Rejected):
                await ledger.outbox.submit(a_draft(subject=UNWRITABLE), T0)
        await submit(ledger)
        assert len(await claim(ledger)) == 1

    async def test_closing_finishes_what_is_under_way(self, ledgers: Ledgers) -> None:
        closing, staying = ledgers
        under_way = [asyncio.ensure_future(submit(closing)) for _ in range(50)]
        await asyncio.sleep(0)  # each has submitted its intent
        await closing.close()
        stored: list[Message] = await asyncio.gather(*under_way)
        assert [await staying.messages.get(ORG, message.id) for message in stored] == stored

    async def test_closing_finishes_an_acceptance_that_its_status_overtook(self, ledgers: Ledgers) -> None:
        closing, staying = ledgers
        await submit(closing)
        claimed, wamid = await claim_one(closing), a_wamid()
        await take(closing, a_report("delivered", wamid))
        settling = asyncio.ensure_future(accept(closing, claimed, wamid))
        await asyncio.sleep(0)  # it has submitted its intent
        await closing.close()
        assert (await settling).early == 1
        assert await status(staying, claimed.id) is Status.DELIVERED

    async def test_a_closed_ledger_takes_nothing_more(self, ledgers: Ledgers) -> None:
        closed, staying = ledgers
        await closed.close()
        with pytest.raises(Unavailable):
            await closed.outbox.submit(a_draft(), T0)
        assert await claim(staying) == []

    async def test_closing_twice_is_closing_once(self, ledgers: Ledgers) -> None:
        await ledgers[0].close()
        await ledgers[0].close()

    async def test_a_caller_that_goes_away_leaves_its_message_behind(self, ledger: Ledger) -> None:
        first = asyncio.ensure_future(submit(ledger))
        gone = asyncio.ensure_future(submit(ledger, key="gone"))
        await asyncio.sleep(0)  # both have submitted their intents
        gone.cancel()
        await first
        again = await ledger.outbox.submit(a_draft(key="gone"), T0)
        assert type(again).__name__ == "SameContent"
