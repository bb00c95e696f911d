"""The contract of submit: stored whole, once per key, under any race."""

from __future__ import annotations

import asyncio
from collections import Counter

from waypost.model.message import Channel, Status
from waypost.model.time import days, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.sending.outbox import Created, DifferentContent, SameContent
from waypost_testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    T0,
    Ledgers,
    a_draft,
    claim,
    delivery,
    fresh,
    later,
    submit,
)


class SubmitContract:
    async def test_a_new_message_is_queued_and_due_at_once(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        assert message.created_at == T0
        stands = message.delivery
        assert (stands.status, stands.due_at, stands.generation, stands.tries) == (Status.QUEUED, T0, 1, 0)
        assert (stands.fence, stands.owner, stands.parked, stands.provider_id) == (0, None, False, None)
        assert await ledger.lookup.delivery(message.id) == stands

    async def test_what_was_submitted_is_what_is_read(self, ledger: Ledger) -> None:
        draft = a_draft(
            channel=Channel.WHATSAPP,
            template="order_confirmation",
            subject="Ihre Bestellung für Ängström 🎁",
            payload='{"language":"de","components":[]}',
            dossier_id=2**40,
            priority=9,
            scheduled_at=later(days(1)),
            expires_at=later(days(2)),
            ordered=True,
            max_attempts=0,
        )
        answer = await ledger.outbox.submit(draft, T0)
        assert isinstance(answer, Created)
        assert answer.message.draft == draft
        assert await ledger.messages.get(ORG, answer.message.id) == answer.message

    async def test_an_ordered_message_has_a_queue_and_another_has_none(self, ledger: Ledger) -> None:
        assert (await submit(ledger, ordered=True)).queue_id is not None
        assert (await submit(ledger, ordered=False)).queue_id is None

    async def test_the_same_key_and_content_is_the_same_message(self, ledger: Ledger) -> None:
        first = await submit(ledger, key="order-1", content="a")
        again = await ledger.outbox.submit(a_draft(key="order-1", content="a"), later(days(30)))
        assert again == SameContent(first.id)
        assert len(await claim(ledger)) == 1

    async def test_the_same_key_with_other_content_is_told_apart_and_changes_nothing(self, ledger: Ledger) -> None:
        first = await submit(ledger, key="order-1", content="a")
        other = await ledger.outbox.submit(a_draft(key="order-1", content="b"), T0)
        assert other == DifferentContent(first.id)
        assert await ledger.messages.get(ORG, first.id) == first
        assert len(await claim(ledger)) == 1

    async def test_the_same_key_of_another_org_is_another_message(self, ledger: Ledger) -> None:
        ours = await submit(ledger, key="order-1")
        theirs = await submit(ledger, key="order-1", org_id=OTHER_ORG)
        assert ours.id != theirs.id

    async def test_ids_grow_in_the_order_of_submission(self, ledger: Ledger) -> None:
        keys = [f"{n:02}" for n in (7, 3, 9, 1, 5)]
        messages = await asyncio.gather(*(submit(ledger, key=key) for key in keys))
        assert [m.id for m in messages] == sorted(m.id for m in messages)

    async def test_of_a_hundred_submits_of_one_key_exactly_one_creates(self, ledgers: Ledgers) -> None:
        draft = a_draft(key="order-1")
        answers = await asyncio.gather(*(ledgers[n % 2].outbox.submit(draft, T0) for n in range(100)))
        (created,) = [a for a in answers if isinstance(a, Created)]
        assert Counter(type(a) for a in answers) == {Created: 1, SameContent: 99}
        assert {a.message_id for a in answers if isinstance(a, SameContent)} == {created.message.id}
        assert [c.id for c in await claim(ledgers[0])] == [created.message.id]

    async def test_of_a_hundred_submits_of_one_key_with_other_content_one_wins(self, ledgers: Ledgers) -> None:
        drafts = [a_draft(key="order-1", content=f"content {n // 2}") for n in range(100)]
        answers = await asyncio.gather(*(ledgers[n % 2].outbox.submit(d, T0) for n, d in enumerate(drafts)))
        (created,) = [a for a in answers if isinstance(a, Created)]
        assert Counter(type(a) for a in answers) == {Created: 1, SameContent: 1, DifferentContent: 98}
        (same,) = [n for n, a in enumerate(answers) if isinstance(a, SameContent)]
        assert drafts[same].digest == created.message.draft.digest
        assert {a.message_id for a in answers if isinstance(a, SameContent | DifferentContent)} == {created.message.id}
        assert await ledgers[0].messages.get(ORG, created.message.id) == created.message

    async def test_racing_submits_of_overlapping_keys_store_each_once(self, ledgers: Ledgers) -> None:
        keys = [fresh("order") for _ in range(40)]
        both = [*keys, *reversed(keys)]
        answers = await asyncio.gather(
            *(ledgers[n // 40].outbox.submit(a_draft(key=key), T0) for n, key in enumerate(both))
        )
        assert Counter(type(a) for a in answers) == {Created: 40, SameContent: 40}
        assert len(await claim(ledgers[0])) == 40

    async def test_a_scheduled_message_is_due_at_its_time(self, ledger: Ledger) -> None:
        message = await submit(ledger, scheduled_at=later(minutes(30)))
        assert message.delivery.due_at == later(minutes(30))
        assert (await delivery(ledger, message.id)).status is Status.QUEUED

    async def test_a_time_that_has_passed_is_now(self, ledger: Ledger) -> None:
        message = await submit(ledger, scheduled_at=later(seconds(-30)))
        assert message.delivery.due_at == T0
        assert [c.id for c in await claim(ledger)] == [message.id]
