"""The contract of archiving: the history store gets everything at least once, and nothing is pruned before that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from waypost.model.chat import FeedName, MemberChange
from waypost.model.consumer import Consumer, ConsumerPosition, FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId, Entry, Position
from waypost.model.history import ConfirmedRange
from waypost.model.message import Status
from waypost.model.time import Instant, hours
from waypost.ports.conversations.search import NEWEST, SearchQuery
from waypost.ports.history.archive import ArchiveItem
from waypost.ports.ledger import Ledger
from waypost.rules.conversations import chat_content
from waypost.rules.conversations.search import asked
from waypost.rules.history import consumer_ranges
from waypost.rules.history.archive import LARGEST_BODY
from waypost_testing.contracts.chat_steps import ANN, BOB, CLEO, erase, open_chat, person, say
from waypost_testing.contracts.conversation_steps import a_turn, arrive, commit, conversation_with, entries, soon, write
from waypost_testing.contracts.examples import CUSTOMER, ORG, T0, Ledgers, accept, claim_one, later
from waypost_testing.contracts.receiving.inbound_messages import USER, known_as

AT_ONCE = 7
"""Items at a time: few, so that ranges are split."""
LATER = later(hours(1))
TEAM = FeedName(f"team:{ORG}")


async def behind(ledger: Ledger, reader: Consumer = Consumer.ARCHIVE) -> list[ConsumerPosition]:
    return [one for one in await ledger.feed_consumers.standing(reader, "", 10_000) if one.behind]


async def index(ledger: Ledger) -> None:
    while left := await behind(ledger, Consumer.SEARCH):
        await ledger.search.index(left, AT_ONCE)


async def waits(ledger: Ledger) -> list[ArchiveItem]:
    """Everything that is still to be archived."""
    return list(await ledger.archive.entries([FeedRange(one.feed, one.read, one.head) for one in await behind(ledger)]))


async def archive_all(ledger: Ledger, now: Instant = T0) -> list[ArchiveItem]:
    """Archive everything, batch by batch."""
    taken: list[ArchiveItem] = []
    while stretches := consumer_ranges.stretches(await behind(ledger), AT_ONCE):
        taken += await ledger.archive.entries(stretches)
        assert list(await ledger.archive.confirm(stretches, now)) == stretches
    return taken


async def empty(ledger: Ledger, before: Instant = LATER) -> int:
    """Empty every range that was confirmed before then, as far as it is indexed."""
    due = [one for one in await ledger.archive.confirmed(Instant(0), before, 100) if one.indexed]
    return await ledger.archive.empty({one: await keys_of(ledger, one.range) for one in due})


async def keys_of(ledger: Ledger, range_: FeedRange) -> list[ArchiveKey]:
    return [one.key for one in await ledger.archive.bodies([range_]) if not one.erased]


def texts_of(items: Sequence[ArchiveItem]) -> list[str]:
    return [text(one.waiting.entry) for one in items if one.waiting is not None]


def text(entry: Entry) -> str:
    return chat_content.words(entry)


class ArchiveItemsContract:
    async def test_what_the_team_and_a_large_group_are_told_is_taken_from_their_feeds(self, ledger: Ledger) -> None:
        await write(ledger, "hi")
        crowd = await open_chat(ledger, ANN, *(person(n) for n in range(40)))
        await say(ledger, crowd, ANN, "all of you")
        items = [one for one in await waits(ledger) if one.kind == "message"]
        assert {one.feed: one.waiting.entry.sender for one in items if one.waiting} == {
            TEAM: "contact",
            crowd.feed: ANN,
        }
        assert all(one.waiting is not None and one.waiting.org_id == ORG for one in items)

    async def test_what_several_people_are_told_is_taken_from_its_senders_feed_only(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB, CLEO)
        await say(ledger, chat, BOB, "hello")
        items = [one for one in await waits(ledger) if one.kind == "message"]
        assert {one.feed for one in items} == {f"user:{who}" for who in (ANN, BOB, CLEO)}
        assert [one.feed for one in items if one.waiting is not None] == [f"user:{BOB}"]

    async def test_whoever_leaves_a_group_has_handed_over_what_they_said(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB, CLEO)
        await say(ledger, chat, BOB, "hello")
        await ledger.chats.change_members(ORG, chat.id, MemberChange(remove=(BOB,)), ANN, T0)
        assert texts_of([one for one in await waits(ledger) if one.kind == "message"]) == ["hello"]

    async def test_what_was_taken_back_says_so_wherever_it_is_told(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN, "hello")
        await erase(ledger, chat.id, posted.position, ANN)
        found = [(one.kind, one.waiting.entry) for one in await waits(ledger) if one.waiting is not None]
        assert [(kind, entry.position, entry.deleted_at) for kind, entry in found] == [
            ("message", posted.position, T0),
            ("deleted", posted.position, T0),
        ]
        assert {entry.body for _, entry in found} == {"{}"}

    async def test_how_far_a_message_came_is_told_as_it_stands(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "hi")
        await commit(ledger, claim, "hello back")
        await archive_all(ledger)
        await accept(ledger, await claim_one(ledger))
        (items,) = await waits(ledger)
        assert items.waiting is not None
        assert (items.kind, items.waiting.status, items.waiting.generation) == ("status", Status.SENT, 1)
        assert items.waiting.entry.message_id is not None

    async def test_what_was_moved_is_told_again_under_the_spot_that_it_had(self, ledger: Ledger) -> None:
        await write(ledger, "by phone")
        await write(ledger, "by id", customer=USER, now=soon(T0, 1))
        before = {text(one.waiting.entry): one.waiting.entry.archive_key for one in await waits(ledger) if one.waiting}
        await arrive(ledger, known_as(CUSTOMER, USER, text="as one"), now=soon(T0, 3))
        conversation = await conversation_with(ledger)
        (joined,) = [one for one in await waits(ledger) if one.kind == "joined"]
        assert (joined.conversation_id, joined.waiting) == (conversation.id, None)
        moved = await ledger.archive.moved(conversation.id, Position(0), 100)
        for one in moved:
            spot = before[text(one.entry)]
            assert (one.entry.archive_key.conversation_id, one.entry.archive_key.id_at) == (
                spot.conversation_id,
                spot.id_at,
            )
        seen = {*texts_of(await waits(ledger)), *(text(one.entry) for one in moved)}
        assert seen == {"by phone", "by id", "as one"}
        paged = [*await ledger.archive.moved(conversation.id, Position(0), 1)]
        while more := await ledger.archive.moved(conversation.id, paged[-1].entry.position, 1):
            paged += more
        assert paged == list(moved)


class ArchiveConfirmContract:
    async def test_each_reader_has_its_own_place(self, ledger: Ledger) -> None:
        await write(ledger, "hi")
        await archive_all(ledger)
        assert await behind(ledger) == []
        assert [one.feed for one in await behind(ledger, Consumer.SEARCH)] == [TEAM]

    async def test_only_the_first_who_confirms_a_stretch_moves_anything(self, ledgers: Ledgers) -> None:
        here, there = ledgers
        await write(here, "one", "two")
        stretches = consumer_ranges.stretches(await behind(here), 100)
        answers = await asyncio.gather(*(one.archive.confirm(stretches, T0) for one in (here, there)))
        assert sorted(map(len, answers)) == [0, 1]
        assert list(await here.archive.confirm(stretches, T0)) == []
        assert await behind(there) == []

    async def test_several_workers_leave_nothing_out(self, ledgers: Ledgers) -> None:
        seen: set[str] = set()

        async def write_on(ledger: Ledger, start: int) -> None:
            for n in range(start, start + 20):
                await write(ledger, f"order {n}", customer=f"+49170000{n:04}")

        async def hand_on(ledger: Ledger) -> None:
            for _ in range(20):
                stretches = consumer_ranges.stretches(await behind(ledger), AT_ONCE)
                taken = texts_of(await ledger.archive.entries(stretches))
                ours = await ledger.archive.confirm(stretches, T0) if stretches else []
                seen.update(taken if ours else [])

        await asyncio.gather(*(write_on(ledger, n * 100) for n, ledger in enumerate(ledgers)), *map(hand_on, ledgers))
        seen.update(texts_of(await archive_all(ledgers[0])))
        assert len(seen) == 40

    async def test_items_that_the_log_has_not_heard_of_are_not_forgotten(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two", "three")
        assert await ledger.feeds.forget(LATER, 100, unless_behind=Consumer.ARCHIVE) == 0
        await ledger.archive.confirm([FeedRange(TEAM, 0, 1)], T0)
        assert await ledger.feeds.forget(LATER, 100, unless_behind=Consumer.ARCHIVE) == 1
        assert texts_of(await waits(ledger)) == ["two", "three"]
        assert await ledger.feeds.forget(LATER, 100) == 1, "without a history store, feeds wait for no archive"


class ArchivePruneContract:
    async def bodies(self, ledger: Ledger, where: ConversationId) -> list[str]:
        return [entry.body and text(entry) for entry in await entries(ledger, where)]

    async def test_a_body_goes_a_while_after_the_log_has_it_and_nothing_else_changes(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat, ANN, "one")
        await say(ledger, chat, BOB, "two")
        before = await entries(ledger, chat.id)
        await index(ledger)
        await archive_all(ledger, T0)
        assert await empty(ledger, Instant(T0 - 1)) == 0
        assert await empty(ledger) == 2
        after = await entries(ledger, chat.id)
        assert after == [msgspec.structs.replace(entry, body="") for entry in before]
        assert all(entry.is_archived for entry in after)
        assert await empty(ledger) == 0

    async def test_nothing_goes_that_was_not_confirmed(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        conversation = await conversation_with(ledger)
        await index(ledger)
        assert await empty(ledger) == 0
        await ledger.archive.confirm([FeedRange(TEAM, 0, 1)], T0)
        assert await empty(ledger) == 1
        assert await self.bodies(ledger, conversation.id) == ["", "two"]

    async def test_another_ones_feed_says_nothing_of_what_was_not_taken_from_it(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        await say(ledger, chat, ANN, "one")
        await index(ledger)
        (of_bob,) = [one for one in await behind(ledger) if one.feed == f"user:{BOB}"]
        await ledger.archive.confirm([FeedRange(of_bob.feed, 0, of_bob.head)], T0)
        assert await empty(ledger) == 0
        await archive_all(ledger)
        assert await empty(ledger) == 1

    async def test_nothing_goes_that_is_not_in_the_index_of_words(self, ledger: Ledger) -> None:
        await write(ledger, "one")
        await archive_all(ledger)
        assert [one.indexed for one in await ledger.archive.confirmed(T0, T0, 9)] == [False]
        assert await empty(ledger) == 0
        await index(ledger)
        assert [one.indexed for one in await ledger.archive.confirmed(T0, T0, 9)] == [True]
        assert await empty(ledger) == 1

    async def test_what_is_too_large_for_the_log_stays(self, ledger: Ledger) -> None:
        """Counted in characters: both databases and the rule count alike."""
        around = '{"type":"unknown","rest":""}'
        for more in (1, 0):
            rest = "é" * (LARGEST_BODY + more - len(around))
            await write(ledger, "", body=around.replace('""', f'"{rest}"'), type="unknown")
        await index(ledger)
        await archive_all(ledger)
        assert await empty(ledger) == 1
        kept, gone = await entries(ledger, (await conversation_with(ledger)).id)
        assert (len(kept.body), gone.is_archived) == (LARGEST_BODY + 1, True)
        assert await empty(ledger) == 0

    async def test_what_was_taken_back_stays_as_it_is(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN, "one")
        await index(ledger)
        await archive_all(ledger)
        await erase(ledger, chat.id, posted.position, ANN)
        assert await empty(ledger) == 0
        (entry,) = await entries(ledger, chat.id)
        assert (entry.is_archived, entry.deleted_at) == (False, T0)

    async def test_what_only_the_log_has_can_be_taken_back(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        posted = await say(ledger, chat, ANN, "one")
        await index(ledger)
        await archive_all(ledger)
        assert await empty(ledger) == 1
        await erase(ledger, chat.id, posted.position, ANN)
        (entry,) = await entries(ledger, chat.id)
        assert (entry.is_archived, entry.deleted_at) == (False, T0)
        (items,) = [one for one in await waits(ledger) if one.waiting is not None]
        assert (items.kind, items.waiting and items.waiting.entry) == ("deleted", entry)

    async def test_a_body_says_whether_the_bot_is_still_to_answer_it(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await archive_all(ledger)
        (range_,) = [one.range for one in await ledger.archive.confirmed(T0, T0, 9)]
        assert [one.unanswered for one in await ledger.archive.bodies([range_])] == [True]
        await commit(ledger, claim)
        assert [one.unanswered for one in await ledger.archive.bodies([range_])] == [False]

    async def test_what_was_moved_since_is_not_taken_for_what_was_there(self, ledger: Ledger) -> None:
        """Another message has its position now, and the history store may lack that one."""
        await write(ledger, "by id", customer=USER)
        await index(ledger)
        await archive_all(ledger)
        await write(ledger, "by phone", now=soon(T0, 1))
        await arrive(ledger, known_as(CUSTOMER, USER, text="as one"), now=soon(T0, 3))
        conversation = await conversation_with(ledger)
        await index(ledger)
        await empty(ledger)
        unseen = set(texts_of(await waits(ledger)))
        kept = await self.bodies(ledger, conversation.id)
        assert unseen <= set(kept)
        assert {"by phone", "as one"} <= set(kept)

    async def test_what_is_only_in_the_log_is_found_where_it_was_moved_to(self, ledger: Ledger) -> None:
        await write(ledger, "order by id", customer=USER)
        await write(ledger, "order by phone", now=soon(T0, 1))
        await index(ledger)
        await archive_all(ledger)
        assert await empty(ledger) == 2
        await arrive(ledger, known_as(CUSTOMER, USER, text="as one"), now=soon(T0, 3))
        conversation = await conversation_with(ledger)
        places = {
            (entry.conversation_id, entry.position)
            for entry in await entries(ledger, conversation.id)
            if entry.is_archived
        }
        for _ in range(2):  # at once, and after it was indexed
            found = await found_by_words(ledger, "order", conversation.id)
            assert {(entry.conversation_id, entry.position) for entry in found} == places
            await index(ledger)
        assert len(places) == 2

    async def test_confirmed_ranges_are_found_by_time_the_oldest_first(self, ledger: Ledger) -> None:
        for n in range(3):
            await write(ledger, f"order {n}")
            await archive_all(ledger, soon(T0, n))
        found = await ledger.archive.confirmed(soon(T0, 1), soon(T0, 2), 9)
        assert [(one.range.since, one.range.upto, one.at) for one in found] == [(n, n + 1, soon(T0, n)) for n in (1, 2)]
        assert [one.at for one in await ledger.archive.confirmed(T0, LATER, 2)] == [T0, soon(T0, 1)]

    async def test_what_is_confirmed_again_counts_from_then_and_what_was_emptied_stays_so(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        await ledger.archive.confirm([FeedRange(TEAM, 0, 1)], T0)
        await ledger.archive.confirm([FeedRange(TEAM, 1, 2)], T0)
        await index(ledger)
        await ledger.archive.empty({ConfirmedRange(FeedRange(TEAM, 0, 1), T0, indexed=True): []})
        await ledger.archive.confirm_again([FeedRange(TEAM, 0, 1), FeedRange(TEAM, 1, 2)], LATER)
        await ledger.archive.confirm_again([], LATER)
        assert list(await ledger.archive.confirmed(Instant(0), Instant(LATER - 1), 9)) == []
        assert [one.range for one in await ledger.archive.confirmed(LATER, LATER, 9)] == [FeedRange(TEAM, 1, 2)]

    async def test_history_should_have_bodies_and_the_erasures_of_a_range(self, ledger: Ledger) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        one, two = await say(ledger, chat, ANN, "one"), await say(ledger, chat, ANN, "two")
        await archive_all(ledger)
        early = [one.range for one in await ledger.archive.confirmed(T0, T0, 9)]
        await erase(ledger, chat.id, one.position, ANN)
        assert [(body.key.position, body.erased) for body in await ledger.archive.bodies(early)] == [
            (two.position, False)
        ], "the erasure is told by a later item"
        await archive_all(ledger, LATER)
        late = [one.range for one in await ledger.archive.confirmed(LATER, LATER, 9)]
        assert [(body.key.position, body.erased) for body in await ledger.archive.bodies(late)] == [
            (one.position, True)
        ]

    async def test_only_the_named_bodies_go(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        conversation = await conversation_with(ledger)
        await archive_all(ledger)
        (confirmed,) = await ledger.archive.confirmed(T0, T0, 9)
        keys = await keys_of(ledger, confirmed.range)
        assert await ledger.archive.empty({confirmed: keys[1:]}) == 1
        assert await self.bodies(ledger, conversation.id) == ["one", ""]
        assert list(await ledger.archive.confirmed(Instant(0), LATER, 9)) == []

    async def test_a_range_that_was_confirmed_again_meanwhile_keeps_its_bodies(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two")
        conversation = await conversation_with(ledger)
        await ledger.archive.confirm([FeedRange(TEAM, 0, 1)], T0)
        await ledger.archive.confirm([FeedRange(TEAM, 1, 2)], T0)
        due = await ledger.archive.confirmed(T0, T0, 9)
        verified = {one: await keys_of(ledger, one.range) for one in due}
        await ledger.archive.confirm_again([FeedRange(TEAM, 0, 1)], LATER)
        assert await ledger.archive.empty(verified) == 1
        assert await self.bodies(ledger, conversation.id) == ["one", ""]
        assert [one.range for one in await ledger.archive.confirmed(T0, LATER, 9)] == [FeedRange(TEAM, 0, 1)]

    async def test_the_detector_walks_through_what_is_only_in_history(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two", "three")
        await write(ledger, "there", customer=USER, now=soon(T0, 1))
        await index(ledger)
        await ledger.archive.confirm([FeedRange(TEAM, 0, 2)], T0)
        assert await empty(ledger) == 2
        place: tuple[ConversationId, Position] | None = (ConversationId(0), Position(0))
        seen, looks = list[Position](), 0
        while place is not None:
            found, place = await ledger.archive.away_after(place, 1)
            seen += [one.entry.position for one in found]
            looks += 1
        assert (seen, looks) == ([1, 2], 5), "each entry once, and the end"
        whole, end = await ledger.archive.away_after((ConversationId(0), Position(0)), 100)
        assert ([(one.org_id, one.entry.position) for one in whole], end) == ([(ORG, 1), (ORG, 2)], None)


async def found_by_words(ledger: Ledger, query: str, where: ConversationId) -> list[Entry]:
    wanted = asked(query)
    assert wanted is not None
    of = SearchQuery(org_id=ORG, user_id=None, asked=wanted, conversation_id=where)
    return [one.entry for one in await ledger.search.find(of, NEWEST, 100)]


class ArchiveFeedContract(ArchiveItemsContract, ArchiveConfirmContract, ArchivePruneContract):
    """The whole contract."""
