"""The contract of contacts and conversations: read within one org, and merged without a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from waypost.model.conversation import BOT, ContactId, Position
from waypost.model.ids import MessageId
from waypost.model.media import MediaFile
from waypost.model.time import Instant, days
from waypost.ports.accounts.dossiers import DossierChange
from waypost.ports.conversations.chats import Posted
from waypost.ports.conversations.turn_queue import FloorTaken, TurnAnswer
from waypost.ports.ledger import Ledger
from waypost.rules.conversations.turn_state import LeaseLost
from waypost_testing.contracts.chat_steps import a_post
from waypost_testing.contracts.conversation_steps import (
    DUE,
    LOST,
    TIMES,
    arrive,
    claim_turn,
    claim_turns,
    commit,
    contact_of,
    conversation_with,
    entries,
    replies,
    soon,
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
    drain,
    later,
)
from waypost_testing.contracts.operations.turn_invariants import looked
from waypost_testing.contracts.receiving.inbound_messages import (
    OTHER_USER,
    USER,
    ContactsContract,
    InboundMessagesContract,
    known_as,
)
from waypost_testing.contracts.receiving.media import NOTE
from waypost_testing.contracts.receiving.revocation import LateConsentContract, RevocationContract


async def answered(ledger: Ledger, text: str, reply: str, now: Instant = T0, **fields: Any) -> list[MessageId]:
    """A customer wrote, and the bot answered."""
    await write(ledger, text, now=now, **fields)
    claim = await claim_turn(ledger, Instant(now + TIMES.quiet))
    return list((await commit(ledger, claim, reply, now=Instant(now + TIMES.quiet))).replies)


async def files_of(ledger: Ledger, customer: str) -> Sequence[MediaFile]:
    return await ledger.files.between(ORG, (await conversation_with(ledger, customer)).id, Position(1), Position(99))


class ConversationRetentionContract:
    async def test_ended_turns_are_forgotten_in_bites_and_dead_letters_stay(self, ledger: Ledger) -> None:
        for n in range(3):
            await answered(ledger, f"{n}", "reply", now=later(days(n)))
        await write(ledger, "poison", now=later(days(3)))
        dead = await claim_turn(ledger, later(days(4)))
        await ledger.turn_queue.fail(dead, "no", TIMES, later(days(4)), hopeless=True)
        assert [await ledger.turn_queue.forget(later(days(2)), 1) for _ in range(3)] == [1, 1, 0]
        assert [await ledger.turn_queue.forget(later(days(9)), 9) for _ in range(2)] == [1, 0]
        assert len(await ledger.turn_queue.failed(ORG, 9)) == 1
        assert await looked(ledger) == []

    async def test_feeds_go_on_with_their_numbers_after_what_was_forgotten(self, ledger: Ledger) -> None:
        await write(ledger, *"abc")
        assert [await ledger.feeds.forget(later(days(1)), 1) for _ in range(3)] == [1, 1, 0]
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == [3]
        assert await looked(ledger) == []
        await write(ledger, "d", now=later(days(1)))
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == [3, 4]
        assert await ledger.feeds.forget(later(days(1)), 9) == 1

    async def test_what_a_clock_that_was_behind_told_is_not_forgotten_before_what_came_before_it(
        self, ledger: Ledger
    ) -> None:
        """A feed is pruned from its beginning; otherwise an item would be missing in the middle, as if it were lost."""
        for n, day in enumerate((0, 3, 1, 2, 9)):  # the clocks of the writers differ
            await write(ledger, f"{n}", now=later(days(day)))
        await write(ledger, "elsewhere", now=later(days(1)), org_id=OTHER_ORG, number=OTHER_NUMBER)
        await write(ledger, "the last", now=later(days(1)), org_id=OTHER_ORG, number=OTHER_NUMBER)
        assert await ledger.feeds.forget(Instant(later(days(2)) + 1), 9) == 2
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == [2, 3, 4, 5]
        assert [item.seq for item in await ledger.feeds.after(f"team:{OTHER_ORG}", 0, 9)] == [2]
        assert await looked(ledger) == []
        for left in ([3, 4, 5], [4, 5], [5], [5]):  # in batches as well
            await ledger.feeds.forget(later(days(4)), 1)
            assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == left
            assert await looked(ledger) == []


class ConversationReadContract:
    async def test_entries_are_read_page_by_page_newest_first(self, ledger: Ledger) -> None:
        await write(ledger, *"abcde")
        conversation = await conversation_with(ledger)
        page = await ledger.conversations.entries(conversation.id, Position(5), 2)
        assert words(page) == ["d", "c"]
        assert words(await ledger.conversations.entries(conversation.id, page[-1].position, 9)) == ["b", "a"]

    async def test_what_is_not_there_is_none(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        assert await ledger.conversations.get(ORG, conversation.id) == conversation
        assert await ledger.conversations.get(OTHER_ORG, conversation.id) is None
        assert await ledger.conversations.at(OTHER_ORG, f"phone:{CUSTOMER}") == []
        assert await ledger.conversations.at(ORG, "phone:+1") == []
        assert await ledger.conversations.contact(ORG, ContactId(987_654_321)) is None
        assert await ledger.conversations.contact(OTHER_ORG, conversation.contact_id) is None


class MergeContactsContract:
    async def test_what_people_posted_is_found_where_it_went(self, ledger: Ledger) -> None:
        await write(ledger, "by phone", name=None)
        await write(ledger, "by id", customer=USER, name="Ann")
        post = a_post(await conversation_with(ledger, USER), "bea", "an answer")
        await ledger.chats.post(post, T0)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        conversation = await conversation_with(ledger, CUSTOMER)
        (mine,) = [entry for entry in await entries(ledger, conversation.id) if entry.sender == "bea"]
        again = await ledger.chats.post(replace(post, conversation_id=conversation.id), LOST)
        assert again == Posted(conversation.id, mine.position, mine.id_at, duplicate=True)
        assert await looked(ledger) == []

    async def test_who_writes_with_both_addresses_becomes_one_and_no_entry_is_lost(self, ledger: Ledger) -> None:
        by_phone = await answered(ledger, "by phone", "to the phone", name=None)
        by_id = await answered(ledger, "by id", "to the id", customer=USER, name="Ann")
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        conversation = await conversation_with(ledger, CUSTOMER)
        assert conversation == await conversation_with(ledger, USER)
        shown = await entries(ledger, conversation.id)
        assert words(shown) == ["by phone", "to the phone", "by id", "to the id", "it is me"]
        assert [e.message_id for e in shown if e.sender == BOT] == [*by_phone, *by_id]
        assert (await contact_of(ledger)).addresses == (f"phone:{CUSTOMER}", f"user:{USER}")
        assert (await contact_of(ledger)).name == "Ann"
        kinds = [(item.kind, item.conversation_id) for item in await ledger.feeds.after(f"team:{ORG}", 0, 100)]
        assert kinds[-2:] == [("joined", conversation.id), ("message", conversation.id)]

    async def test_only_what_is_new_is_asked_after_a_join(self, ledger: Ledger) -> None:
        await answered(ledger, "by phone", "reply")
        await answered(ledger, "by id", "reply", customer=USER)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        await write(ledger, "again", now=LOST)
        claim = await claim_turn(ledger, soon(LOST, 3))
        assert words(claim.burst) == ["it is me", "again"]

    async def test_what_waited_for_an_answer_in_either_is_asked_once(self, ledger: Ledger) -> None:
        await answered(ledger, "by id", "reply", customer=USER)
        await write(ledger, "waits by id", customer=USER, now=LOST)
        await write(ledger, "by phone", now=LOST)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        claim = await claim_turn(ledger, soon(LOST, 3))
        assert [w for w in words(claim.burst) if w != "reply"] == ["waits by id", "by phone", "it is me"]
        await commit(ledger, claim, "one answer", now=soon(LOST, 3))
        assert await claim_turns(ledger, soon(LOST, 600)) == []

    async def test_what_was_answered_there_is_not_asked_again_with_what_waits_here(self, ledger: Ledger) -> None:
        await answered(ledger, "p1", "to p1")
        await answered(ledger, "u1", "to u1", customer=USER)
        await answered(ledger, "u2", "to u2", customer=USER, now=LOST)
        await write(ledger, "p2", now=soon(LOST, 60))
        await arrive(ledger, known_as(CUSTOMER, USER, text="p3"), now=soon(LOST, 60))
        claim = await claim_turn(ledger, soon(LOST, 63))
        assert words(claim.burst) == ["p2", "p3"]
        conversation = await conversation_with(ledger)
        assert words(await entries(ledger, conversation.id)) == [
            "p1",
            "to p1",
            "u1",
            "to u1",
            "u2",
            "to u2",
            "p2",
            "p3",
        ]
        for lo, hi in ((0, 1), (2, 3), (3, 5)):
            turn = await ledger.turn_queue.ended(ORG, conversation.id, Position(hi))
            assert turn is not None
            assert (turn.lo, turn.state) == (lo, "answered")

    async def test_what_waits_in_both_comes_after_what_was_answered_in_either(self, ledger: Ledger) -> None:
        await answered(ledger, "p1", "to p1")
        await answered(ledger, "u1", "to u1", customer=USER)
        await write(ledger, "p2", "p3", now=LOST)
        await write(ledger, "u2", "u3", customer=USER, now=LOST)
        await arrive(ledger, known_as(CUSTOMER, USER, text="p4"), now=LOST)
        claim = await claim_turn(ledger, soon(LOST, 3))
        assert words(claim.burst) == ["p2", "p3", "u2", "u3", "p4"]
        shown = await entries(ledger, claim.conversation.id)
        assert words(shown) == ["p1", "to p1", "u1", "to u1", "p2", "p3", "u2", "u3", "p4"]

    async def test_files_and_dedup_follow_every_message_that_moves(self, ledger: Ledger) -> None:
        wrote = [*await write(ledger, "p1", media=NOTE), *await write(ledger, "u1", customer=USER, media=NOTE)]
        for claim in await claim_turns(ledger):
            await commit(ledger, claim, "reply")
        wrote += await write(ledger, "p2", "p3", "p4", now=LOST, media=NOTE)
        wrote += await write(ledger, "u2", "u3", customer=USER, now=LOST, media=NOTE)
        files = {f.id: f.position for f in await files_of(ledger, CUSTOMER)}
        theirs = {f.id: f.position for f in await files_of(ledger, USER)}
        await arrive(ledger, known_as(CUSTOMER, USER, text="p5"), now=LOST)
        conversation = await conversation_with(ledger)
        shown = await entries(ledger, conversation.id)
        assert words(shown) == ["p1", "reply", "u1", "reply", "p2", "p3", "p4", "u2", "u3", "p5"]
        after = {f.id: f.position for f in await files_of(ledger, CUSTOMER)}
        assert [after[id_] for id_ in files] == [1, 5, 6, 7]
        assert [after[id_] for id_ in theirs] == [3, 8, 9]
        assert (await arrive(ledger, *wrote, now=LOST)).arrived == 0
        again = await claim_turn(ledger, soon(LOST, 3))
        assert words(again.burst) == ["p2", "p3", "p4", "u2", "u3", "p5"]

    async def test_a_turn_whose_messages_move_is_lost_and_asked_anew(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        late = await claim_turn(ledger)
        await answered(ledger, "by id", "reply", customer=USER, now=DUE)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=DUE)
        assert await ledger.turn_queue.commit(late, TurnAnswer(drafts=replies(late, "x")), DUE) == LeaseLost()
        claim = await claim_turn(ledger, soon(DUE, 3))
        assert words(claim.burst) == ["by phone", "it is me"]
        assert (await commit(ledger, claim, "once", now=soon(DUE, 3))).turn_state.done == claim.turn_state.hi
        assert await claim_turns(ledger, soon(DUE, 600)) == []

    async def test_a_join_is_told_once_however_much_was_said(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await write(ledger, *"abcdefgh", customer=USER)
        before = await ledger.feeds.head(f"team:{ORG}")
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"))
        items = await ledger.feeds.after(f"team:{ORG}", before, 100)
        assert [item.kind for item in items] == ["joined", "message"]

    async def test_a_join_leaves_nothing_that_the_detector_finds_odd(self, ledger: Ledger) -> None:
        await answered(ledger, "p1", "to p1")
        await answered(ledger, "u1", "to u1", customer=USER)
        await write(ledger, "p2", now=LOST)
        await arrive(ledger, known_as(CUSTOMER, USER, text="p3"), now=LOST)
        await commit(ledger, await claim_turn(ledger, soon(LOST, 3)), "to both", now=soon(LOST, 3))
        assert await looked(ledger) == []

    async def test_a_turn_under_way_in_what_is_gone_is_lost_and_asked_here(self, ledger: Ledger) -> None:
        await answered(ledger, "by phone", "reply")
        await write(ledger, "by id", customer=USER)
        late = await claim_turn(ledger)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=DUE)
        assert await ledger.turn_queue.commit(late, TurnAnswer(drafts=replies(late, "x")), DUE) == LeaseLost()
        claim = await claim_turn(ledger, soon(DUE, 3))
        assert words(claim.burst) == ["by id", "it is me"]

    async def test_a_turn_under_way_in_what_stays_goes_on(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        claim = await claim_turn(ledger)
        await write(ledger, "by id", customer=USER, now=DUE)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=DUE)
        assert (await commit(ledger, claim, "reply")).turn_state.done == 1
        assert words((await claim_turn(ledger, soon(DUE, 3))).burst) == ["by id", "it is me"]

    async def test_a_person_who_had_either_floor_has_it(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await write(ledger, "by id", customer=USER)
        gone = await conversation_with(ledger, USER)
        assert isinstance(await ledger.turn_queue.take_floor(ORG, gone.id, "ann", T0, "ann"), FloorTaken)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"))
        turn_state = await turn_state_of(ledger, (await conversation_with(ledger)).id)
        assert (turn_state.floor, turn_state.tail, turn_state.due_at) == ("ann", 3, None)

    async def test_replies_that_wait_and_dead_letters_go_along(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await commit(ledger, await claim_turn(ledger), "reply")
        await write(ledger, "by id", customer=USER)
        gone = await claim_turn(ledger)
        await ledger.turn_queue.fail(gone, "no", TIMES, DUE, hopeless=True)
        await arrive(ledger, known_as(CUSTOMER, USER), now=DUE)
        conversation = await conversation_with(ledger)
        (dead,) = await ledger.turn_queue.failed(ORG, 10)
        assert (dead.conversation_id, dead.lo, dead.hi) == (conversation.id, 2, 3)

    async def test_the_bots_words_are_cancelled_under_the_conversation_that_stays(self, ledger: Ledger) -> None:
        await write(ledger, "by phone", asks=False)
        waiting = await answered(ledger, "by id", "reply", customer=USER)
        await arrive(ledger, known_as(CUSTOMER, USER), now=DUE)
        conversation = await conversation_with(ledger)
        floor = await ledger.turn_queue.take_floor(ORG, conversation.id, "ann", DUE, "ann")
        assert isinstance(floor, FloorTaken)
        assert list(floor.cancelled) == waiting
        assert await drain(ledger, DUE) == []

    async def test_a_changed_number_joins_the_old_and_the_new(self, ledger: Ledger) -> None:
        await write(ledger, "from the old one")
        await write(ledger, "from the new one", customer=OTHER_CUSTOMER)
        change = an_inbound(
            OTHER_CUSTOMER,
            addresses=(f"phone:{OTHER_CUSTOMER}", f"phone:{CUSTOMER}"),
            type="system",
            asks=False,
            opens_window=False,
        )
        await arrive(ledger, change)
        conversation = await conversation_with(ledger, CUSTOMER)
        assert conversation == await conversation_with(ledger, OTHER_CUSTOMER)
        assert (conversation.address, conversation.position) == (OTHER_CUSTOMER, 3)

    async def test_a_conversation_with_another_number_is_kept_as_it_is(self, ledger: Ledger) -> None:
        await write(ledger, "here")
        await write(ledger, "there", customer=USER, number=OTHER_NUMBER)
        there = await conversation_with(ledger, USER)
        await arrive(ledger, known_as(CUSTOMER, USER))
        conversations = await ledger.conversations.at(ORG, f"user:{USER}")
        assert [(conversation.number, conversation.position) for conversation in conversations] == [
            (NUMBER, 2),
            (OTHER_NUMBER, 1),
        ]
        assert conversations[1].id == there.id

    async def test_a_dossier_without_a_phone_gains_it_when_its_owner_is_joined_to_who_has_it(
        self, ledger: Ledger
    ) -> None:
        await write(ledger, "by id", customer=USER)
        await write(ledger, "by phone")
        (theirs,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        await ledger.dossiers.change(ORG, theirs.id, DossierChange(phone=None), "test", T0)
        await arrive(ledger, known_as(CUSTOMER, USER))
        (dossier,) = await ledger.dossiers.find(ORG, CUSTOMER, None, 10)
        assert (dossier.id, dossier.person.external_ref) == ((await contact_of(ledger)).dossier_id, f"user:{USER}")

    async def test_three_become_one(self, ledger: Ledger) -> None:
        for customer in (CUSTOMER, USER, OTHER_USER):
            await write(ledger, customer, customer=customer)
        await arrive(
            ledger,
            an_inbound(USER, addresses=(f"user:{USER}", f"user:{OTHER_USER}"), text="two"),
            known_as(CUSTOMER, USER, text="three"),
        )
        conversation = await conversation_with(ledger, OTHER_USER)
        assert words(await entries(ledger, conversation.id)) == [CUSTOMER, USER, OTHER_USER, "two", "three"]

    async def test_what_was_stored_before_the_join_is_still_known(self, ledger: Ledger) -> None:
        (items,) = await write(ledger, "by id", customer=USER)
        await write(ledger, "by phone")
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert (await arrive(ledger, items)).arrived == 0

    async def test_two_processes_that_join_the_same_people_lose_nothing(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.55{n}"
            await write(ledgers[0], "a", customer=phone)
            await write(ledgers[0], "b", customer=user)
            await asyncio.gather(
                arrive(ledgers[0], known_as(phone, user, text="c")),
                arrive(ledgers[1], known_as(phone, user, text="d"), an_inbound(user, text="e")),
                arrive(ledgers[1], an_inbound(user, text="f", number=OTHER_NUMBER)),
            )
            here, there = await ledgers[0].conversations.at(ORG, f"user:{user}")
            assert sorted(words(await entries(ledgers[0], here.id))) == ["a", "b", "c", "d", "e"]
            assert words(await entries(ledgers[0], there.id)) == ["f"]


class ConversationsContract(
    InboundMessagesContract,
    ContactsContract,
    ConversationReadContract,
    ConversationRetentionContract,
    MergeContactsContract,
    RevocationContract,
    LateConsentContract,
):
    pass
