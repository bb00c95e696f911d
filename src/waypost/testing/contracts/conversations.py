"""The contract of people and what they say: read within one org, and joined without a loss when two are one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from waypost.model.conversation import BOT, ContactId, Position
from waypost.model.ids import MessageId
from waypost.model.media import MediaFile
from waypost.model.time import Instant, days
from waypost.ports.chats import Posted
from waypost.ports.dossiers import DossierChange
from waypost.ports.lanes import Answered, FloorTaken
from waypost.ports.ledger import Ledger
from waypost.rules.lane import LeaseLost
from waypost.testing.contracts.arrivals import OTHER_USER, USER, ArrivalsContract, PeopleContract, known_as
from waypost.testing.contracts.chatting import a_post
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
    drain,
    later,
)
from waypost.testing.contracts.following import FollowingContract, LateWordsContract
from waypost.testing.contracts.media import NOTE
from waypost.testing.contracts.talking import (
    DUE,
    LOST,
    TIMES,
    arrive,
    claim_turn,
    claim_turns,
    commit,
    contact_of,
    entries,
    lane_of,
    replies,
    soon,
    talk_with,
    words,
    write,
)
from waypost.testing.contracts.turn_detector import looked


async def answered(ledger: Ledger, text: str, reply: str, now: Instant = T0, **fields: Any) -> list[MessageId]:
    """A customer wrote, and the bot answered."""
    await write(ledger, text, now=now, **fields)
    claim = await claim_turn(ledger, Instant(now + TIMES.quiet))
    return list((await commit(ledger, claim, reply, now=Instant(now + TIMES.quiet))).replies)


async def files_of(ledger: Ledger, customer: str) -> Sequence[MediaFile]:
    return await ledger.files.between(ORG, (await talk_with(ledger, customer)).id, Position(1), Position(99))


class ForgetContract:
    async def test_ended_turns_are_forgotten_in_bites_and_dead_letters_stay(self, ledger: Ledger) -> None:
        for n in range(3):
            await answered(ledger, f"{n}", "reply", now=later(days(n)))
        await write(ledger, "poison", now=later(days(3)))
        dead = await claim_turn(ledger, later(days(4)))
        await ledger.lanes.fail(dead, "no", TIMES, later(days(4)), hopeless=True)
        assert [await ledger.lanes.forget(later(days(2)), 1) for _ in range(3)] == [1, 1, 0]
        assert [await ledger.lanes.forget(later(days(9)), 9) for _ in range(2)] == [1, 0]
        assert len(await ledger.lanes.failed(ORG, 9)) == 1
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
        """A feed is forgotten from its beginning: else an item is missing in the middle, as if it were lost."""
        for n, day in enumerate((0, 3, 1, 2, 9)):  # the clocks of those who wrote differ
            await write(ledger, f"{n}", now=later(days(day)))
        await write(ledger, "elsewhere", now=later(days(1)), org_id=OTHER_ORG, number=OTHER_NUMBER)
        await write(ledger, "the last", now=later(days(1)), org_id=OTHER_ORG, number=OTHER_NUMBER)
        assert await ledger.feeds.forget(Instant(later(days(2)) + 1), 9) == 2
        assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == [2, 3, 4, 5]
        assert [item.seq for item in await ledger.feeds.after(f"team:{OTHER_ORG}", 0, 9)] == [2]
        assert await looked(ledger) == []
        for left in ([3, 4, 5], [4, 5], [5], [5]):  # in bites as well
            await ledger.feeds.forget(later(days(4)), 1)
            assert [item.seq for item in await ledger.feeds.after(f"team:{ORG}", 0, 9)] == left
            assert await looked(ledger) == []


class ReadContract:
    async def test_entries_are_read_page_by_page_newest_first(self, ledger: Ledger) -> None:
        await write(ledger, *"abcde")
        talk = await talk_with(ledger)
        page = await ledger.conversations.entries(talk.id, Position(5), 2)
        assert words(page) == ["d", "c"]
        assert words(await ledger.conversations.entries(talk.id, page[-1].position, 9)) == ["b", "a"]

    async def test_what_is_not_there_is_none(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        assert await ledger.conversations.get(ORG, talk.id) == talk
        assert await ledger.conversations.get(OTHER_ORG, talk.id) is None
        assert await ledger.conversations.at(OTHER_ORG, f"phone:{CUSTOMER}") == []
        assert await ledger.conversations.at(ORG, "phone:+1") == []
        assert await ledger.conversations.contact(ORG, ContactId(987_654_321)) is None
        assert await ledger.conversations.contact(OTHER_ORG, talk.contact_id) is None


class JoinContract:
    async def test_what_people_posted_is_found_where_it_went(self, ledger: Ledger) -> None:
        await write(ledger, "by phone", name=None)
        await write(ledger, "by id", customer=USER, name="Ann")
        post = a_post(await talk_with(ledger, USER), "bea", "an answer")
        await ledger.chats.post(post, T0)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        talk = await talk_with(ledger, CUSTOMER)
        (mine,) = [entry for entry in await entries(ledger, talk.id) if entry.sender == "bea"]
        again = await ledger.chats.post(replace(post, conversation_id=talk.id), LOST)
        assert again == Posted(talk.id, mine.position, mine.id_at, duplicate=True)
        assert await looked(ledger) == []

    async def test_who_writes_with_both_addresses_becomes_one_and_no_entry_is_lost(self, ledger: Ledger) -> None:
        by_phone = await answered(ledger, "by phone", "to the phone", name=None)
        by_id = await answered(ledger, "by id", "to the id", customer=USER, name="Ann")
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=LOST)
        talk = await talk_with(ledger, CUSTOMER)
        assert talk == await talk_with(ledger, USER)
        said = await entries(ledger, talk.id)
        assert words(said) == ["by phone", "to the phone", "by id", "to the id", "it is me"]
        assert [e.message_id for e in said if e.sender == BOT] == [*by_phone, *by_id]
        assert (await contact_of(ledger)).addresses == (f"phone:{CUSTOMER}", f"user:{USER}")
        assert (await contact_of(ledger)).name == "Ann"
        kinds = [(item.kind, item.conversation_id) for item in await ledger.feeds.after(f"team:{ORG}", 0, 100)]
        assert kinds[-2:] == [("joined", talk.id), ("message", talk.id)]

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
        talk = await talk_with(ledger)
        assert words(await entries(ledger, talk.id)) == ["p1", "to p1", "u1", "to u1", "u2", "to u2", "p2", "p3"]
        for lo, hi in ((0, 1), (2, 3), (3, 5)):
            turn = await ledger.lanes.ended(ORG, talk.id, Position(hi))
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
        said = await entries(ledger, claim.conversation.id)
        assert words(said) == ["p1", "to p1", "u1", "to u1", "p2", "p3", "u2", "u3", "p4"]

    async def test_files_and_dedup_follow_every_message_that_moves(self, ledger: Ledger) -> None:
        wrote = [*await write(ledger, "p1", media=NOTE), *await write(ledger, "u1", customer=USER, media=NOTE)]
        for claim in await claim_turns(ledger):
            await commit(ledger, claim, "reply")
        wrote += await write(ledger, "p2", "p3", "p4", now=LOST, media=NOTE)
        wrote += await write(ledger, "u2", "u3", customer=USER, now=LOST, media=NOTE)
        files = {f.id: f.position for f in await files_of(ledger, CUSTOMER)}
        theirs = {f.id: f.position for f in await files_of(ledger, USER)}
        await arrive(ledger, known_as(CUSTOMER, USER, text="p5"), now=LOST)
        talk = await talk_with(ledger)
        said = await entries(ledger, talk.id)
        assert words(said) == ["p1", "reply", "u1", "reply", "p2", "p3", "p4", "u2", "u3", "p5"]
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
        assert await ledger.lanes.commit(late, Answered(drafts=replies(late, "x")), DUE) == LeaseLost()
        claim = await claim_turn(ledger, soon(DUE, 3))
        assert words(claim.burst) == ["by phone", "it is me"]
        assert (await commit(ledger, claim, "once", now=soon(DUE, 3))).lane.done == claim.lane.hi
        assert await claim_turns(ledger, soon(DUE, 600)) == []

    async def test_a_join_is_told_once_however_much_was_said(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await write(ledger, *"abcdefgh", customer=USER)
        before = await ledger.feeds.head(f"team:{ORG}")
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"))
        told = await ledger.feeds.after(f"team:{ORG}", before, 100)
        assert [item.kind for item in told] == ["joined", "message"]

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
        assert await ledger.lanes.commit(late, Answered(drafts=replies(late, "x")), DUE) == LeaseLost()
        claim = await claim_turn(ledger, soon(DUE, 3))
        assert words(claim.burst) == ["by id", "it is me"]

    async def test_a_turn_under_way_in_what_stays_goes_on(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        claim = await claim_turn(ledger)
        await write(ledger, "by id", customer=USER, now=DUE)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"), now=DUE)
        assert (await commit(ledger, claim, "reply")).lane.done == 1
        assert words((await claim_turn(ledger, soon(DUE, 3))).burst) == ["by id", "it is me"]

    async def test_a_person_who_had_either_floor_has_it(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await write(ledger, "by id", customer=USER)
        gone = await talk_with(ledger, USER)
        assert isinstance(await ledger.lanes.take_floor(ORG, gone.id, "ann", T0, "ann"), FloorTaken)
        await arrive(ledger, known_as(CUSTOMER, USER, text="it is me"))
        lane = await lane_of(ledger, (await talk_with(ledger)).id)
        assert (lane.floor, lane.tail, lane.due_at) == ("ann", 3, None)

    async def test_replies_that_wait_and_dead_letters_go_along(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await commit(ledger, await claim_turn(ledger), "reply")
        await write(ledger, "by id", customer=USER)
        gone = await claim_turn(ledger)
        await ledger.lanes.fail(gone, "no", TIMES, DUE, hopeless=True)
        await arrive(ledger, known_as(CUSTOMER, USER), now=DUE)
        talk = await talk_with(ledger)
        (dead,) = await ledger.lanes.failed(ORG, 10)
        assert (dead.conversation_id, dead.lo, dead.hi) == (talk.id, 2, 3)

    async def test_the_bots_words_are_cancelled_under_the_conversation_that_stays(self, ledger: Ledger) -> None:
        await write(ledger, "by phone", asks=False)
        waiting = await answered(ledger, "by id", "reply", customer=USER)
        await arrive(ledger, known_as(CUSTOMER, USER), now=DUE)
        talk = await talk_with(ledger)
        floor = await ledger.lanes.take_floor(ORG, talk.id, "ann", DUE, "ann")
        assert isinstance(floor, FloorTaken)
        assert list(floor.cancelled) == waiting
        assert await drain(ledger, DUE) == []

    async def test_a_changed_number_joins_the_old_and_the_new(self, ledger: Ledger) -> None:
        await write(ledger, "from the old one")
        await write(ledger, "from the new one", customer=OTHER_CUSTOMER)
        notice = an_arrival(
            OTHER_CUSTOMER,
            addresses=(f"phone:{OTHER_CUSTOMER}", f"phone:{CUSTOMER}"),
            type="system",
            asks=False,
            opens_window=False,
        )
        await arrive(ledger, notice)
        talk = await talk_with(ledger, CUSTOMER)
        assert talk == await talk_with(ledger, OTHER_CUSTOMER)
        assert (talk.address, talk.position) == (OTHER_CUSTOMER, 3)

    async def test_a_conversation_with_another_number_is_kept_as_it_is(self, ledger: Ledger) -> None:
        await write(ledger, "here")
        await write(ledger, "there", customer=USER, number=OTHER_NUMBER)
        there = await talk_with(ledger, USER)
        await arrive(ledger, known_as(CUSTOMER, USER))
        talks = await ledger.conversations.at(ORG, f"user:{USER}")
        assert [(talk.number, talk.position) for talk in talks] == [(NUMBER, 2), (OTHER_NUMBER, 1)]
        assert talks[1].id == there.id

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
            an_arrival(USER, addresses=(f"user:{USER}", f"user:{OTHER_USER}"), text="two"),
            known_as(CUSTOMER, USER, text="three"),
        )
        talk = await talk_with(ledger, OTHER_USER)
        assert words(await entries(ledger, talk.id)) == [CUSTOMER, USER, OTHER_USER, "two", "three"]

    async def test_what_was_stored_before_the_join_is_still_known(self, ledger: Ledger) -> None:
        (told,) = await write(ledger, "by id", customer=USER)
        await write(ledger, "by phone")
        await arrive(ledger, known_as(CUSTOMER, USER))
        assert (await arrive(ledger, told)).arrived == 0

    async def test_two_processes_that_join_the_same_people_lose_nothing(self, ledgers: Ledgers) -> None:
        for n in range(10):
            phone, user = a_customer(), f"DE.55{n}"
            await write(ledgers[0], "a", customer=phone)
            await write(ledgers[0], "b", customer=user)
            await asyncio.gather(
                arrive(ledgers[0], known_as(phone, user, text="c")),
                arrive(ledgers[1], known_as(phone, user, text="d"), an_arrival(user, text="e")),
                arrive(ledgers[1], an_arrival(user, text="f", number=OTHER_NUMBER)),
            )
            here, there = await ledgers[0].conversations.at(ORG, f"user:{user}")
            assert sorted(words(await entries(ledgers[0], here.id))) == ["a", "b", "c", "d", "e"]
            assert words(await entries(ledgers[0], there.id)) == ["f"]


class ConversationsContract(
    ArrivalsContract,
    PeopleContract,
    ReadContract,
    ForgetContract,
    JoinContract,
    FollowingContract,
    LateWordsContract,
):
    pass
