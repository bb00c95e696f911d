"""The contract of what customers write: one entry each, in order, with the person it is from."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.audit import Action
from waypost.model.conversation import CONTACT, Arrival
from waypost.model.dossier import DossierId, Person
from waypost.model.ids import NumberId
from waypost.model.report import Post
from waypost.model.time import Instant, days, hours, seconds
from waypost.ports.audit import AuditQuery
from waypost.ports.dossiers import Opened
from waypost.ports.ledger import Ledger
from waypost.testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_customer,
    an_arrival,
    later,
)
from waypost.testing.contracts.talking import (
    DUE,
    a_turn,
    arrive,
    contact_of,
    entries,
    lane_of,
    talk_with,
    words,
    write,
)

USER = "DE.1234567890"
OTHER_USER = "DE.9876543210"


def known_as(phone: str, user: str, **fields: Any) -> Arrival:
    """A message of somebody with both."""
    return an_arrival(phone, addresses=(f"phone:{phone}", f"user:{user}"), **fields)


class ArrivalsContract:
    async def test_a_customers_message_becomes_an_entry_as_it_came(self, ledger: Ledger) -> None:
        told = an_arrival(CUSTOMER, Instant(T0 - hours(1)), text="hello", name="Ann", username="ann")
        taken = await arrive(ledger, told)
        talk = await talk_with(ledger)
        (entry,) = await entries(ledger, talk.id)
        assert (entry.sender, entry.type, entry.body, entry.wamid) == (CONTACT, "text", told.body, told.wamid)
        assert (entry.at, entry.id_at) == (T0 - hours(1), T0)
        assert (talk.number, talk.address, talk.org_id) == (NUMBER, CUSTOMER, ORG)
        contact = await contact_of(ledger)
        assert (contact.name, contact.username, contact.addresses) == ("Ann", "ann", (f"phone:{CUSTOMER}",))
        assert (taken.arrived, taken.buffered, list(taken.reached)) == (1, 0, [talk.id])

    async def test_the_same_post_again_changes_nothing(self, ledgers: Ledgers) -> None:
        post = [an_arrival(text=str(n), name="Ann") for n in range(5)]
        await arrive(ledgers[0], *post)
        talk = await talk_with(ledgers[0])
        before = await entries(ledgers[0], talk.id), await lane_of(ledgers[0], talk.id)
        for ledger in ledgers:
            assert (await arrive(ledger, *post, now=later(hours(1)))).arrived == 0
        assert (await entries(ledgers[0], talk.id), await lane_of(ledgers[0], talk.id)) == before
        assert await ledgers[0].feeds.head(f"team:{ORG}") == 5

    async def test_halves_of_a_post_that_come_in_others_are_stored_once(self, ledger: Ledger) -> None:
        a, b, c, d = (an_arrival(text=text) for text in "abcd")
        for post in ((a, b), (b, c), (c, d, a), (d,)):
            await arrive(ledger, *post)
        talk = await talk_with(ledger)
        assert words(await entries(ledger, talk.id)) == ["a", "b", "c", "d"]

    async def test_a_message_that_stands_twice_in_one_post_is_stored_once(self, ledger: Ledger) -> None:
        told = an_arrival()
        assert (await arrive(ledger, told, told)).arrived == 1

    async def test_duplicates_that_reach_two_processes_at_once_are_stored_once(self, ledgers: Ledgers) -> None:
        for _ in range(50):
            customer = a_customer()
            post = [an_arrival(customer, text=str(n)) for n in range(3)]
            taken = await asyncio.gather(*(arrive(ledgers[n % 2], *post) for n in range(4)))
            assert sum(each.arrived for each in taken) == 3
            talk = await talk_with(ledgers[0], customer)
            assert words(await entries(ledgers[0], talk.id)) == ["0", "1", "2"]

    async def test_new_customers_who_reach_two_processes_at_once_are_met_once(self, ledgers: Ledgers) -> None:
        for _ in range(10):
            customers = [a_customer() for _ in range(10)]
            posts = [[an_arrival(c, text=side) for c in customers] for side in ("left", "right")]
            await asyncio.gather(arrive(ledgers[0], *posts[0]), arrive(ledgers[1], *reversed(posts[1])))
            for customer in customers:
                talk = await talk_with(ledgers[0], customer)
                assert sorted(words(await entries(ledgers[0], talk.id))) == ["left", "right"]
                assert len(await ledgers[0].dossiers.find(ORG, customer, None, 10)) == 1

    async def test_messages_keep_the_order_of_their_arrival_whatever_their_own_time(self, ledger: Ledger) -> None:
        for n, written in enumerate((T0, later(hours(-5)), later(hours(-1)))):
            await arrive(ledger, an_arrival(at=written, text=str(n)))
        talk = await talk_with(ledger)
        said = await entries(ledger, talk.id)
        assert words(said) == ["0", "1", "2"]
        assert [entry.at for entry in said] == [T0, later(hours(-5)), later(hours(-1))]

    async def test_ids_grow_also_when_a_clock_goes_back(self, ledger: Ledger) -> None:
        for n, now in enumerate((T0, later(seconds(-60)), T0, later(seconds(1)))):
            await arrive(ledger, an_arrival(text=str(n)), now=now)
        said = await entries(ledger, (await talk_with(ledger)).id)
        assert [entry.id_at - T0 for entry in said] == [0, 1, 2, seconds(1)]

    async def test_a_thousand_messages_of_many_customers_at_several_numbers_and_orgs(self, ledgers: Ledgers) -> None:
        places = [(NUMBER, ORG), (OTHER_NUMBER, ORG), (NumberId("300000000000003"), OTHER_ORG)]
        customers = [a_customer() for _ in range(300)]
        wrote: list[Arrival] = []
        for n in range(1000):
            number, org = places[n % 3]
            wrote.append(an_arrival(customers[n % 300], number=number, org_id=org, text=str(n)))
        taken = await asyncio.gather(*(arrive(ledger, *wrote) for ledger in ledgers))
        assert sum(each.arrived for each in taken) == 1000
        found: list[str] = []
        for org in (ORG, OTHER_ORG):
            for customer in customers:
                for talk in await ledgers[0].conversations.at(org, f"phone:{customer}"):
                    said = words(await entries(ledgers[0], talk.id))
                    assert said == sorted(said, key=int)
                    found += said
        assert sorted(found, key=int) == [str(n) for n in range(1000)]

    async def test_a_post_that_found_the_turn_taken_says_so(self, ledger: Ledger) -> None:
        await a_turn(ledger)
        taken = await arrive(ledger, an_arrival(), an_arrival(a_customer()), now=DUE)
        assert (taken.arrived, taken.buffered) == (2, 1)

    async def test_who_writes_to_two_numbers_has_two_conversations_and_is_one_contact(self, ledger: Ledger) -> None:
        await write(ledger, "here")
        await write(ledger, "there", number=OTHER_NUMBER)
        talks = await ledger.conversations.at(ORG, f"phone:{CUSTOMER}")
        assert [talk.number for talk in talks] == [NUMBER, OTHER_NUMBER]
        assert len({talk.contact_id for talk in talks}) == 1

    async def test_the_same_phone_in_two_orgs_is_two_people(self, ledger: Ledger) -> None:
        await arrive(
            ledger,
            an_arrival(name="Ann", text="ours"),
            an_arrival(number=OTHER_NUMBER, org_id=OTHER_ORG, name="Anna", text="theirs"),
        )
        ours, theirs = await talk_with(ledger), await talk_with(ledger, org=OTHER_ORG)
        assert words(await entries(ledger, ours.id)) == ["ours"]
        assert words(await entries(ledger, theirs.id)) == ["theirs"]
        assert [(await contact_of(ledger, org=org)).name for org in (ORG, OTHER_ORG)] == ["Ann", "Anna"]
        assert await ledger.conversations.get(ORG, theirs.id) is None
        assert await ledger.conversations.contact(ORG, theirs.contact_id) is None
        assert [await ledger.feeds.head(f"team:{org}") for org in (ORG, OTHER_ORG)] == [1, 1]

    async def test_the_same_wamid_at_two_numbers_is_two_messages(self, ledger: Ledger) -> None:
        told = an_arrival()
        await arrive(ledger, told)
        assert (await arrive(ledger, replace(told, number=OTHER_NUMBER))).arrived == 1

    async def test_arrivals_are_forgotten_in_bites_the_oldest_first(self, ledger: Ledger) -> None:
        wrote = [an_arrival(), an_arrival(), an_arrival()]
        for n, told in enumerate(wrote):
            await arrive(ledger, told, now=later(days(n)))
        bites = [await ledger.conversations.forget_arrivals(later(days(9)), 2) for _ in range(3)]
        assert bites == [2, 1, 0]

    async def test_a_forgotten_arrival_loses_its_dedup_but_not_its_entry(self, ledger: Ledger) -> None:
        old, young = an_arrival(text="old"), an_arrival(text="young")
        await arrive(ledger, old)
        await arrive(ledger, young, now=later(days(8)))
        assert await ledger.conversations.forget_arrivals(later(days(1)), 9) == 1
        assert (await arrive(ledger, young, now=later(days(8)))).arrived == 0
        assert words(await entries(ledger, (await talk_with(ledger)).id)) == ["old", "young"]
        assert (await arrive(ledger, old, now=later(days(8)))).arrived == 1


class PeopleContract:
    async def test_a_name_is_kept_up_to_date_and_never_forgotten(self, ledger: Ledger) -> None:
        for name, username in (("Ann", None), ("Anna", "anna"), (None, None)):
            await arrive(ledger, an_arrival(name=name, username=username))
        contact = await contact_of(ledger)
        assert (contact.name, contact.username) == ("Anna", "anna")

    async def test_a_message_that_comes_again_does_not_bring_back_an_old_name(self, ledger: Ledger) -> None:
        old = an_arrival(name="Ann")
        await arrive(ledger, old)
        await arrive(ledger, an_arrival(name="Anna"))
        await arrive(ledger, old)
        assert (await contact_of(ledger)).name == "Anna"

    async def test_a_dossier_is_opened_once_and_linked(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(name="Ann"), an_arrival(number=OTHER_NUMBER))
        await arrive(ledger, an_arrival())
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert dossier.person.name == "Ann"
        assert (await contact_of(ledger)).dossier_id == dossier.id

    async def test_a_dossier_that_the_business_has_is_linked_and_left_as_it_is(self, ledger: Ledger) -> None:
        person = Person(phone=CUSTOMER, name="Dr. Ann", external_ref="c-1")
        await ledger.dossiers.ensure(ORG, person, "key", T0)
        await arrive(ledger, an_arrival(name="Ann"))
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert dossier.person == person
        assert (await contact_of(ledger)).dossier_id == dossier.id

    async def test_a_reference_that_looks_like_another_customers_phone_confuses_nobody(self, ledger: Ledger) -> None:
        for phone, ref in ((CUSTOMER, OTHER_CUSTOMER), (OTHER_CUSTOMER, CUSTOMER)):
            await ledger.dossiers.ensure(ORG, Person(phone=phone, external_ref=ref), "key", T0)
        (first,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 1)
        (second,) = await ledger.dossiers.find(ORG, OTHER_CUSTOMER, None, 1)
        await arrive(ledger, an_arrival(CUSTOMER), an_arrival(OTHER_CUSTOMER))
        linked = [(await contact_of(ledger, each)).dossier_id for each in (CUSTOMER, OTHER_CUSTOMER)]
        assert linked == [first.id, second.id]

    async def test_who_has_no_phone_is_met_by_the_user_id(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER, name="Ann"), an_arrival(OTHER_USER))
        talk, contact = await talk_with(ledger, USER), await contact_of(ledger, USER)
        assert (talk.address, contact.addresses) == (USER, (f"user:{USER}",))
        (dossier,) = await ledger.dossiers.find(ORG, None, f"user:{USER}", 10)
        assert (dossier.person.phone, dossier.id) == (None, contact.dossier_id)
        assert (await talk_with(ledger, OTHER_USER)).id != talk.id

    async def test_a_new_address_is_added_and_answers_go_where_they_wrote_from_last(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER))
        await arrive(ledger, known_as(CUSTOMER, USER))
        talk = await talk_with(ledger, USER)
        assert talk == await talk_with(ledger, CUSTOMER)
        assert (talk.address, talk.position) == (CUSTOMER, 2)
        assert (await contact_of(ledger)).addresses == (f"phone:{CUSTOMER}", f"user:{USER}")
        await arrive(ledger, an_arrival(USER))
        assert (await talk_with(ledger)).address == USER

    async def test_a_dossier_without_a_phone_gains_it_when_the_customer_shows_it(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(USER))
        await arrive(ledger, known_as(CUSTOMER, USER), known_as(CUSTOMER, USER))
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert (dossier.id, dossier.person.external_ref) == ((await contact_of(ledger)).dossier_id, f"user:{USER}")
        assert [each.id for each in await ledger.dossiers.find(ORG, None, None, 10)] == [dossier.id]
        told = await ledger.audit.find(ORG, AuditQuery(entity_type="DOSSIER", entity_id=str(dossier.id)), 10)
        assert [each.entry.action for each in told] == [Action.UPDATED, Action.CREATED]

    @pytest.mark.parametrize("theirs", ["+5511987654321", "+551187654321"])
    async def test_a_phone_that_another_dossier_has_stays_there(self, ledger: Ledger, theirs: str) -> None:
        other = await ledger.dossiers.ensure(ORG, Person(phone=theirs), "key", T0)
        assert isinstance(other, Opened)
        await arrive(ledger, an_arrival(USER))
        await arrive(ledger, known_as("+5511987654321", USER))
        (dossier,) = await ledger.dossiers.find(ORG, None, f"user:{USER}", 10)
        assert dossier.person.phone is None
        assert [each.id for each in await ledger.dossiers.find(ORG, theirs, None, 10)] == [other.dossier.id]

    async def test_a_dossier_that_has_a_phone_keeps_it(self, ledger: Ledger) -> None:
        await arrive(ledger, an_arrival(OTHER_CUSTOMER))
        moved = an_arrival(CUSTOMER, addresses=(f"phone:{CUSTOMER}", f"phone:{OTHER_CUSTOMER}"))
        await arrive(ledger, moved)
        dossier = await ledger.dossiers.get(ORG, DossierId((await contact_of(ledger)).dossier_id or 0))
        assert dossier is not None
        assert dossier.person.phone == OTHER_CUSTOMER

    async def test_a_phone_that_is_learnt_while_it_gets_a_dossier_elsewhere_is_in_one(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.88{n}"
            await arrive(ledgers[0], an_arrival(user))
            await asyncio.gather(
                arrive(ledgers[0], known_as(phone, user)),
                ledgers[1].dossiers.ensure(ORG, Person(phone=phone), "key", T0),
            )
            assert len(await ledgers[0].dossiers.find(ORG, phone, None, 10)) == 1

    async def test_two_who_turn_out_to_be_one_in_the_same_post_are_one(self, ledger: Ledger) -> None:
        await arrive(
            ledger,
            an_arrival(CUSTOMER, text="one", name="Ann"),
            an_arrival(USER, number=OTHER_NUMBER, text="two"),
            known_as(CUSTOMER, USER, text="three"),
            an_arrival(USER, text="four"),
        )
        here, there = await ledger.conversations.at(ORG, f"phone:{CUSTOMER}")
        assert words(await entries(ledger, here.id)) == ["one", "three", "four"]
        assert words(await entries(ledger, there.id)) == ["two"]
        assert list(await ledger.conversations.at(ORG, f"user:{USER}")) == [here, there]

    async def test_somebody_known_and_somebody_new_who_are_one_in_the_same_post_are_one(self, ledger: Ledger) -> None:
        await write(ledger, "one")
        await arrive(ledger, an_arrival(USER, text="two"), known_as(CUSTOMER, USER, text="three"))
        assert words(await entries(ledger, (await talk_with(ledger, USER)).id)) == ["one", "two", "three"]

    async def test_a_new_person_who_comes_under_other_addresses_at_two_processes_is_one(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.77{n}"
            await asyncio.gather(
                arrive(ledgers[0], an_arrival(phone, text="a")),
                arrive(ledgers[1], an_arrival(user, text="b")),
                arrive(ledgers[n % 2], known_as(phone, user, text="c")),
            )
            await arrive(ledgers[0], known_as(phone, user, text="d"))
            talk = await talk_with(ledgers[0], phone)
            assert talk == await talk_with(ledgers[0], user)
            assert sorted(words(await entries(ledgers[0], talk.id))) == ["a", "b", "c", "d"]


class FeedsContract:
    async def test_every_message_is_an_item_in_order(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        talk = await talk_with(ledger)
        items = await ledger.feeds.after(f"team:{ORG}", 0, 10)
        assert [(i.seq, i.kind, i.conversation_id, i.position) for i in items] == [
            (1, "message", talk.id, 1),
            (2, "message", talk.id, 2),
        ]
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 1, 1)] == [2]

    async def test_a_feed_that_nobody_wrote_to_is_empty(self, ledger: Ledger) -> None:
        assert (await ledger.feeds.head("team:nobody"), await ledger.feeds.after("team:nobody", 0, 9)) == (0, [])

    async def test_a_feed_has_no_gap_however_many_write_to_it(self, ledgers: Ledgers) -> None:
        customers = [a_customer() for _ in range(8)]
        await asyncio.gather(
            *(ledgers[n % 2].journal.take(Post([], [], [an_arrival(customers[n % 8])]), T0) for n in range(120))
        )
        items = await ledgers[0].feeds.after(f"team:{ORG}", 0, 1000)
        assert [item.seq for item in items] == list(range(1, 121))
        assert await ledgers[1].feeds.head(f"team:{ORG}") == 120
        for talk in {item.conversation_id for item in items}:
            positions = [item.position for item in items if item.conversation_id == talk]
            assert positions == list(range(1, len(positions) + 1))

    async def test_whoever_reads_while_others_write_sees_no_gap(self, ledgers: Ledgers) -> None:
        """What became visible stays before what becomes visible later."""
        seen: list[int] = []

        async def read() -> None:
            while len(seen) < 60:
                items = await ledgers[1].feeds.after(f"team:{ORG}", seen[-1] if seen else 0, 100)
                seen.extend(item.seq for item in items)

        posts = (arrive(ledgers[n % 2], an_arrival(a_customer())) for n in range(60))
        async with asyncio.timeout(30):
            await asyncio.gather(read(), *posts)
        assert seen == list(range(1, 61))
