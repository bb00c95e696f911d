"""The contract of team work: assignment, state, labels, and lists by latest activity."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.chat import ChatKind, WorkChange
from waypost.model.conversation import ANYBODY, ConversationId, MediaReference
from waypost.model.time import Instant
from waypost.ports.conversations.chats import ActivityCursor, ChatNotFound
from waypost.ports.ledger import Ledger
from waypost.rules.limits import window
from waypost_testing.contracts.chat_steps import ANN, BOB, CLEO, feed, kinds, open_chat, say
from waypost_testing.contracts.conversation_steps import arrive, claim_turn, conversation_with, soon, write
from waypost_testing.contracts.examples import CUSTOMER, ORG, OTHER_CUSTOMER, OTHER_ORG, T0, an_inbound

END = ActivityCursor(Instant(2**62), ConversationId(2**62))


class TeamWorkContract:
    async def test_what_the_team_changes_is_stored_and_told(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        change = WorkChange(assignee=ANN, state="closed", labels=("vip", "refund"))
        after = await ledger.chats.work(ORG, conversation.id, change, ANN, T0)
        assert after == replace(await conversation_with(ledger), assignee=ANN, state="closed", labels=("vip", "refund"))
        assert await conversation_with(ledger) == after
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned"]
        await ledger.chats.work(ORG, conversation.id, change, ANN, T0)
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned"], "nothing changed, nothing is told"
        assert await ledger.chats.work(OTHER_ORG, conversation.id, change, ANN, T0) == ChatNotFound()

    async def test_a_customer_who_writes_opens_it_again(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await ledger.chats.work(ORG, conversation.id, WorkChange(state="closed"), ANN, T0)
        await write(ledger, "one more thing")
        assert (await conversation_with(ledger)).state == "open"
        assert await kinds(ledger, f"team:{ORG}") == ["message", "assigned", "message", "assigned"]

    async def test_who_closes_it_gives_the_floor_back_and_nothing_old_is_answered(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await ledger.turn_queue.take_floor(ORG, conversation.id, ANN, T0, ANN)
        await write(ledger, "thank you", now=soon(T0, 1))
        await ledger.chats.work(ORG, conversation.id, WorkChange(state="closed"), ANN, soon(T0, 2))
        assert (await kinds(ledger, f"team:{ORG}"))[-2:] == ["assigned", "floor"]
        assert await ledger.chats.of_floor(ORG, ANN, END, 9) == []
        assert await ledger.turn_queue.next_due() is None, "what came before needs no answer"
        await write(ledger, "one more thing", now=soon(T0, 3))
        claim = await claim_turn(ledger, now=soon(T0, 99))
        assert claim.turn_state.hi == claim.turn_state.done + 1, "the bot answers what came since, and only that"

    async def test_lists_go_by_latest_activity_page_by_page(self, ledger: Ledger) -> None:
        customers = [f"+49170000000{n}" for n in range(5)]
        for n, customer in enumerate(customers):
            await write(ledger, "hello", customer=customer, now=soon(T0, n))
        await write(ledger, "again", customer=customers[0], now=soon(T0, 9))
        page = await ledger.chats.latest(ORG, END, 3)
        assert [conversation.address for conversation in page] == [customers[0], customers[4], customers[3]]
        rest = await ledger.chats.latest(ORG, ActivityCursor(page[-1].last_id_at, page[-1].id), 9)
        assert [conversation.address for conversation in rest] == [customers[2], customers[1]]
        assert await ledger.chats.latest(OTHER_ORG, END, 3) == []

    async def test_a_list_shows_the_window_and_the_bots_turn(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        (shown,) = await ledger.chats.shown_conversations(ORG, ANN, [conversation.id], 9)
        assert (shown.window_until, shown.turn) == (T0 + window.LENGTH, "waiting")
        await claim_turn(ledger)
        (shown,) = await ledger.chats.shown_conversations(ORG, ANN, [conversation.id], 9)
        assert shown.turn == "thinking"
        await ledger.turn_queue.take_floor(ORG, conversation.id, ANN, T0, ANN)
        await write(ledger, "hello?")
        (shown,) = await ledger.chats.shown_conversations(ORG, ANN, [conversation.id], 9)
        assert (shown.floor, shown.turn) == (ANN, None)

    async def test_a_file_is_told_with_its_message(self, ledger: Ledger) -> None:
        note = MediaReference(provider_id="77", mime_type="image/jpeg", sha256=None, filename="<b>.jpg")
        await arrive(ledger, an_inbound(type="image", body='{"type":"image","image":{"id":"77"}}', media=note))
        await write(ledger, "look")
        photo, words = await feed(ledger, f"team:{ORG}")
        assert photo.file is not None
        assert words.file is None
        assert (photo.file.state, photo.file.mime_type, photo.file.filename) == ("pending", "image/jpeg", "<b>.jpg")

    async def test_lists_of_some_name_those_alone(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        await write(ledger, "hello", customer=OTHER_CUSTOMER)
        mine, other = await conversation_with(ledger, CUSTOMER), await conversation_with(ledger, OTHER_CUSTOMER)
        await ledger.chats.work(ORG, mine.id, WorkChange(assignee=ANN), ANN, T0)
        await ledger.chats.work(ORG, other.id, WorkChange(state="closed"), ANN, T0)
        await ledger.turn_queue.take_floor(ORG, other.id, ANYBODY, T0, ANN)
        assert [conversation.id for conversation in await ledger.chats.assigned_to(ORG, ANN, END, 9)] == [mine.id]
        assert [conversation.id for conversation in await ledger.chats.closed(ORG, END, 9)] == [other.id]
        assert [conversation.id for conversation in await ledger.chats.of_floor(ORG, ANYBODY, END, 9)] == [other.id]
        assert await ledger.chats.of_floor(ORG, ANN, END, 9) == []

    async def test_what_somebody_takes_part_in_goes_by_latest_activity(self, ledger: Ledger) -> None:
        first = await open_chat(ledger, ANN, BOB)
        second = await open_chat(ledger, ANN, CLEO, now=soon(T0, 1))
        await say(ledger, first, BOB, now=soon(T0, 2))
        assert [chat.id for chat in await ledger.chats.of_user(ANN, None, END, 9)] == [first.id, second.id]
        assert [chat.id for chat in await ledger.chats.of_user(CLEO, ChatKind.GROUP, END, 9)] == [second.id]
        assert await ledger.chats.of_user(ANN, ChatKind.DIRECT, END, 9) == []
