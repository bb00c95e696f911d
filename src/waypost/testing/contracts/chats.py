"""The contract of conversations that people live in: posted once, in order, told to who takes part and nobody else."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, ChatKind, MemberChange
from waypost.model.conversation import BOT, ConversationId, Position
from waypost.model.ids import MessageId, UserId
from waypost.model.message import Status
from waypost.model.time import Instant, days
from waypost.ports.chats import (
    Before,
    NoChat,
    NoConsent,
    NoMessage,
    NotYours,
    OtherContent,
    Posted,
    ReadUp,
    TooMany,
)
from waypost.ports.ledger import Ledger
from waypost.testing.contracts.chatting import (
    ANN,
    BOB,
    CLEO,
    a_chat,
    a_post,
    erase,
    feed,
    heard,
    kinds,
    named,
    open_chat,
    person,
    read_up_to,
    say,
)
from waypost.testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    T0,
    Ledgers,
    a_report,
    a_wamid,
    accept,
    claim_one,
    give_up,
    later,
    settle,
    take,
)
from waypost.testing.contracts.shown import ShownContract
from waypost.testing.contracts.talking import claim_turns, entries, lane_of, revoke, talk_with, words, write
from waypost.testing.contracts.team_work import TeamWorkContract

END = Before(Instant(2**62), ConversationId(2**62))


async def unread(ledger: Ledger, user: UserId, chat: Chat) -> tuple[int, int]:
    """How many, and up to where it was read."""
    (shown,) = await ledger.chats.shown_chats(user, [chat.id], 99)
    return shown.unread, shown.read


class PostContract:
    async def test_a_post_is_the_next_entry_and_an_item_in_everybodys_feed(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB, kind=ChatKind.DIRECT)
        posted = await say(ledger, chat, ANN, "hello")
        assert posted == Posted(chat.id, Position(1), posted.id_at, duplicate=False)
        assert await heard(ledger, f"user:{ANN}") == await heard(ledger, f"user:{BOB}") == ["hello"]
        (entry,) = await entries(ledger, chat.id)
        assert (entry.sender, entry.type, entry.id_at) == (ANN, "text", posted.id_at)

    async def test_the_same_post_again_is_the_same_and_other_content_under_its_id_is_refused(
        self, ledgers: Ledgers
    ) -> None:
        here, there = ledgers
        chat = await open_chat(here, ANN, BOB)
        post = a_post(chat, ANN, "hello")
        first = await here.chats.post(post, T0)
        again = await asyncio.gather(*(ledger.chats.post(post, later(days(1))) for ledger in ledgers for _ in range(5)))
        assert isinstance(first, Posted)
        assert set(again) == {replace(first, duplicate=True)}
        other = replace(post, digest=b"other", body='{"text":"other"}')
        assert await there.chats.post(other, T0) == OtherContent()
        assert await heard(here, f"user:{BOB}") == ["hello"]

    async def test_posts_at_once_from_two_processes_are_each_stored_once_in_one_order_for_all(
        self, ledgers: Ledgers
    ) -> None:
        chat = await open_chat(ledgers[0], ANN, BOB, CLEO)
        posts = [a_post(chat, (ANN, BOB)[n % 2], f"{n}") for n in range(40)]
        both = [ledger.chats.post(post, T0) for post in posts for ledger in ledgers]
        answers = await asyncio.gather(*both)
        assert all(isinstance(answer, Posted) for answer in answers)
        assert sorted(words_of := await heard(ledgers[0], f"user:{CLEO}")) == sorted(f"{n}" for n in range(40))
        for user in (ANN, BOB):
            assert await heard(ledgers[1], f"user:{user}") == words_of
        assert words(await entries(ledgers[0], chat.id)) == words_of

    async def test_nobody_posts_where_they_are_not(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        assert await ledger.chats.post(a_post(chat, CLEO), T0) == NoChat()
        assert await ledger.chats.post(replace(a_post(chat, ANN), org_id=OTHER_ORG), T0) == NoChat()
        nowhere = replace(chat, id=ConversationId(987_654))
        assert await ledger.chats.post(a_post(nowhere, ANN), T0) == NoChat()
        assert await heard(ledger, f"user:{BOB}") == []


class CustomerPostContract:
    async def test_it_enters_the_outbox_with_the_entry_and_its_statuses_are_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        posted = await say(ledger, talk, ANN, "what can I do?")
        claimed = await claim_one(ledger)
        assert claimed.id == posted.message_id
        wamid = a_wamid()
        await accept(ledger, claimed, wamid)
        await take(ledger, a_report(wamid=wamid, kind="delivered", echo=claimed))
        told = [t.item for t in await feed(ledger, f"team:{ORG}") if t.item.kind == "status"]
        assert [msgspec.json.decode(item.body)["status"] for item in told] == ["sent", "delivered"]
        assert {item.position for item in told} == {posted.position}
        (mine,) = [t for t in await feed(ledger, f"team:{ORG}") if t.item.position == posted.position and t.entry]
        assert (mine.status, mine.number, mine.provider_id) == (Status.DELIVERED, talk.number, wamid)

    async def test_one_that_failed_says_why_and_one_that_waits_again_is_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        posted = await say(ledger, talk, ANN, "what can I do?")
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, give_up("131026"))
        (shown,) = await ledger.chats.shown_talks(ORG, ANN, [talk.id], 9)
        assert (shown.status, shown.error_code) == (Status.FAILED, "131026")
        (mine,) = [t for t in await feed(ledger, f"team:{ORG}") if t.item.position == posted.position and t.entry]
        assert (mine.error_code, mine.error_message) == (shown.error_code, shown.error_message)
        assert posted.message_id is not None
        await ledger.outbox.retry(ORG, posted.message_id, T0)
        told = [t.item for t in await feed(ledger, f"team:{ORG}") if t.item.kind == "status"]
        assert [msgspec.json.decode(item.body)["status"] for item in told] == ["failed", None]

    async def test_whoever_said_no_gets_nothing(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        await revoke(ledger)
        assert isinstance(await ledger.chats.post(a_post(talk, ANN), T0), NoConsent)
        assert words(await entries(ledger, talk.id)) == ["hello"]

    async def test_the_same_post_again_goes_out_once(self, ledgers: Ledgers) -> None:
        await write(ledgers[0], "hello")
        post = a_post(await talk_with(ledgers[0]), ANN)
        answers = await asyncio.gather(*(ledger.chats.post(post, T0) for ledger in ledgers for _ in range(4)))
        assert len({answer.position for answer in answers if isinstance(answer, Posted)}) == 1
        await claim_one(ledgers[0])
        assert len(await heard(ledgers[0], f"team:{ORG}")) == 2

    async def test_who_has_the_floor_answers_what_came_before(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        await ledger.lanes.take_floor(ORG, talk.id, ANN, T0, ANN)
        await say(ledger, talk, ANN)
        lane = await lane_of(ledger, talk.id)
        assert lane.done == lane.tail

    async def test_who_only_joins_in_leaves_the_turn_to_the_bot(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        await say(ledger, await talk_with(ledger), ANN)
        assert len(await claim_turns(ledger)) == 1


class MembersContract:
    async def test_a_chat_of_the_same_two_is_the_same_one(self, ledgers: Ledgers) -> None:
        both = [ledger.chats.open(a_chat(ANN, BOB, kind=ChatKind.DIRECT), T0) for ledger in ledgers for _ in range(3)]
        opened = await asyncio.gather(*both)
        assert len({chat.id for chat in opened}) == 1
        assert {m.user_id for m in await ledgers[0].chats.members([opened[0].id])} == {ANN, BOB}
        assert await kinds(ledgers[0], f"user:{BOB}") == ["joined"]
        elsewhere = await open_chat(ledgers[0], ANN, BOB, kind=ChatKind.DIRECT, org=OTHER_ORG)
        assert elsewhere.id != opened[0].id

    async def test_who_is_added_is_told_and_who_is_removed_hears_nothing_more(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat, ANN, "one")
        members = await ledger.chats.change_members(ORG, chat.id, MemberChange(add=(CLEO,)), ANN, T0)
        assert not isinstance(members, NoChat | TooMany)
        assert {member.user_id for member in members} == {ANN, BOB, CLEO}
        await say(ledger, chat, ANN, "two")
        await ledger.chats.change_members(ORG, chat.id, MemberChange(remove=(BOB,)), ANN, T0)
        await say(ledger, chat, ANN, "three")
        assert await kinds(ledger, f"user:{CLEO}") == ["joined", "message", "members", "message"]
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "message", "members", "message", "members"]
        assert await heard(ledger, f"user:{BOB}") == ["one", "two"]
        assert await ledger.chats.member(chat.id, BOB) is None
        assert await ledger.chats.post(a_post(chat, BOB), T0) == NoChat()
        again = MemberChange(add=(ANN,))
        assert await ledger.chats.change_members(ORG, chat.id, again, BOB, T0) == NoChat()

    async def test_who_is_sent_away_and_called_back_at_once_is_in_it(self, ledger: Ledger) -> None:
        """Found by simulation: both in one commit, and only the going was stored."""
        chat = await open_chat(ledger, ANN, BOB, history="joined")
        await say(ledger, chat, ANN, "before")
        changes = (MemberChange(remove=(BOB,)), MemberChange(add=(BOB,)), MemberChange(add=(CLEO,)))
        done = (ledger.chats.change_members(ORG, chat.id, each, ANN, T0) for each in changes)
        await asyncio.gather(*done, ledger.chats.change_members(ORG, chat.id, MemberChange(remove=(CLEO,)), ANN, T0))
        member = await ledger.chats.member(chat.id, BOB)
        assert member is not None
        assert member.sees_after == 1
        assert await ledger.chats.member(chat.id, CLEO) is None
        await say(ledger, chat, ANN, "after")
        assert await heard(ledger, f"user:{BOB}") == ["before", "after"]

    async def test_who_joins_later_sees_what_the_group_allows(self, ledger: Ledger) -> None:
        for history, sees in (("all", 0), ("joined", 1)):
            chat = await open_chat(ledger, ANN, history=history)
            await say(ledger, chat, ANN, "before")
            await ledger.chats.change_members(ORG, chat.id, MemberChange(add=(BOB,)), ANN, T0)
            member = await ledger.chats.member(chat.id, BOB)
            assert member is not None
            assert member.sees_after == sees

    async def test_a_group_that_grows_moves_to_its_own_feed_without_a_gap_for_anyone(self, ledger: Ledger) -> None:
        first = [person(n) for n in range(LARGEST_IN_FEEDS)]
        chat = await open_chat(ledger, *first)
        await say(ledger, chat, first[0], "small")
        late = MemberChange(add=(ANN, BOB))
        assert not isinstance(await ledger.chats.change_members(ORG, chat.id, late, first[0], T0), NoChat | TooMany)
        await say(ledger, chat, ANN, "large")
        for user in (first[0], first[-1]):
            assert await kinds(ledger, f"user:{user}", chat.id) == ["joined", "message", "joined"]
        assert await kinds(ledger, f"user:{ANN}", chat.id) == ["joined"]
        moved = (await feed(ledger, f"user:{first[-1]}"))[-1].item
        assert msgspec.json.decode(moved.body)["joins"] == {"feed": f"group:{chat.id}", "from": 0}
        assert await kinds(ledger, f"group:{chat.id}") == ["members", "message"]
        assert f"group:{chat.id}" in {following.feed for following in await ledger.follows.feeds(ORG, BOB)}
        await ledger.chats.change_members(ORG, chat.id, MemberChange(add=(CLEO,), remove=(BOB,)), ANN, T0)
        (joins,) = [f for f in await ledger.follows.feeds(ORG, CLEO) if f.feed.startswith("group:")]
        assert joins.since == 3
        assert [f.feed for f in await ledger.follows.feeds(ORG, BOB) if f.feed.startswith("group:")] == []

    async def test_a_group_holds_no_more_than_its_limit(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, *(person(n) for n in range(MOST_MEMBERS)))
        too_many = MemberChange(add=(ANN,))
        assert await ledger.chats.change_members(ORG, chat.id, too_many, person(0), T0) == TooMany()
        instead = MemberChange(add=(ANN,), remove=(person(1),))
        changed = await ledger.chats.change_members(ORG, chat.id, instead, person(0), T0)
        assert not isinstance(changed, NoChat | TooMany)
        assert len(changed) == MOST_MEMBERS

    async def test_a_new_title_is_told(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        renamed = await ledger.chats.rename(ORG, chat.id, "Lunch", ANN, T0)
        assert not isinstance(renamed, NoChat)
        assert await ledger.chats.get(ORG, chat.id) == renamed
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "members"]
        assert await ledger.chats.rename(ORG, chat.id, "Mine", CLEO, T0) == NoChat()
        assert await ledger.chats.get(OTHER_ORG, chat.id) is None


class EraseContract:
    async def test_a_message_taken_back_leaves_its_place_and_is_told_once(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN, "secret")
        for _ in range(2):
            assert await erase(ledger, chat.id, posted.position, ANN) is None
        (entry,) = await entries(ledger, chat.id)
        assert (entry.body, entry.type, entry.deleted_at) == ("{}", "deleted", T0)
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "message", "deleted"]

    async def test_only_ones_own_unless_anybodys_may_be(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN)
        assert await erase(ledger, chat.id, posted.position, BOB) == NotYours()
        assert await erase(ledger, chat.id, posted.position, CLEO) == NoChat()
        assert await erase(ledger, chat.id, posted.position, None, OTHER_ORG) == NoChat()
        assert await erase(ledger, chat.id, 9, ANN) == NoMessage()
        another = replace(await named(ledger, chat.id, posted.position), id_at=later(days(1)))
        assert await ledger.chats.erase(ORG, another, ANN, T0) == NoMessage(), "it has only the same place"
        assert await erase(ledger, chat.id, posted.position, None) is None

    async def test_what_has_not_left_does_not_go_out_any_more(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        first = await say(ledger, talk, ANN, "the wrong price")
        second = await say(ledger, talk, ANN, "the right price")
        assert await erase(ledger, talk.id, first.position, ANN) is None
        assert (await claim_one(ledger)).id == second.message_id
        cancelled = await ledger.messages.get(ORG, first.message_id or MessageId(0))
        assert cancelled is not None
        assert (cancelled.delivery.status, cancelled.delivery.error_code) == (Status.CANCELLED, "TAKEN_BACK")

    async def test_a_customers_message_is_hidden_from_the_team(self, ledger: Ledger) -> None:
        await write(ledger, "my card number is")
        talk = await talk_with(ledger)
        assert await erase(ledger, talk.id, 1, None) is None
        assert await kinds(ledger, f"team:{ORG}") == ["message", "deleted"]


class ReadMarkerContract:
    async def test_it_moves_forwards_and_everybody_in_the_chat_sees_it(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(3):
            await say(ledger, chat, ANN, f"{n}")
        assert await unread(ledger, BOB, chat) == (3, 0)
        assert await read_up_to(ledger, BOB, chat.id, 2) == ReadUp(Position(2), moved=True)
        assert await read_up_to(ledger, BOB, chat.id, 1) == ReadUp(Position(2), moved=False)
        assert await read_up_to(ledger, BOB, chat.id, 99) == NoMessage()
        assert await read_up_to(ledger, BOB, chat.id, 3) == ReadUp(Position(3), moved=True)
        assert (await kinds(ledger, f"user:{ANN}")).count("read") == 2
        assert await ledger.chats.reads(chat.id) == {BOB: 3}
        assert await unread(ledger, BOB, chat) == (0, 3)
        assert await unread(ledger, ANN, chat) == (0, 0), "their own are not unread"

    async def test_of_a_customer_it_is_ones_own_business(self, ledger: Ledger) -> None:
        await write(ledger, "hello", "anybody?")
        talk = await talk_with(ledger)
        assert await read_up_to(ledger, ANN, talk.id, 1) == ReadUp(Position(1), moved=True)
        assert await kinds(ledger, f"user:{ANN}") == ["read"]
        assert "read" not in await kinds(ledger, f"team:{ORG}")
        for user, count in ((ANN, 1), (BOB, 2), (None, 2)):
            (shown,) = await ledger.chats.shown_talks(ORG, user, [talk.id], 99)
            assert (shown.unread, shown.floor, shown.last and shown.last.position) == (count, BOT, 2)
        (capped,) = await ledger.chats.shown_talks(ORG, BOB, [talk.id], 1)
        assert capped.unread == 1, "counted no further than asked"
        assert await ledger.chats.shown_talks(OTHER_ORG, None, [talk.id], 9) == []

    async def test_nobody_reads_where_they_are_not(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat)
        assert await read_up_to(ledger, CLEO, chat.id, 1) == NoChat()
        assert await read_up_to(ledger, ANN, chat.id, 1, OTHER_ORG) == NoChat()
        assert await ledger.chats.reads(chat.id) == {}
        assert await ledger.chats.shown_chats(CLEO, [chat.id], 99) == []


class ChatsContract(
    PostContract,
    CustomerPostContract,
    ShownContract,
    MembersContract,
    EraseContract,
    ReadMarkerContract,
    TeamWorkContract,
):
    """All of it."""
