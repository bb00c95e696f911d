"""The contract of a customer's no: it counts for the whole person, whatever address they are known by, now or later."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.conversation import Arrival, ConsentSaid
from waypost.model.dossier import ConsentStatus, DossierId
from waypost.model.message import Channel
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.testing.contracts.arrivals import OTHER_USER, USER, known_as
from waypost.testing.contracts.examples import (
    CUSTOMER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_customer,
    a_draft,
    an_arrival,
    claim,
    later,
)
from waypost.testing.contracts.talking import arrive, contact_of, entries, revoke, talk_with, write

NO, YES = ConsentStatus.REVOKED, ConsentStatus.GRANTED
STOP = ConsentSaid(status=NO, word="stop", confirmation=None)
START = ConsentSaid(status=YES, word="start", confirmation=None)


async def said_at(ledger: Ledger, *addresses: str) -> list[ConsentStatus | None]:
    """What a message to each of them would find."""
    return [(await ledger.consents.word(ORG, None, address, Channel.WHATSAPP)).address for address in addresses]


def a_notice(new: str, old: str) -> Arrival:
    """That a customer has a new number."""
    addresses = (f"phone:{new}", f"phone:{old}")
    return an_arrival(new, addresses=addresses, type="system", asks=False, opens_window=False)


def answered(said: ConsentSaid) -> ConsentSaid:
    """The same, and our answer to it."""
    return replace(said, confirmation=a_draft(content=said.word, exempt=True, ordered=True))


async def record(ledger: Ledger, status: ConsentStatus, now: Instant) -> None:
    """A person does, for the customer's dossier."""
    dossier = (await contact_of(ledger)).dossier_id
    assert dossier is not None
    await ledger.consents.put(ORG, DossierId(dossier), Channel.WHATSAPP, status, "user_1", now)


async def recorded(ledger: Ledger) -> tuple[list[ConsentStatus | None], list[tuple[ConsentStatus, Instant]]]:
    """What the address says, and what the dossier says since when."""
    dossier = (await contact_of(ledger)).dossier_id
    assert dossier is not None
    found = await ledger.consents.of(ORG, DossierId(dossier))
    return await said_at(ledger, CUSTOMER), [(each.status, each.at) for each in found]


class LateWordsContract:
    """A webhook is delivered again for days, and a journal is replayed: what counts is when a customer wrote it."""

    @pytest.mark.parametrize(("late", "stands"), [(START, STOP), (STOP, START)], ids=["START", "STOP"])
    async def test_what_comes_late_does_not_undo_what_was_written_later(
        self, ledger: Ledger, late: ConsentSaid, stands: ConsentSaid
    ) -> None:
        await arrive(ledger, an_arrival(at=later(minutes(5)), consent=stands), now=later(minutes(6)))
        await arrive(ledger, an_arrival(at=T0, consent=late), now=later(minutes(30)))
        assert await recorded(ledger) == ([stands.status], [(stands.status, later(minutes(5)))])

    @pytest.mark.parametrize(("said", "status"), [(START, NO), (STOP, YES)], ids=["START", "STOP"])
    async def test_what_a_person_recorded_later_stands(
        self, ledger: Ledger, said: ConsentSaid, status: ConsentStatus
    ) -> None:
        await write(ledger, "hello")
        await record(ledger, status, later(minutes(5)))
        await arrive(ledger, an_arrival(at=T0, consent=said), now=later(minutes(30)))
        assert await recorded(ledger) == ([status], [(status, later(minutes(5)))])
        await arrive(ledger, an_arrival(at=later(minutes(6)), consent=said), now=later(minutes(31)))
        assert await recorded(ledger) == ([said.status], [(said.status, later(minutes(6)))])

    async def test_a_stop_counts_against_what_was_recorded_within_its_second(self, ledger: Ledger) -> None:
        """A message says in which second it was written; in doubt it is a no."""
        await write(ledger, "hello")
        recorded_at = Instant(T0 + seconds(1) - 1)
        await record(ledger, YES, recorded_at)
        await arrive(ledger, an_arrival(at=T0, consent=STOP), now=later(seconds(2)))
        await arrive(ledger, an_arrival(at=T0, consent=START), now=later(seconds(2)))
        assert await recorded(ledger) == ([NO], [(NO, recorded_at)])

    @pytest.mark.parametrize("apart", [False, True], ids=["one POST", "one batch"])
    @pytest.mark.parametrize(
        ("words", "stands"),
        [
            ([(5, STOP), (0, START)], NO),
            ([(0, STOP), (5, START)], YES),
            ([(0, START), (5, STOP)], NO),
            ([(5, START), (0, STOP)], YES),
            ([(0, STOP), (0, START)], YES),
            ([(0, START), (0, STOP)], NO),
        ],
    )
    async def test_of_several_at_once_the_last_that_was_written_counts(
        self, ledger: Ledger, words: list[tuple[int, ConsentSaid]], stands: ConsentStatus, apart: bool
    ) -> None:
        now = later(minutes(30))
        told = [an_arrival(at=later(minutes(minute)), consent=said) for minute, said in words]
        posts = [[each] for each in told] if apart else [told]
        await asyncio.gather(*(arrive(ledger, *post, now=now) for post in posts))
        assert await recorded(ledger) == ([stands], [(stands, later(minutes(max(at for at, _ in words))))])

    async def test_only_what_counts_is_confirmed(self, ledger: Ledger) -> None:
        now = later(minutes(30))
        stop = an_arrival(at=later(minutes(5)), consent=answered(STOP))
        start = an_arrival(at=T0, consent=answered(START))
        assert (await arrive(ledger, stop, now=now)).confirmed == 1
        assert (await arrive(ledger, stop, start, now=now)).confirmed == 0
        talk = await talk_with(ledger)
        assert [entry.sender for entry in await entries(ledger, talk.id)] == ["contact", "system", "contact"]
        assert stop.consent is not None
        assert stop.consent.confirmation is not None
        claimed = await claim(ledger, now=now)
        assert [each.payload for each in claimed] == [stop.consent.confirmation.payload]

    async def test_a_no_that_is_carried_to_another_address_is_as_old_as_it_was(self, ledger: Ledger) -> None:
        """So that a yes counts that was written after it, and comes with the address."""
        await arrive(ledger, an_arrival(USER, consent=STOP))
        started = known_as(CUSTOMER, USER, at=later(minutes(5)), consent=START)
        await arrive(ledger, started, now=later(minutes(6)))
        assert await said_at(ledger, CUSTOMER, USER) == [YES, YES]


