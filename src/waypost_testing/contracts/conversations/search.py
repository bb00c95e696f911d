"""The contract of search: every message is found a moment later, once, by users who may see it, and by no other."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from waypost.model.chat import NOTE, ChatKind, FeedName, MemberChange
from waypost.model.consumer import Consumer, ConsumerPosition
from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, days
from waypost.ports.conversations.search import NEWEST, FoundId, SearchHit, SearchQuery
from waypost.ports.ledger import Ledger
from waypost.rules.conversations import chat_content
from waypost.rules.conversations.search import asked, snippet
from waypost_testing.contracts.chat_steps import ANN, BOB, CLEO, a_post, erase, open_chat, person, say
from waypost_testing.contracts.conversation_steps import arrive, conversation_with, soon, write
from waypost_testing.contracts.examples import CUSTOMER, ORG, OTHER_CUSTOMER, OTHER_ORG, T0, Ledgers, a_customer, later
from waypost_testing.contracts.receiving.inbound_messages import USER, known_as

AT_ONCE = 7
"""Items at a time: few, so that pages are cut."""


_KEYBOARD = (
    "\"'*-+:|&!()^~<>{}[],;%_$@#/\\ \t\n\x00aAbZ09\u00f6\u00df\u0130\u0661\u4f60\u0301\u00ad\u200d\U0001f600\ufb01"
)
TYPED = (
    *(
        "AND",
        "OR x",
        'a"b',
        "x* NOT",
        "o'neil",
        "|o",
        "near/2",
        "\xbd",
        "\x00a",
        "words:x",
        "^a",
        "(",
        "\xdf",
        "x" * 5000,
    ),
    *("".join(Random(n).choices(_KEYBOARD, k=n % 30 + 1)) for n in range(300)),  # the same every time
)
"""What users may type."""
STRANGE = (
    "\u0130stanbul \u0131\u015eIK",
    "\ufb01ne \uff37\uff29\uff24\uff25",
    "\u1f48\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\U000104f7\U000104d8\U000104fb",
    "e\u0301te\u0301",
    "don\u00adt",
    "x" * 500,
)
"""Dotted and dotless, ligatures, wide, Greek, Hindi, Osage, combining accents, a soft hyphen, a very long word."""


async def behind(ledger: Ledger) -> list[ConsumerPosition]:
    return [one for one in await ledger.feed_consumers.standing(Consumer.SEARCH, "", 10_000) if one.behind]


async def catch_up(ledger: Ledger) -> None:
    """Index everything."""
    left = await behind(ledger)
    while left:
        left = list(await ledger.search.index(left, AT_ONCE))


async def found(
    ledger: Ledger,
    query: str,
    user: UserId | None = ANN,
    org: OrgId = ORG,
    where: ConversationId | None = None,
    before: FoundId = NEWEST,
    limit: int = 100,
) -> list[SearchHit]:
    wanted = asked(query)
    assert wanted is not None
    of = SearchQuery(org_id=org, user_id=user, asked=wanted, conversation_id=where)
    return list(await ledger.search.find(of, before, limit))


async def texts(ledger: Ledger, query: str, user: UserId | None = ANN, **fields: Any) -> list[str]:
    """The matches, newest first, after everything was indexed."""
    await catch_up(ledger)
    return [chat_content.words(one.entry) for one in await found(ledger, query, user, **fields)]


class SearchWordsContract:
    async def test_what_a_customer_wrote_is_found_by_its_words_in_any_spelling(self, ledger: Ledger) -> None:
        await write(ledger, "Crème brûlée, please!", "no thanks")
        for query in ("creme", "BRÛLÉE", "please creme", "cr", "brulee cre", "“crème”", "-please"):
            assert await texts(ledger, query) == ["Crème brûlée, please!"], query
        for query in ("brul creme", "rème", "crème thanks", "pleased"):
            assert await texts(ledger, query) == [], query

    async def test_a_single_letter_is_a_word_and_no_beginning(self, ledger: Ledger) -> None:
        await write(ledger, "all of it", "vitamin A", "\u4f60\u597d")
        assert await texts(ledger, "a") == ["vitamin A"]
        assert await texts(ledger, "al") == ["all of it"]
        assert await texts(ledger, "\u4f60") == ["\u4f60\u597d"]

    async def test_the_newest_come_first_and_pages_go_on_where_the_last_ended(self, ledger: Ledger) -> None:
        for n in range(25):
            await write(ledger, f"order {n}", now=soon(T0, n), customer=a_customer())
        await catch_up(ledger)
        seen: list[str] = []
        before = NEWEST
        while page := await found(ledger, "order", before=before, limit=10):
            seen += [chat_content.words(one.entry) for one in page]
            before = page[-1].id
        assert seen == [f"order {n}" for n in reversed(range(25))]

    async def test_what_was_said_everywhere_at_the_same_moment_is_all_found(self, ledger: Ledger) -> None:
        for n in range(20):
            await write(ledger, f"order {n}", customer=a_customer())
        chats = [await open_chat(ledger, ANN, person(n)) for n in range(5)]
        for chat in chats:
            await say(ledger, chat, text="order among us")
        assert len(await texts(ledger, "order")) == 25

    async def test_only_one_conversation_is_looked_at_if_that_is_asked(self, ledger: Ledger) -> None:
        await write(ledger, "order one")
        await write(ledger, "order two", customer=OTHER_CUSTOMER)
        conversation = await conversation_with(ledger, OTHER_CUSTOMER)
        assert await texts(ledger, "order", where=conversation.id) == ["order two"]

    async def test_whatever_is_typed_is_answered(self, ledger: Ledger) -> None:
        await write(ledger, 'order 5 AND NOT "x" near/2 o\'neil ½ straße')
        await catch_up(ledger)
        for query in TYPED:
            wanted = asked(query)
            for one in await found(ledger, query) if wanted else []:
                assert wanted is None or snippet(chat_content.words(one.entry), wanted) is not None, query

    async def test_what_is_written_is_found_by_each_of_its_words(self, ledger: Ledger) -> None:
        for n, text in enumerate(STRANGE):
            await write(ledger, text, now=soon(T0, n))
        for text in STRANGE:
            for word in text.split():
                assert await texts(ledger, word) == [text], word


class SearchVisibilityContract:
    async def test_everyone_sees_customers_and_notes_and_another_org_sees_nothing(self, ledger: Ledger) -> None:
        await write(ledger, "my order is late")
        conversation = await conversation_with(ledger)
        body = msgspec.json.encode({"type": NOTE, NOTE: {"body": "order was lost"}}).decode()
        note = replace(a_post(conversation, ANN), type=NOTE, body=body, draft=None)
        await ledger.chats.post(note, later(days(1)))
        for user in (ANN, CLEO, None):
            assert await texts(ledger, "order", user) == ["order was lost", "my order is late"]
            assert await texts(ledger, "order", user, org=OTHER_ORG) == []
            assert await texts(ledger, "order", user, org=OTHER_ORG, where=conversation.id) == []

    async def test_chats_are_found_by_who_takes_part_and_as_long_as_they_do(self, ledger: Ledger) -> None:
        direct = await open_chat(ledger, ANN, BOB, kind=ChatKind.DIRECT)
        group = await open_chat(ledger, ANN, BOB, CLEO)
        await say(ledger, direct, ANN, "order alone")
        await say(ledger, group, BOB, "order together", now=soon(T0, 1))
        both = ["order together", "order alone"]
        assert [await texts(ledger, "order", who) for who in (ANN, BOB, CLEO, None)] == [both, both, both[:1], []]
        await ledger.chats.change_members(ORG, group.id, MemberChange(remove=(CLEO,)), ANN, soon(T0, 2))
        assert await texts(ledger, "order", CLEO) == await texts(ledger, "order", CLEO, where=group.id) == []

    async def test_who_joins_later_finds_what_the_group_lets_them_read(self, ledger: Ledger) -> None:
        closed = await open_chat(ledger, ANN, BOB, history="joined")
        await say(ledger, closed, ANN, "order before")
        await ledger.chats.change_members(ORG, closed.id, MemberChange(add=(CLEO,)), ANN, T0)
        await say(ledger, closed, ANN, "order after")
        assert await texts(ledger, "order", CLEO) == ["order after"]
        assert await texts(ledger, "order", BOB) == ["order after", "order before"]

    async def test_a_large_group_with_a_feed_of_its_own_is_found_once(self, ledger: Ledger) -> None:
        group = await open_chat(ledger, ANN, *(person(n) for n in range(31)))
        await say(ledger, group, ANN, "order while small")
        await ledger.chats.change_members(ORG, group.id, MemberChange(add=(BOB,)), ANN, T0)
        await say(ledger, group, BOB, "order when large", now=soon(T0, 1))
        for who in (ANN, BOB, person(30)):
            assert await texts(ledger, "order", who) == ["order when large", "order while small"]

    async def test_what_is_erased_is_found_no_more_before_and_after_it_was_indexed(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        first = await say(ledger, chat, ANN, "order one")
        second = await say(ledger, chat, ANN, "order two")
        await erase(ledger, chat.id, first.position, ANN)
        assert await texts(ledger, "order") == ["order two"]
        await erase(ledger, chat.id, second.position, ANN)
        assert await found(ledger, "order") == []
        assert await texts(ledger, "order") == []

    async def test_two_customers_who_become_one_are_found_where_they_are_now(self, ledger: Ledger) -> None:
        await write(ledger, "order by phone")
        await write(ledger, "order by id", customer=USER, now=soon(T0, 1))
        await catch_up(ledger)
        await write(ledger, "order not indexed yet", customer=USER, now=soon(T0, 2))
        await arrive(ledger, known_as(CUSTOMER, USER, text="order of one"), now=soon(T0, 3))
        stale = {chat_content.words(one.entry) for one in await found(ledger, "order")}
        assert stale <= {"order by phone", "order by id", "order not indexed yet", "order of one"}
        everything = ["order by id", "order by phone", "order not indexed yet", "order of one"]
        assert sorted(await texts(ledger, "order")) == everything
        conversation = await conversation_with(ledger)
        assert sorted(await texts(ledger, "order", where=conversation.id)) == everything
        assert {one.entry.conversation_id for one in await found(ledger, "order")} == {conversation.id}


class IndexingContract:
    async def test_several_workers_index_each_entry_once_and_miss_none(self, ledgers: Ledgers) -> None:
        async def write_on(ledger: Ledger, start: int) -> None:
            for n in range(start, start + 20):
                await write(ledger, f"order {n}", customer=f"+49170000{n:04}")

        async def index_on(ledger: Ledger) -> None:
            for _ in range(15):
                await ledger.search.index(await behind(ledger), AT_ONCE)

        await asyncio.gather(*(write_on(ledger, n * 100) for n, ledger in enumerate(ledgers)), *map(index_on, ledgers))
        found_texts = await texts(ledgers[0], "order")
        assert len(found_texts) == len(set(found_texts)) == 40

    async def test_the_same_items_taken_again_change_nothing(self, ledgers: Ledgers) -> None:
        here, there = ledgers
        await write(here, "order one", "order two")
        stale = await behind(there)
        await catch_up(here)
        assert await texts(here, "order") == ["order two", "order one"]
        await there.search.index(stale, 100)
        assert len(await found(here, "order")) == 2
        assert await behind(here) == []

    async def test_feeds_are_looked_at_in_bites_or_by_name(self, ledger: Ledger) -> None:
        await open_chat(ledger, ANN, BOB, CLEO)
        names = [one.feed for one in await ledger.feed_consumers.standing(Consumer.SEARCH, "", 100)]
        assert names == sorted(names) == [f"user:{who}" for who in (ANN, BOB, CLEO)]
        assert [one.feed for one in await ledger.feed_consumers.standing(Consumer.SEARCH, names[0], 1)] == [names[1]]
        of_two = await ledger.feed_consumers.position_of(Consumer.SEARCH, [FeedName(names[2]), FeedName("user:nobody")])
        assert [(one.feed, one.read, one.behind) for one in of_two] == [(names[2], 0, True)]

    async def test_what_is_old_is_forgotten_in_bites_and_nothing_else(self, ledger: Ledger) -> None:
        for n in range(5):
            await write(ledger, f"order {n}", now=later(days(n)))
        await catch_up(ledger)
        before = Instant(later(days(3)))
        assert [await ledger.search.forget(before, 2) for _ in range(3)] == [2, 1, 0]
        assert await texts(ledger, "order") == ["order 4", "order 3"]


class SearchContract(SearchWordsContract, SearchVisibilityContract, IndexingContract): ...
