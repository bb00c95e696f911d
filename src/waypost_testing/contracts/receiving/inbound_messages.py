"""The contract of inbound messages: one entry each, in order, with its contact."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.audit import AuditAction
from waypost.model.conversation import CONTACT, InboundMessage
from waypost.model.dossier import DossierFields, DossierId
from waypost.model.ids import NumberId
from waypost.model.time import Instant, days, hours, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.accounts.dossiers import DossierCreated
from waypost.ports.ledger import Ledger
from waypost.ports.operations.audit import AuditQuery
from waypost_testing.contracts.conversation_steps import (
    DUE,
    a_turn,
    arrive,
    contact_of,
    conversation_with,
    entries,
    turn_state_of,
    words,
    write,
)
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_customer,
    an_inbound,
    later,
)

USER = "DE.1234567890"
OTHER_USER = "DE.9876543210"


def known_as(phone: str, user: str, **fields: Any) -> InboundMessage:
    """A message from a contact with both addresses."""
    return an_inbound(phone, addresses=(f"phone:{phone}", f"user:{user}"), **fields)


class InboundMessagesContract:
    async def test_a_customers_message_becomes_an_entry_as_it_came(self, ledger: Ledger) -> None:
        message = an_inbound(CUSTOMER, Instant(T0 - hours(1)), text="hello", name="Ann", username="ann")
        taken = await arrive(ledger, message)
        conversation = await conversation_with(ledger)
        (entry,) = await entries(ledger, conversation.id)
        assert (entry.sender, entry.type, entry.body, entry.wamid) == (CONTACT, "text", message.body, message.wamid)
        assert (entry.at, entry.id_at) == (T0 - hours(1), T0)
        assert (conversation.number, conversation.address, conversation.org_id) == (NUMBER, CUSTOMER, ORG)
        contact = await contact_of(ledger)
        assert (contact.name, contact.username, contact.addresses) == ("Ann", "ann", (f"phone:{CUSTOMER}",))
        assert (taken.arrived, taken.buffered, list(taken.reached)) == (1, 0, [conversation.id])

    async def test_the_same_post_again_changes_nothing(self, ledgers: Ledgers) -> None:
        post = [an_inbound(text=str(n), name="Ann") for n in range(5)]
        await arrive(ledgers[0], *post)
        conversation = await conversation_with(ledgers[0])
        before = await entries(ledgers[0], conversation.id), await turn_state_of(ledgers[0], conversation.id)
        for ledger in ledgers:
            assert (await arrive(ledger, *post, now=later(hours(1)))).arrived == 0
        assert (await entries(ledgers[0], conversation.id), await turn_state_of(ledgers[0], conversation.id)) == before
        assert await ledgers[0].feeds.head(f"team:{ORG}") == 5

    async def test_halves_of_a_post_that_come_in_others_are_stored_once(self, ledger: Ledger) -> None:
        a, b, c, d = (an_inbound(text=text) for text in "abcd")
        for post in ((a, b), (b, c), (c, d, a), (d,)):
            await arrive(ledger, *post)
        conversation = await conversation_with(ledger)
        assert words(await entries(ledger, conversation.id)) == ["a", "b", "c", "d"]

    async def test_a_message_that_stands_twice_in_one_post_is_stored_once(self, ledger: Ledger) -> None:
        message = an_inbound()
        assert (await arrive(ledger, message, message)).arrived == 1

    async def test_duplicates_that_reach_two_processes_at_once_are_stored_once(self, ledgers: Ledgers) -> None:
        for _ in range(50):
            customer = a_customer()
            post = [an_inbound(customer, text=str(n)) for n in range(3)]
            taken = await asyncio.gather(*(arrive(ledgers[n % 2], *post) for n in range(4)))
            assert sum(each.arrived for each in taken) == 3
            conversation = await conversation_with(ledgers[0], customer)
            assert words(await entries(ledgers[0], conversation.id)) == ["0", "1", "2"]

    async def test_new_customers_who_reach_two_processes_at_once_are_met_once(self, ledgers: Ledgers) -> None:
        for _ in range(10):
            customers = [a_customer() for _ in range(10)]
            posts = [[an_inbound(c, text=side) for c in customers] for side in ("left", "right")]
            await asyncio.gather(arrive(ledgers[0], *posts[0]), arrive(ledgers[1], *reversed(posts[1])))
            for customer in customers:
                conversation = await conversation_with(ledgers[0], customer)
                assert sorted(words(await entries(ledgers[0], conversation.id))) == ["left", "right"]
                assert len(await ledgers[0].dossiers.find(ORG, customer, None, 10)) == 1

    async def test_messages_keep_the_order_of_their_arrival_whatever_their_own_time(self, ledger: Ledger) -> None:
        for n, written in enumerate((T0, later(hours(-5)), later(hours(-1)))):
            await arrive(ledger, an_inbound(at=written, text=str(n)))
        conversation = await conversation_with(ledger)
        shown = await entries(ledger, conversation.id)
        assert words(shown) == ["0", "1", "2"]
        assert [entry.at for entry in shown] == [T0, later(hours(-5)), later(hours(-1))]

    async def test_ids_grow_also_when_a_clock_goes_back(self, ledger: Ledger) -> None:
        for n, now in enumerate((T0, later(seconds(-60)), T0, later(seconds(1)))):
            await arrive(ledger, an_inbound(text=str(n)), now=now)
        shown = await entries(ledger, (await conversation_with(ledger)).id)
        assert [entry.id_at - T0 for entry in shown] == [0, 1, 2, seconds(1)]

    async def test_a_thousand_messages_of_many_customers_at_several_numbers_and_orgs(self, ledgers: Ledgers) -> None:
        places = [(NUMBER, ORG), (OTHER_NUMBER, ORG), (NumberId("300000000000003"), OTHER_ORG)]
        customers = [a_customer() for _ in range(300)]
        wrote: list[InboundMessage] = []
        for n in range(1000):
            number, org = places[n % 3]
            wrote.append(an_inbound(customers[n % 300], number=number, org_id=org, text=str(n)))
        taken = await asyncio.gather(*(arrive(ledger, *wrote) for ledger in ledgers))
        assert sum(each.arrived for each in taken) == 1000
        found: list[str] = []
        for org in (ORG, OTHER_ORG):
            for customer in customers:
                for conversation in await ledgers[0].conversations.at(org, f"phone:{customer}"):
                    shown = words(await entries(ledgers[0], conversation.id))
                    assert shown == sorted(shown, key=int)
                    found += shown
        assert sorted(found, key=int) == [str(n) for n in range(1000)]

    async def test_a_post_that_found_the_turn_taken_says_so(self, ledger: Ledger) -> None:
        await a_turn(ledger)
        taken = await arrive(ledger, an_inbound(), an_inbound(a_customer()), now=DUE)
        assert (taken.arrived, taken.buffered) == (2, 1)

    async def test_who_writes_to_two_numbers_has_two_conversations_and_is_one_contact(self, ledger: Ledger) -> None:
        await write(ledger, "here")
        await write(ledger, "there", number=OTHER_NUMBER)
        conversations = await ledger.conversations.at(ORG, f"phone:{CUSTOMER}")
        assert [conversation.number for conversation in conversations] == [NUMBER, OTHER_NUMBER]
        assert len({conversation.contact_id for conversation in conversations}) == 1

    async def test_the_same_phone_in_two_orgs_is_two_people(self, ledger: Ledger) -> None:
        await arrive(
            ledger,
            an_inbound(name="Ann", text="ours"),
            an_inbound(number=OTHER_NUMBER, org_id=OTHER_ORG, name="Anna", text="theirs"),
        )
        ours, theirs = await conversation_with(ledger), await conversation_with(ledger, org=OTHER_ORG)
        assert words(await entries(ledger, ours.id)) == ["ours"]
        assert words(await entries(ledger, theirs.id)) == ["theirs"]
        assert [(await contact_of(ledger, org=org)).name for org in (ORG, OTHER_ORG)] == ["Ann", "Anna"]
        assert await ledger.conversations.get(ORG, theirs.id) is None
        assert await ledger.conversations.contact(ORG, theirs.contact_id) is None
        assert [await ledger.feeds.head(f"team:{org}") for org in (ORG, OTHER_ORG)] == [1, 1]

    async def test_the_same_wamid_at_two_numbers_is_two_messages(self, ledger: Ledger) -> None:
        message = an_inbound()
        await arrive(ledger, message)
        assert (await arrive(ledger, replace(message, number=OTHER_NUMBER))).arrived == 1

    async def test_arrivals_are_forgotten_in_bites_the_oldest_first(self, ledger: Ledger) -> None:
        wrote = [an_inbound(), an_inbound(), an_inbound()]
        for n, message in enumerate(wrote):
            await arrive(ledger, message, now=later(days(n)))
        bites = [await ledger.conversations.prune_inbound(later(days(9)), 2) for _ in range(3)]
        assert bites == [2, 1, 0]

    async def test_a_forgotten_arrival_loses_its_dedup_but_not_its_entry(self, ledger: Ledger) -> None:
        old, young = an_inbound(text="old"), an_inbound(text="young")
        await arrive(ledger, old)
        await arrive(ledger, young, now=later(days(8)))
        assert await ledger.conversations.prune_inbound(later(days(1)), 9) == 1
        assert (await arrive(ledger, young, now=later(days(8)))).arrived == 0
        assert words(await entries(ledger, (await conversation_with(ledger)).id)) == ["old", "young"]
        assert (await arrive(ledger, old, now=later(days(8)))).arrived == 1


class ContactsContract:
    async def test_a_name_is_kept_up_to_date_and_never_forgotten(self, ledger: Ledger) -> None:
        for name, username in (("Ann", None), ("Anna", "anna"), (None, None)):
            await arrive(ledger, an_inbound(name=name, username=username))
        contact = await contact_of(ledger)
        assert (contact.name, contact.username) == ("Anna", "anna")

    async def test_a_message_that_comes_again_does_not_bring_back_an_old_name(self, ledger: Ledger) -> None:
        old = an_inbound(name="Ann")
        await arrive(ledger, old)
        await arrive(ledger, an_inbound(name="Anna"))
        await arrive(ledger, old)
        assert (await contact_of(ledger)).name == "Anna"

    async def test_a_dossier_is_opened_once_and_linked(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(name="Ann"), an_inbound(number=OTHER_NUMBER))
        await arrive(ledger, an_inbound())
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert dossier.person.name == "Ann"
        assert (await contact_of(ledger)).dossier_id == dossier.id

    async def test_a_dossier_that_the_business_has_is_linked_and_left_as_it_is(self, ledger: Ledger) -> None:
        person = DossierFields(phone=CUSTOMER, name="Dr. Ann", external_ref="c-1")
        await ledger.dossiers.ensure(ORG, person, "key", T0)
        await arrive(ledger, an_inbound(name="Ann"))
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert dossier.person == person
        assert (await contact_of(ledger)).dossier_id == dossier.id

    async def test_a_reference_that_looks_like_another_customers_phone_confuses_nobody(self, ledger: Ledger) -> None:
        for phone, ref in ((CUSTOMER, OTHER_CUSTOMER), (OTHER_CUSTOMER, CUSTOMER)):
            await ledger.dossiers.ensure(ORG, DossierFields(phone=phone, external_ref=ref), "key", T0)
        (first,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 1)
        (second,) = await ledger.dossiers.find(ORG, OTHER_CUSTOMER, None, 1)
        await arrive(ledger, an_inbound(CUSTOMER), an_inbound(OTHER_CUSTOMER))
        linked = [(await contact_of(ledger, each)).dossier_id for each in (CUSTOMER, OTHER_CUSTOMER)]
        assert linked == [first.id, second.id]

    async def test_who_has_no_phone_is_met_by_the_user_id(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER, name="Ann"), an_inbound(OTHER_USER))
        conversation, contact = await conversation_with(ledger, USER), await contact_of(ledger, USER)
        assert (conversation.address, contact.addresses) == (USER, (f"user:{USER}",))
        (dossier,) = await ledger.dossiers.find(ORG, None, f"user:{USER}", 10)
        assert (dossier.person.phone, dossier.id) == (None, contact.dossier_id)
        assert (await conversation_with(ledger, OTHER_USER)).id != conversation.id

    async def test_a_new_address_is_added_and_answers_go_where_they_wrote_from_last(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER))
        await arrive(ledger, known_as(CUSTOMER, USER))
        conversation = await conversation_with(ledger, USER)
        assert conversation == await conversation_with(ledger, CUSTOMER)
        assert (conversation.address, conversation.position) == (CUSTOMER, 2)
        assert (await contact_of(ledger)).addresses == (f"phone:{CUSTOMER}", f"user:{USER}")
        await arrive(ledger, an_inbound(USER))
        assert (await conversation_with(ledger)).address == USER

    async def test_a_dossier_without_a_phone_gains_it_when_the_customer_shows_it(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(USER))
        await arrive(ledger, known_as(CUSTOMER, USER), known_as(CUSTOMER, USER))
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert (dossier.id, dossier.person.external_ref) == ((await contact_of(ledger)).dossier_id, f"user:{USER}")
        assert [each.id for each in await ledger.dossiers.find(ORG, None, None, 10)] == [dossier.id]
        message = await ledger.audit.find(ORG, AuditQuery(entity_type="DOSSIER", entity_id=str(dossier.id)), 10)
        assert [each.entry.action for each in message] == [AuditAction.UPDATED, AuditAction.CREATED]

    @pytest.mark.parametrize("theirs", ["+5511987654321", "+551187654321"])
    async def test_a_phone_that_another_dossier_has_stays_there(self, ledger: Ledger, theirs: str) -> None:
        other = await ledger.dossiers.ensure(ORG, DossierFields(phone=theirs), "key", T0)
        assert isinstance(other, DossierCreated)
        await arrive(ledger, an_inbound(USER))
        await arrive(ledger, known_as("+5511987654321", USER))
        (dossier,) = await ledger.dossiers.find(ORG, None, f"user:{USER}", 10)
        assert dossier.person.phone is None
        assert [each.id for each in await ledger.dossiers.find(ORG, theirs, None, 10)] == [other.dossier.id]

    async def test_a_dossier_that_has_a_phone_keeps_it(self, ledger: Ledger) -> None:
        await arrive(ledger, an_inbound(OTHER_CUSTOMER))
        moved = an_inbound(CUSTOMER, addresses=(f"phone:{CUSTOMER}", f"phone:{OTHER_CUSTOMER}"))
        await arrive(ledger, moved)
        dossier = await ledger.dossiers.get(ORG, DossierId((await contact_of(ledger)).dossier_id or 0))
        assert dossier is not None
        assert dossier.person.phone == OTHER_CUSTOMER

    async def test_a_phone_that_is_learnt_while_it_gets_a_dossier_elsewhere_is_in_one(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.88{n}"
            await arrive(ledgers[0], an_inbound(user))
            await asyncio.gather(
                arrive(ledgers[0], known_as(phone, user)),
                ledgers[1].dossiers.ensure(ORG, DossierFields(phone=phone), "key", T0),
            )
            assert len(await ledgers[0].dossiers.find(ORG, phone, None, 10)) == 1

    async def test_two_who_turn_out_to_be_one_in_the_same_post_are_one(self, ledger: Ledger) -> None:
        await arrive(
            ledger,
            an_inbound(CUSTOMER, text="one", name="Ann"),
            an_inbound(USER, number=OTHER_NUMBER, text="two"),
            known_as(CUSTOMER, USER, text="three"),
            an_inbound(USER, text="four"),
        )
        here, there = await ledger.conversations.at(ORG, f"phone:{CUSTOMER}")
        assert words(await entries(ledger, here.id)) == ["one", "three", "four"]
        assert words(await entries(ledger, there.id)) == ["two"]
        assert list(await ledger.conversations.at(ORG, f"user:{USER}")) == [here, there]

    async def test_somebody_known_and_somebody_new_who_are_one_in_the_same_post_are_one(self, ledger: Ledger) -> None:
        await write(ledger, "one")
        await arrive(ledger, an_inbound(USER, text="two"), known_as(CUSTOMER, USER, text="three"))
        assert words(await entries(ledger, (await conversation_with(ledger, USER)).id)) == ["one", "two", "three"]

    async def test_a_new_person_who_comes_under_other_addresses_at_two_processes_is_one(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.77{n}"
            await asyncio.gather(
                arrive(ledgers[0], an_inbound(phone, text="a")),
                arrive(ledgers[1], an_inbound(user, text="b")),
                arrive(ledgers[n % 2], known_as(phone, user, text="c")),
            )
            await arrive(ledgers[0], known_as(phone, user, text="d"))
            conversation = await conversation_with(ledgers[0], phone)
            assert conversation == await conversation_with(ledgers[0], user)
            assert sorted(words(await entries(ledgers[0], conversation.id))) == ["a", "b", "c", "d"]


class FeedsContract:
    async def test_every_message_is_an_item_in_order(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        conversation = await conversation_with(ledger)
        items = await ledger.feeds.after(f"team:{ORG}", 0, 10)
        assert [(i.seq, i.kind, i.conversation_id, i.position) for i in items] == [
            (1, "message", conversation.id, 1),
            (2, "message", conversation.id, 2),
        ]
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 1, 1)] == [2]

    async def test_a_feed_that_nobody_wrote_to_is_empty(self, ledger: Ledger) -> None:
        assert (await ledger.feeds.head("team:nobody"), await ledger.feeds.after("team:nobody", 0, 9)) == (0, [])

    async def test_a_feed_has_no_gap_however_many_write_to_it(self, ledgers: Ledgers) -> None:
        customers = [a_customer() for _ in range(8)]
        await asyncio.gather(
            *(
                ledgers[n % 2].journal.apply_webhook(WebhookBatch([], [], [an_inbound(customers[n % 8])]), T0)
                for n in range(120)
            )
        )
        items = await ledgers[0].feeds.after(f"team:{ORG}", 0, 1000)
        assert [item.seq for item in items] == list(range(1, 121))
        assert await ledgers[1].feeds.head(f"team:{ORG}") == 120
        for conversation in {item.conversation_id for item in items}:
            positions = [item.position for item in items if item.conversation_id == conversation]
            assert positions == list(range(1, len(positions) + 1))

    async def test_whoever_reads_while_others_write_sees_no_gap(self, ledgers: Ledgers) -> None:
        """Entries that became visible stay before entries that become visible later."""
        seen: list[int] = []

        async def read() -> None:
            while len(seen) < 60:
                items = await ledgers[1].feeds.after(f"team:{ORG}", seen[-1] if seen else 0, 100)
                seen.extend(item.seq for item in items)

        posts = (arrive(ledgers[n % 2], an_inbound(a_customer())) for n in range(60))
        async with asyncio.timeout(30):
            await asyncio.gather(read(), *posts)
        assert seen == list(range(1, 61))
