"""The contract of a customer's revocation: it applies to the whole contact, under every present and later address."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.conversation import ConsentReply, InboundMessage
from waypost.model.dossier import ConsentStatus, DossierId
from waypost.model.message import Channel
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.conversation_steps import arrive, contact_of, conversation_with, entries, revoke, write
from waypost_testing.contracts.examples import (
    CUSTOMER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_customer,
    a_draft,
    an_inbound,
    claim,
    later,
)
from waypost_testing.contracts.receiving.inbound_messages import OTHER_USER, USER, known_as

NO, YES = ConsentStatus.REVOKED, ConsentStatus.GRANTED
STOP = ConsentReply(status=NO, word="stop", confirmation=None)
START = ConsentReply(status=YES, word="start", confirmation=None)


async def consent_of(ledger: Ledger, *addresses: str) -> list[ConsentStatus | None]:
    """The consent that a message to each of them would find."""
    return [(await ledger.consents.word(ORG, None, address, Channel.WHATSAPP)).address for address in addresses]


def a_number_change(new: str, old: str) -> InboundMessage:
    """The provider's notice that a customer has a new number."""
    addresses = (f"phone:{new}", f"phone:{old}")
    return an_inbound(new, addresses=addresses, type="system", asks=False, opens_window=False)


def answered(reply: ConsentReply) -> ConsentReply:
    """The same, with a confirmation."""
    return replace(reply, confirmation=a_draft(content=reply.word, exempt=True, ordered=True))


async def record(ledger: Ledger, status: ConsentStatus, now: Instant) -> None:
    """A user records it in the customer's dossier."""
    dossier = (await contact_of(ledger)).dossier_id
    assert dossier is not None
    await ledger.consents.put(ORG, DossierId(dossier), Channel.WHATSAPP, status, "user_1", now)


async def recorded(ledger: Ledger) -> tuple[list[ConsentStatus | None], list[tuple[ConsentStatus, Instant]]]:
    """The consent of the address, and the consents of the dossier with their times."""
    dossier = (await contact_of(ledger)).dossier_id
    assert dossier is not None
    found = await ledger.consents.of(ORG, DossierId(dossier))
    return await consent_of(ledger, CUSTOMER), [(each.status, each.at) for each in found]


class LateConsentContract:
    """A webhook is redelivered for days, and a journal is replayed: what counts is when the customer wrote."""

    @pytest.mark.parametrize(("late", "stands"), [(START, STOP), (STOP, START)], ids=["START", "STOP"])
    async def test_what_comes_late_does_not_undo_what_was_written_later(
        self, ledger: Ledger, late: ConsentReply, stands: ConsentReply
    ) -> None:
        await arrive(ledger, an_inbound(at=later(minutes(5)), consent=stands), now=later(minutes(6)))
        await arrive(ledger, an_inbound(at=T0, consent=late), now=later(minutes(30)))
        assert await recorded(ledger) == ([stands.status], [(stands.status, later(minutes(5)))])

    @pytest.mark.parametrize(("reply", "status"), [(START, NO), (STOP, YES)], ids=["START", "STOP"])
    async def test_what_a_person_recorded_later_stands(
        self, ledger: Ledger, reply: ConsentReply, status: ConsentStatus
    ) -> None:
        await write(ledger, "hello")
        await record(ledger, status, later(minutes(5)))
        await arrive(ledger, an_inbound(at=T0, consent=reply), now=later(minutes(30)))
        assert await recorded(ledger) == ([status], [(status, later(minutes(5)))])
        await arrive(ledger, an_inbound(at=later(minutes(6)), consent=reply), now=later(minutes(31)))
        assert await recorded(ledger) == ([reply.status], [(reply.status, later(minutes(6)))])

    async def test_a_stop_counts_against_what_was_recorded_within_its_second(self, ledger: Ledger) -> None:
        """Message times are whole seconds; within one second a revocation wins."""
        await write(ledger, "hello")
        recorded_at = Instant(T0 + seconds(1) - 1)
        await record(ledger, YES, recorded_at)
        await arrive(ledger, an_inbound(at=T0, consent=STOP), now=later(seconds(2)))
        await arrive(ledger, an_inbound(at=T0, consent=START), now=later(seconds(2)))
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
        self, ledger: Ledger, words: list[tuple[int, ConsentReply]], stands: ConsentStatus, apart: bool
    ) -> None:
        now = later(minutes(30))
        messages = [an_inbound(at=later(minutes(minute)), consent=reply) for minute, reply in words]
        posts = [[each] for each in messages] if apart else [messages]
        await asyncio.gather(*(arrive(ledger, *post, now=now) for post in posts))
        assert await recorded(ledger) == ([stands], [(stands, later(minutes(max(at for at, _ in words))))])

    async def test_only_what_counts_is_confirmed(self, ledger: Ledger) -> None:
        now = later(minutes(30))
        stop = an_inbound(at=later(minutes(5)), consent=answered(STOP))
        start = an_inbound(at=T0, consent=answered(START))
        assert (await arrive(ledger, stop, now=now)).confirmed == 1
        assert (await arrive(ledger, stop, start, now=now)).confirmed == 0
        conversation = await conversation_with(ledger)
        assert [entry.sender for entry in await entries(ledger, conversation.id)] == ["contact", "system", "contact"]
        assert stop.consent is not None
        assert stop.consent.confirmation is not None
        claimed = await claim(ledger, now=now)
        assert [each.payload for each in claimed] == [stop.consent.confirmation.payload]

    async def test_a_no_that_is_carried_to_another_address_is_as_old_as_it_was(self, ledger: Ledger) -> None:
        """So that a later START counts that comes with the address."""
        await arrive(ledger, an_inbound(USER, consent=STOP))
        started = known_as(CUSTOMER, USER, at=later(minutes(5)), consent=START)
        await arrive(ledger, started, now=later(minutes(6)))
        assert await consent_of(ledger, CUSTOMER, USER) == [YES, YES]