class FollowingContract:
    @pytest.mark.parametrize(
        ("came", "alias"),
        [
            ("+5215512345678", "+525512345678"),
            ("+5491123456789", "+541123456789"),
            ("+551187654321", "+5511987654321"),
        ],
    )
    async def test_a_stop_counts_for_both_forms_of_a_number(self, ledger: Ledger, came: str, alias: str) -> None:
        for form, other in ((came, alias), (alias, came)):
            await arrive(ledger, an_arrival(form, addresses=(f"phone:{alias}",), consent=STOP))
            assert await said_at(ledger, came, alias) == [NO, NO]
            await arrive(ledger, an_arrival(other, addresses=(f"phone:{alias}",), consent=START))
            assert await said_at(ledger, came, alias) == [YES, YES]

    async def test_a_stop_counts_for_addresses_that_the_message_does_not_name(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, an_arrival(USER, consent=STOP), an_arrival(OTHER_USER))
        assert await said_at(ledger, CUSTOMER, USER, OTHER_USER) == [NO, NO, None]
        await arrive(ledger, an_arrival(CUSTOMER, consent=START))
        assert await said_at(ledger, CUSTOMER, USER) == [YES, YES]

    async def test_an_address_that_comes_later_says_no_too(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER, consent=STOP))
        await arrive(ledger, known_as("+5215512345678", USER))
        assert await said_at(ledger, USER, "+5215512345678", "+525512345678") == [NO, NO, NO]

    async def test_an_address_of_somebody_willing_says_nothing(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER, consent=START))
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await said_at(ledger, USER, CUSTOMER) == [YES, None]

    async def test_who_said_no_before_they_ever_wrote_says_it_under_each_address(self, ledger: Ledger) -> None:
        await revoke(ledger)
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await said_at(ledger, CUSTOMER, USER) == [NO, NO]

    async def test_a_new_number_does_not_undo_a_stop(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(consent=STOP))
        await arrive(ledger, a_notice(OTHER_CUSTOMER, CUSTOMER))
        assert await said_at(ledger, CUSTOMER, OTHER_CUSTOMER) == [NO, NO]

    @pytest.mark.parametrize("unwilling", [CUSTOMER, USER])
    async def test_two_who_become_one_say_no_if_either_did(self, ledger: Ledger, unwilling: str) -> None:
        await write(ledger, "by phone")
        await write(ledger, "by id", customer=USER)
        await arrive(ledger, an_arrival(unwilling, consent=STOP))
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await said_at(ledger, CUSTOMER, USER) == [NO, NO]

    async def test_a_start_that_makes_two_one_counts_for_both(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER, consent=STOP))
        await write(ledger, "by phone")
        await arrive(ledger, known_as(CUSTOMER, USER, consent=START))
        assert await said_at(ledger, CUSTOMER, USER) == [YES, YES]

    async def test_what_a_person_records_for_the_dossier_counts_for_the_customer(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, an_arrival(OTHER_USER))
        for status in (NO, YES):
            for customer in (CUSTOMER, OTHER_USER):
                dossier = (await contact_of(ledger, customer)).dossier_id
                assert dossier is not None
                await ledger.consents.put(ORG, DossierId(dossier), Channel.WHATSAPP, status, "user_1", T0)
            assert await said_at(ledger, CUSTOMER, USER, OTHER_USER) == [status] * 3

    async def test_one_orgs_stop_is_not_anothers(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, known_as(CUSTOMER, USER, org_id=OTHER_ORG, consent=STOP))
        assert await said_at(ledger, CUSTOMER, USER) == [None, None]

    async def test_a_stop_and_a_new_address_at_two_processes_know_of_each_other(self, ledgers: Ledgers) -> None:
        for n in range(15):
            phone, user = a_customer(), f"DE.88{n}"
            await arrive(ledgers[0], an_arrival(user))
            await asyncio.gather(
                arrive(ledgers[n % 2], an_arrival(user, consent=STOP)),
                arrive(ledgers[1 - n % 2], known_as(phone, user)),
            )
            assert await said_at(ledgers[0], phone, user) == [NO, NO]
