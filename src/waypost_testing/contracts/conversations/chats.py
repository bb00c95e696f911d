"""The contract of chats and conversations: posted once, in order, and delivered to their members only."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, ChatKind, MemberChange
from waypost.model.conversation import BOT, ConversationId, Position
from waypost.model.ids import MessageId, UserId
from waypost.model.message import Status
from waypost.model.time import Instant, days
from waypost.ports.conversations.chats import (
    ActivityCursor,
    ChatMessageNotFound,
    ChatNotFound,
    ConsentRefused,
    GroupFull,
    NotTheAuthor,
    PostConflict,
    Posted,
    ReadMarker,
)
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.chat_steps import (
    ANN,
    BOB,
    CLEO,
    a_chat,
    a_post,
    erase,
    feed,
    kinds,
    message_texts,
    named,
    open_chat,
    person,
    read_up_to,
    say,
)
from waypost_testing.contracts.conversation_steps import (
    claim_turns,
    conversation_with,
    entries,
    revoke,
    turn_state_of,
    words,
    write,
)
from waypost_testing.contracts.conversations.outbox_in_inbox import OutboxInInboxContract
from waypost_testing.contracts.conversations.team_work import TeamWorkContract
from waypost_testing.contracts.examples import (
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

END = ActivityCursor(Instant(2**62), ConversationId(2**62))


async def unread(ledger: Ledger, user: UserId, chat: Chat) -> tuple[int, int]:
    """The unread count, and the position up to which it was read."""
    (shown,) = await ledger.chats.shown_chats(user, [chat.id], 99)
    return shown.unread, shown.read


class PostContract:
    async def test_a_post_is_the_next_entry_and_an_item_in_everybodys_feed(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB, kind=ChatKind.DIRECT)
        posted = await say(ledger, chat, ANN, "hello")
        assert posted == Posted(chat.id, Position(1), posted.id_at, duplicate=False)
        assert await message_texts(ledger, f"user:{ANN}") == await message_texts(ledger, f"user:{BOB}") == ["hello"]
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
        assert await there.chats.post(other, T0) == PostConflict()
        assert await message_texts(here, f"user:{BOB}") == ["hello"]

    async def test_posts_at_once_from_two_processes_are_each_stored_once_in_one_order_for_all(
        self, ledgers: Ledgers
    ) -> None:
        chat = await open_chat(ledgers[0], ANN, BOB, CLEO)
        posts = [a_post(chat, (ANN, BOB)[n % 2], f"{n}") for n in range(40)]
        both = [ledger.chats.post(post, T0) for post in posts for ledger in ledgers]
        answers = await asyncio.gather(*both)
        assert all(isinstance(answer, Posted) for answer in answers)
        assert sorted(words_of := await message_texts(ledgers[0], f"user:{CLEO}")) == sorted(f"{n}" for n in range(40))
        for user in (ANN, BOB):
            assert await message_texts(ledgers[1], f"user:{user}") == words_of
        assert words(await entries(ledgers[0], chat.id)) == words_of

    async def test_nobody_posts_where_they_are_not(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        assert await ledger.chats.post(a_post(chat, CLEO), T0) == ChatNotFound()
        assert await ledger.chats.post(replace(a_post(chat, ANN), org_id=OTHER_ORG), T0) == ChatNotFound()
        nowhere = replace(chat, id=ConversationId(987_654))
        assert await ledger.chats.post(a_post(nowhere, ANN), T0) == ChatNotFound()
        assert await message_texts(ledger, f"user:{BOB}") == []


class CustomerPostContract:
    async def test_it_enters_the_outbox_with_the_entry_and_its_statuses_are_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        posted = await say(ledger, conversation, ANN, "what can I do?")
        claimed = await claim_one(ledger)
        assert claimed.id == posted.message_id
        wamid = a_wamid()
        await accept(ledger, claimed, wamid)
        await take(ledger, a_report(wamid=wamid, kind="delivered", echo=claimed))
        items = [t.item for t in await feed(ledger, f"team:{ORG}") if t.item.kind == "status"]
        assert [msgspec.json.decode(item.body)["status"] for item in items] == ["sent", "delivered"]
        assert {item.position for item in items} == {posted.position}
        (mine,) = [t for t in await feed(ledger, f"team:{ORG}") if t.item.position == posted.position and t.entry]
        assert (mine.status, mine.number, mine.provider_id) == (Status.DELIVERED, conversation.number, wamid)

    async def test_one_that_failed_says_why_and_one_that_waits_again_is_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        posted = await say(ledger, conversation, ANN, "what can I do?")
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, give_up("131026"))
        (shown,) = await ledger.chats.shown_conversations(ORG, ANN, [conversation.id], 9)
        assert (shown.status, shown.error_code) == (Status.FAILED, "131026")
        (mine,) = [t for t in await feed(ledger, f"team:{ORG}") if t.item.position == posted.position and t.entry]
        assert (mine.error_code, mine.error_message) == (shown.error_code, shown.error_message)
        assert posted.message_id is not None
        await ledger.outbox.retry(ORG, posted.message_id, T0)
        items = [t.item for t in await feed(ledger, f"team:{ORG}") if t.item.kind == "status"]
        assert [msgspec.json.decode(item.body)["status"] for item in items] == ["failed", None]

    async def test_whoever_said_no_gets_nothing(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await revoke(ledger)
        assert isinstance(await ledger.chats.post(a_post(conversation, ANN), T0), ConsentRefused)
        assert words(await entries(ledger, conversation.id)) == ["hello"]

    async def test_the_same_post_again_goes_out_once(self, ledgers: Ledgers) -> None:
        await write(ledgers[0], "hello")
        post = a_post(await conversation_with(ledgers[0]), ANN)
        answers = await asyncio.gather(*(ledger.chats.post(post, T0) for ledger in ledgers for _ in range(4)))
        assert len({answer.position for answer in answers if isinstance(answer, Posted)}) == 1
        await claim_one(ledgers[0])
        assert len(await message_texts(ledgers[0], f"team:{ORG}")) == 2

    async def test_who_has_the_floor_answers_what_came_before(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await ledger.turn_queue.take_floor(ORG, conversation.id, ANN, T0, ANN)
        await say(ledger, conversation, ANN)
        turn_state = await turn_state_of(ledger, conversation.id)
        assert turn_state.done == turn_state.tail

    async def test_who_only_joins_in_leaves_the_turn_to_the_bot(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        await say(ledger, await conversation_with(ledger), ANN)
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
        assert not isinstance(members, ChatNotFound | GroupFull)
        assert {member.user_id for member in members} == {ANN, BOB, CLEO}
        await say(ledger, chat, ANN, "two")
        await ledger.chats.change_members(ORG, chat.id, MemberChange(remove=(BOB,)), ANN, T0)
        await say(ledger, chat, ANN, "three")
        assert await kinds(ledger, f"user:{CLEO}") == ["joined", "message", "members", "message"]
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "message", "members", "message", "members"]
        assert await message_texts(ledger, f"user:{BOB}") == ["one", "two"]
        assert await ledger.chats.member(chat.id, BOB) is None
        assert await ledger.chats.post(a_post(chat, BOB), T0) == ChatNotFound()
        again = MemberChange(add=(ANN,))
        assert await ledger.chats.change_members(ORG, chat.id, again, BOB, T0) == ChatNotFound()

    async def test_who_is_sent_away_and_called_back_at_once_is_in_it(self, ledger: Ledger) -> None:
        """Found by simulation: both in one commit, and only the removal was stored."""
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
        assert await message_texts(ledger, f"user:{BOB}") == ["before", "after"]

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
        assert not isinstance(
            await ledger.chats.change_members(ORG, chat.id, late, first[0], T0), ChatNotFound | GroupFull
        )
        await say(ledger, chat, ANN, "large")
        for user in (first[0], first[-1]):
            assert await kinds(ledger, f"user:{user}", chat.id) == ["joined", "message", "joined"]
        assert await kinds(ledger, f"user:{ANN}", chat.id) == ["joined"]
        moved = (await feed(ledger, f"user:{first[-1]}"))[-1].item
        assert msgspec.json.decode(moved.body)["joins"] == {"feed": f"group:{chat.id}", "from": 0}
        assert await kinds(ledger, f"group:{chat.id}") == ["members", "message"]
        assert f"group:{chat.id}" in {following.feed for following in await ledger.device_feeds.feeds(ORG, BOB)}
        await ledger.chats.change_members(ORG, chat.id, MemberChange(add=(CLEO,), remove=(BOB,)), ANN, T0)
        (joins,) = [f for f in await ledger.device_feeds.feeds(ORG, CLEO) if f.feed.startswith("group:")]
        assert joins.since == 3
        assert [f.feed for f in await ledger.device_feeds.feeds(ORG, BOB) if f.feed.startswith("group:")] == []

    async def test_a_group_holds_no_more_than_its_limit(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, *(person(n) for n in range(MOST_MEMBERS)))
        too_many = MemberChange(add=(ANN,))
        assert await ledger.chats.change_members(ORG, chat.id, too_many, person(0), T0) == GroupFull()
        instead = MemberChange(add=(ANN,), remove=(person(1),))
        changed = await ledger.chats.change_members(ORG, chat.id, instead, person(0), T0)
        assert not isinstance(changed, ChatNotFound | GroupFull)
        assert len(changed) == MOST_MEMBERS

    async def test_a_new_title_is_told(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        renamed = await ledger.chats.rename(ORG, chat.id, "Lunch", ANN, T0)
        assert not isinstance(renamed, ChatNotFound)
        assert await ledger.chats.get(ORG, chat.id) == renamed
        assert await kinds(ledger, f"user:{BOB}") == ["joined", "members"]
        assert await ledger.chats.rename(ORG, chat.id, "Mine", CLEO, T0) == ChatNotFound()
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
        assert await erase(ledger, chat.id, posted.position, BOB) == NotTheAuthor()
        assert await erase(ledger, chat.id, posted.position, CLEO) == ChatNotFound()
        assert await erase(ledger, chat.id, posted.position, None, OTHER_ORG) == ChatNotFound()
        assert await erase(ledger, chat.id, 9, ANN) == ChatMessageNotFound()
        another = replace(await named(ledger, chat.id, posted.position), id_at=later(days(1)))
        assert await ledger.chats.erase(ORG, another, ANN, T0) == ChatMessageNotFound(), "it has only the same place"
        assert await erase(ledger, chat.id, posted.position, None) is None

    async def test_what_has_not_left_does_not_go_out_any_more(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        first = await say(ledger, conversation, ANN, "the wrong price")
        second = await say(ledger, conversation, ANN, "the right price")
        assert await erase(ledger, conversation.id, first.position, ANN) is None
        assert (await claim_one(ledger)).id == second.message_id
        cancelled = await ledger.messages.get(ORG, first.message_id or MessageId(0))
        assert cancelled is not None
        assert (cancelled.delivery.status, cancelled.delivery.error_code) == (Status.CANCELLED, "TAKEN_BACK")

    async def test_a_customers_message_is_hidden_from_the_team(self, ledger: Ledger) -> None:
        await write(ledger, "my card number is")
        conversation = await conversation_with(ledger)
        assert await erase(ledger, conversation.id, 1, None) is None
        assert await kinds(ledger, f"team:{ORG}") == ["message", "deleted"]


class ReadMarkerContract:
    async def test_it_moves_forwards_and_everybody_in_the_chat_sees_it(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for n in range(3):
            await say(ledger, chat, ANN, f"{n}")
        assert await unread(ledger, BOB, chat) == (3, 0)
        assert await read_up_to(ledger, BOB, chat.id, 2) == ReadMarker(Position(2), moved=True)
        assert await read_up_to(ledger, BOB, chat.id, 1) == ReadMarker(Position(2), moved=False)
        assert await read_up_to(ledger, BOB, chat.id, 99) == ChatMessageNotFound()
        assert await read_up_to(ledger, BOB, chat.id, 3) == ReadMarker(Position(3), moved=True)
        assert (await kinds(ledger, f"user:{ANN}")).count("read") == 2
        assert await ledger.chats.reads(chat.id) == {BOB: 3}
        assert await unread(ledger, BOB, chat) == (0, 3)
        assert await unread(ledger, ANN, chat) == (0, 0), "their own are not unread"

    async def test_of_a_customer_it_is_ones_own_business(self, ledger: Ledger) -> None:
        await write(ledger, "hello", "anybody?")
        conversation = await conversation_with(ledger)
        assert await read_up_to(ledger, ANN, conversation.id, 1) == ReadMarker(Position(1), moved=True)
        assert await kinds(ledger, f"user:{ANN}") == ["read"]
        assert "read" not in await kinds(ledger, f"team:{ORG}")
        for user, count in ((ANN, 1), (BOB, 2), (None, 2)):
            (shown,) = await ledger.chats.shown_conversations(ORG, user, [conversation.id], 99)
            assert (shown.unread, shown.floor, shown.last and shown.last.position) == (count, BOT, 2)
        (capped,) = await ledger.chats.shown_conversations(ORG, BOB, [conversation.id], 1)
        assert capped.unread == 1, "counted no further than asked"
        assert await ledger.chats.shown_conversations(OTHER_ORG, None, [conversation.id], 9) == []

    async def test_nobody_reads_where_they_are_not(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat)
        assert await read_up_to(ledger, CLEO, chat.id, 1) == ChatNotFound()
        assert await read_up_to(ledger, ANN, chat.id, 1, OTHER_ORG) == ChatNotFound()
        assert await ledger.chats.reads(chat.id) == {}
        assert await ledger.chats.shown_chats(CLEO, [chat.id], 99) == []


class ChatsContract(
    PostContract,
    CustomerPostContract,
    OutboxInInboxContract,
    MembersContract,
    EraseContract,
    ReadMarkerContract,
    TeamWorkContract,
):
    """The whole contract."""
