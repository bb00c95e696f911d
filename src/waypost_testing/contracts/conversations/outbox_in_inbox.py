"""The contract of outbound messages in the inbox: users see them in the conversation, even if the org wrote first."""

from __future__ import annotations

import asyncio

import msgspec

from waypost.model.time import days, seconds
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.chat_steps import kinds
from waypost_testing.contracts.conversation_steps import (
    claim_turn,
    claim_turns,
    conversation_with,
    entries,
    words,
    write,
)
from waypost_testing.contracts.examples import (
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_draft,
    a_report,
    a_wamid,
    accept,
    claim,
    claim_one,
    give_up,
    later,
    settle,
    submit,
    take,
    try_again,
)

LATEST = 20
"""The number of earlier messages shown when a customer first writes."""


class OutboxInInboxContract:
    async def test_what_the_org_sends_is_shown_where_it_talks_with_the_customer(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        sent = await submit(ledger, content="your parcel", recipient=conversation.address, created_by="key_1")
        await submit(ledger, template="order", payload='{"language":"en"}', recipient=conversation.address)
        _, text, template = await entries(ledger, conversation.id)
        assert (text.sender, text.type, text.message_id) == ("key_1", "text", sent.id)
        assert (template.type, msgspec.json.decode(template.body)["template"]["name"]) == ("template", "order")
        first, *_ = await claim(ledger)
        await accept(ledger, first, a_wamid())
        assert "status" in await kinds(ledger, f"team:{ORG}")
        assert len(await claim_turns(ledger)) == 1, "it answers nothing"

    async def test_the_same_again_is_shown_once(self, ledgers: Ledgers) -> None:
        await write(ledgers[0], "hello")
        draft = a_draft(recipient=(await conversation_with(ledgers[0])).address)
        await asyncio.gather(*(ledger.outbox.submit(draft, T0) for ledger in ledgers for _ in range(4)))
        assert len(await entries(ledgers[0], (await conversation_with(ledgers[0])).id)) == 2

    async def test_what_waits_for_its_time_or_goes_to_who_never_wrote_is_shown_nowhere(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await submit(ledger, recipient=conversation.address, scheduled_at=later(days(1)))
        await submit(ledger, recipient=OTHER_CUSTOMER)
        assert words(await entries(ledger, conversation.id)) == ["hello"]
        assert await kinds(ledger, f"team:{ORG}") == ["message"]

    async def test_what_was_sent_before_the_first_answer_comes_before_it(self, ledger: Ledger) -> None:
        sent = await submit(ledger, content="your parcel comes", created_by="key_1")
        await accept(ledger, await claim_one(ledger), a_wamid())
        await submit(ledger, template="order", payload='{"language":"en"}', now=later(seconds(1)))
        await write(ledger, "not today, please", now=later(seconds(2)))
        conversation = await conversation_with(ledger)
        first, template, answer = await entries(ledger, conversation.id)
        assert (first.sender, first.type, first.message_id, first.at) == ("key_1", "text", sent.id, T0)
        assert (template.type, msgspec.json.decode(template.body)["template"]["name"]) == ("template", "order")
        assert words([answer]) == ["not today, please"]
        assert await kinds(ledger, f"team:{ORG}") == ["message"] * 3

    async def test_the_bot_answers_only_the_answer_and_knows_what_it_answers(self, ledger: Ledger) -> None:
        await submit(ledger, content="when may we come?")
        await write(ledger, "tomorrow")
        turn = await claim_turn(ledger)
        assert words(turn.burst) == ["tomorrow"]
        before = await ledger.turn_queue.history(turn.conversation.id, turn.burst[0].position, 9)
        assert words(before) == ["when may we come?"]

    async def test_screens_are_told_what_becomes_of_what_was_sent_before(self, ledger: Ledger) -> None:
        await submit(ledger)
        wamid = a_wamid()
        await accept(ledger, await claim_one(ledger), wamid)
        await write(ledger, "hello")
        await take(ledger, a_report("delivered", wamid))
        assert await kinds(ledger, f"team:{ORG}") == ["message", "message", "status"]

    async def test_what_never_went_is_for_later_or_went_elsewhere_is_not_among_it(self, ledger: Ledger) -> None:
        await submit(ledger, content="failed")
        await settle(ledger, await claim_one(ledger), give_up())
        await submit(ledger, content="later", scheduled_at=later(days(1)))
        await submit(ledger, content="another number", sender=OTHER_NUMBER)
        await submit(ledger, content="another org", org_id=OTHER_ORG)
        await submit(ledger, content="somebody else", recipient=OTHER_CUSTOMER)
        await submit(ledger, content="was due", scheduled_at=T0)
        await write(ledger, "hello")
        assert words(await entries(ledger, (await conversation_with(ledger)).id)) == ["was due", "hello"]

    async def test_what_was_for_later_is_shown_when_the_provider_has_it(self, ledger: Ledger) -> None:
        tomorrow = later(days(1))
        await submit(ledger, content="before they wrote", scheduled_at=tomorrow)
        await write(ledger, "hello")
        conversation = await conversation_with(ledger)
        await submit(ledger, content="after", scheduled_at=tomorrow, created_by="key_1")
        assert words(await entries(ledger, conversation.id)) == ["hello"]
        for message in await claim(ledger, now=tomorrow):
            await accept(ledger, message, now=tomorrow)
        _, first, second = await entries(ledger, conversation.id)
        assert words([first, second]) == ["before they wrote", "after"]
        assert (second.sender, second.at) == ("key_1", tomorrow)
        assert await kinds(ledger, f"team:{ORG}") == ["message"] * 3

    async def test_what_was_tried_again_is_shown_once(self, ledger: Ledger) -> None:
        await write(ledger, "hello")
        await submit(ledger, content="your parcel")
        await settle(ledger, await claim_one(ledger), try_again(later(seconds(9))))
        await accept(ledger, await claim_one(ledger, now=later(seconds(9))), now=later(seconds(9)))
        assert words(await entries(ledger, (await conversation_with(ledger)).id)) == ["hello", "your parcel"]

    async def test_of_very_much_the_latest_come_before_it(self, ledger: Ledger) -> None:
        for number in range(LATEST + 5):
            await submit(ledger, content=f"no. {number}")
        await write(ledger, "hello")
        shown = words(await entries(ledger, (await conversation_with(ledger)).id))
        assert shown == [*(f"no. {number}" for number in range(5, LATEST + 5)), "hello"]

    async def test_it_is_found_under_the_other_form_of_the_number(self, ledger: Ledger) -> None:
        await submit(ledger, content="with the ninth digit", recipient="+5511987654321")
        await submit(ledger, content="without", recipient="+551187654321")
        await write(ledger, "hello", customer="+551187654321", addresses=("phone:+5511987654321",))
        conversation = await conversation_with(ledger, "+5511987654321")
        assert words(await entries(ledger, conversation.id)) == ["with the ninth digit", "without", "hello"]

    async def test_whoever_is_met_by_two_processes_at_once_is_shown_it_once(self, ledgers: Ledgers) -> None:
        await submit(ledgers[0], content="before")
        await asyncio.gather(*(write(ledger, "hello") for ledger in ledgers))
        conversation = await conversation_with(ledgers[0])
        assert words(await entries(ledgers[0], conversation.id)) == ["before", "hello", "hello"]

    async def test_it_moves_on_while_it_is_shown(self, ledgers: Ledgers) -> None:
        """Settling and showing lock the same row, without a deadlock."""
        for _ in range(20):
            await submit(ledgers[0])
        claimed = await claim(ledgers[0])
        settling = [accept(ledgers[1], message) for message in claimed]
        await asyncio.gather(write(ledgers[0], "hello"), *settling)
        conversation = await conversation_with(ledgers[0])
        assert len(await entries(ledgers[0], conversation.id)) == len(claimed) + 1
