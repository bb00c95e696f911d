"""The contract of conversations that people live in: posted once, in order, told to who takes part and nobody else."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, ChatKind, MemberChange, WorkChange
from waypost.model.conversation import ANYBODY, BOT, ConversationId, Position
from waypost.model.ids import UserId
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
    feed,
    heard,
    kinds,
    open_chat,
    person,
    say,
)
from waypost.testing.contracts.examples import (
    CUSTOMER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_draft,
    a_report,
    a_wamid,
    accept,
    claim,
    claim_one,
    later,
    submit,
    take,
)
from waypost.testing.contracts.talking import claim_turns, entries, lane_of, revoke, soon, talk_with, words, write

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

    async def test_what_was_posted_can_be_forgotten_but_for_the_entry(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(3):
            await say(ledger, chat, ANN, f"{n}", now=later(days(n)))
        assert [await ledger.chats.forget_posts(later(days(2)), 1) for _ in range(3)] == [1, 1, 0]
        assert len(await entries(ledger, chat.id)) == 3


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
        assert mine.status is Status.DELIVERED

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


class NoticeContract:
    async def test_what_the_org_sends_is_shown_where_it_talks_with_the_customer(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        sent = await submit(ledger, content="your parcel", recipient=talk.address, created_by="key_1")
        await submit(ledger, template="order", payload='{"language":"en"}', recipient=talk.address)
        _, notice, template = await entries(ledger, talk.id)
        assert (notice.sender, notice.type, notice.message_id) == ("key_1", "text", sent.id)
        assert (template.type, msgspec.json.decode(template.body)["template"]["name"]) == ("template", "order")
        first, *_ = await claim(ledger)
        await accept(ledger, first, a_wamid())
        assert "status" in await kinds(ledger, f"team:{ORG}")
        assert len(await claim_turns(ledger)) == 1, "it answers nothing"

    async def test_the_same_again_is_shown_once(self, ledgers: Ledgers) -> None:
        await write(ledgers[0], "hello")
        draft = a_draft(recipient=(await talk_with(ledgers[0])).address)
        await asyncio.gather(*(ledger.outbox.submit(draft, T0) for ledger in ledgers for _ in range(4)))
        assert len(await entries(ledgers[0], (await talk_with(ledgers[0])).id)) == 2

    async def test_what_waits_for_its_time_or_goes_to_who_never_wrote_is_shown_nowhere(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        await submit(ledger, recipient=talk.address, scheduled_at=later(days(1)))
        await submit(ledger, recipient=OTHER_CUSTOMER)
        assert words(await entries(ledger, talk.id)) == ["hello"]
        assert await kinds(ledger, f"team:{ORG}") == ["message"]


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
            assert await ledger.chats.erase(ORG, chat.id, posted.position, ANN, T0) is None
        (entry,) = await entries(ledger, chat.id)
        assert (entry.body, entry.type, entry.deleted_at) == ("{}", "deleted", T0)
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "message", "deleted"]

    async def test_only_ones_own_unless_anybodys_may_be(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN)
        erase = ledger.chats.erase
        assert await erase(ORG, chat.id, posted.position, BOB, T0) == NotYours()
        assert await erase(ORG, chat.id, posted.position, CLEO, T0) == NoChat()
        assert await erase(OTHER_ORG, chat.id, posted.position, None, T0) == NoChat()
        assert await erase(ORG, chat.id, Position(9), ANN, T0) == NoMessage()
        assert await erase(ORG, chat.id, posted.position, None, T0) is None

    async def test_a_customers_message_is_hidden_from_the_team(self, ledger: Ledger) -> None:
        await write(ledger, "my card number is")
        talk = await talk_with(ledger)
        assert await ledger.chats.erase(ORG, talk.id, Position(1), None, T0) is None
        assert await kinds(ledger, f"team:{ORG}") == ["message", "deleted"]


class ReadMarkerContract:
    async def test_it_moves_forwards_and_everybody_in_the_chat_sees_it(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(3):
            await say(ledger, chat, ANN, f"{n}")
        read = ledger.chats.read_up_to
        assert await unread(ledger, BOB, chat) == (3, 0)
        assert await read(ORG, BOB, chat.id, Position(2), T0) == ReadUp(Position(2), moved=True)
        assert await read(ORG, BOB, chat.id, Position(1), T0) == ReadUp(Position(2), moved=False)
        assert await read(ORG, BOB, chat.id, Position(99), T0) == ReadUp(Position(3), moved=True)
        assert (await kinds(ledger, f"user:{ANN}")).count("read") == 2
        assert await ledger.chats.reads(chat.id) == {BOB: 3}
        assert await unread(ledger, BOB, chat) == (0, 3)
        assert await unread(ledger, ANN, chat) == (0, 0), "their own are not unread"

    async def test_of_a_customer_it_is_ones_own_business(self, ledger: Ledger) -> None:
        await write(ledger, "hello", "anybody?")
        talk = await talk_with(ledger)
        assert await ledger.chats.read_up_to(ORG, ANN, talk.id, Position(1), T0) == ReadUp(Position(1), moved=True)
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
        assert await ledger.chats.read_up_to(ORG, CLEO, chat.id, Position(1), T0) == NoChat()
        assert await ledger.chats.read_up_to(OTHER_ORG, ANN, chat.id, Position(1), T0) == NoChat()
        assert await ledger.chats.reads(chat.id) == {}
        assert await ledger.chats.shown_chats(CLEO, [chat.id], 99) == []


class TeamWorkContract:
    async def test_what_the_team_changes_is_stored_and_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        change = WorkChange(assignee=ANN, state="closed", labels=("vip", "refund"))
        after = await ledger.chats.work(ORG, talk.id, change, ANN, T0)
        assert after == replace(await talk_with(ledger), assignee=ANN, state="closed", labels=("vip", "refund"))
        assert await talk_with(ledger) == after
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned"]
        await ledger.chats.work(ORG, talk.id, change, ANN, T0)
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned"], "nothing changed, nothing is told"
        assert await ledger.chats.work(OTHER_ORG, talk.id, change, ANN, T0) == NoChat()

    async def test_a_customer_who_writes_opens_it_again(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        talk = await talk_with(ledger)
        await ledger.chats.work(ORG, talk.id, WorkChange(state="closed"), ANN, T0)
        await write(ledger, "one more thing")
        assert (await talk_with(ledger)).state == "open"
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned", "message", "assigned"]

    async def test_lists_go_by_latest_activity_page_by_page(self, ledger: Ledger) -> None:
        customers = [f"+49170000000{n}" for n in range(5)]
        for n, customer in enumerate(customers):
            await write(ledger, "hello", customer=customer, now=soon(T0, n))
        await write(ledger, "again", customer=customers[0], now=soon(T0, 9))
        page = await ledger.chats.latest(ORG, END, 3)
        assert [talk.address for talk in page] == [customers[0], customers[4], customers[3]]
        rest = await ledger.chats.latest(ORG, Before(page[-1].last_id_at, page[-1].id), 9)
        assert [talk.address for talk in rest] == [customers[2], customers[1]]
        assert await ledger.chats.latest(OTHER_ORG, END, 3) == []

    async def test_lists_of_some_name_those_alone(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        await write(ledger, "hello", customer=OTHER_CUSTOMER)
        mine, other = await talk_with(ledger, CUSTOMER), await talk_with(ledger, OTHER_CUSTOMER)
        await ledger.chats.work(ORG, mine.id, WorkChange(assignee=ANN), ANN, T0)
        await ledger.chats.work(ORG, other.id, WorkChange(state="closed"), ANN, T0)
        await ledger.lanes.take_floor(ORG, other.id, ANYBODY, T0, ANN)
        assert [talk.id for talk in await ledger.chats.assigned_to(ORG, ANN, END, 9)] == [mine.id]
        assert [talk.id for talk in await ledger.chats.closed(ORG, END, 9)] == [other.id]
        assert [talk.id for talk in await ledger.chats.of_floor(ORG, ANYBODY, END, 9)] == [other.id]
        assert await ledger.chats.of_floor(ORG, ANN, END, 9) == []

    async def test_what_somebody_takes_part_in_goes_by_latest_activity(self, ledger: Ledger) -> None:
        first = await open_chat(ledger, ANN, BOB)
        second = await open_chat(ledger, ANN, CLEO, now=soon(T0, 1))
        await say(ledger, first, BOB, now=soon(T0, 2))
        assert [chat.id for chat in await ledger.chats.of_user(ANN, None, END, 9)] == [first.id, second.id]
        assert [chat.id for chat in await ledger.chats.of_user(CLEO, ChatKind.GROUP, END, 9)] == [second.id]
        assert await ledger.chats.of_user(ANN, ChatKind.DIRECT, END, 9) == []


class ChatsContract(
    PostContract,
    CustomerPostContract,
    NoticeContract,
    MembersContract,
    EraseContract,
    ReadMarkerContract,
    TeamWorkContract,
):
    """All of it."""