class RevocationContract:
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
            await arrive(ledger, an_inbound(form, addresses=(f"phone:{alias}",), consent=STOP))
            assert await consent_of(ledger, came, alias) == [NO, NO]
            await arrive(ledger, an_inbound(other, addresses=(f"phone:{alias}",), consent=START))
            assert await consent_of(ledger, came, alias) == [YES, YES]

    async def test_a_stop_counts_for_addresses_that_the_message_does_not_name(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, an_inbound(USER, consent=STOP), an_inbound(OTHER_USER))
        assert await consent_of(ledger, CUSTOMER, USER, OTHER_USER) == [NO, NO, None]
        await arrive(ledger, an_inbound(CUSTOMER, consent=START))
        assert await consent_of(ledger, CUSTOMER, USER) == [YES, YES]

    async def test_an_address_that_comes_later_says_no_too(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER, consent=STOP))
        await arrive(ledger, known_as("+5215512345678", USER))
        assert await consent_of(ledger, USER, "+5215512345678", "+525512345678") == [NO, NO, NO]

    async def test_an_address_of_somebody_willing_says_nothing(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER, consent=START))
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await consent_of(ledger, USER, CUSTOMER) == [YES, None]

    async def test_who_said_no_before_they_ever_wrote_says_it_under_each_address(self, ledger: Ledger) -> None:
        await revoke(ledger)
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await consent_of(ledger, CUSTOMER, USER) == [NO, NO]

    async def test_a_new_number_does_not_undo_a_stop(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(consent=STOP))
        await arrive(ledger, a_number_change(OTHER_CUSTOMER, CUSTOMER))
        assert await consent_of(ledger, CUSTOMER, OTHER_CUSTOMER) == [NO, NO]

    @pytest.mark.parametrize("unwilling", [CUSTOMER, USER])
    async def test_two_who_become_one_say_no_if_either_did(self, ledger: Ledger, unwilling: str) -> None:
        await write(ledger, "by phone")
        await write(ledger, "by id", customer=USER)
        await arrive(ledger, an_inbound(unwilling, consent=STOP))
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert await consent_of(ledger, CUSTOMER, USER) == [NO, NO]

    async def test_a_start_that_makes_two_one_counts_for_both(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER, consent=STOP))
        await write(ledger, "by phone")
        await arrive(ledger, known_as(CUSTOMER, USER, consent=START))
        assert await consent_of(ledger, CUSTOMER, USER) == [YES, YES]

    async def test_what_a_person_records_for_the_dossier_counts_for_the_customer(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, an_inbound(OTHER_USER))
        for status in (NO, YES):
            for customer in (CUSTOMER, OTHER_USER):
                dossier = (await contact_of(ledger, customer)).dossier_id
                assert dossier is not None
                await ledger.consents.put(ORG, DossierId(dossier), Channel.WHATSAPP, status, "user_1", T0)
            assert await consent_of(ledger, CUSTOMER, USER, OTHER_USER) == [status] * 3

    async def test_one_orgs_stop_is_not_anothers(self, ledger: Ledger) -> None:
        await arrive(ledger, known_as(CUSTOMER, USER))
        await arrive(ledger, known_as(CUSTOMER, USER, org_id=OTHER_ORG, consent=STOP))
        assert await consent_of(ledger, CUSTOMER, USER) == [None, None]

    async def test_a_stop_and_a_new_address_at_two_processes_know_of_each_other(self, ledgers: Ledgers) -> None:
        for n in range(15):
            phone, user = a_customer(), f"DE.88{n}"
            await arrive(ledgers[0], an_inbound(user))
            await asyncio.gather(
                arrive(ledgers[n % 2], an_inbound(user, consent=STOP)),
                arrive(ledgers[1 - n % 2], known_as(phone, user)),
            )
            assert await consent_of(ledgers[0], phone, user) == [NO, NO]
