"""The contract of reading messages: complete, newest first, never another org's."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.model.ids import MessageId
from waypost.model.message import AttemptStatus, Message, Status
from waypost.model.time import minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.sending.messages import PageQuery, Query
from waypost_testing.contracts.examples import (
    CUSTOMER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_ORG,
    T0,
    UNKNOWN,
    a_report,
    a_wamid,
    accept,
    claim,
    claim_one,
    give_up,
    later,
    life,
    settle,
    submit,
    take,
    try_again,
)


def ids(messages: Sequence[Message]) -> list[MessageId]:
    return [message.id for message in messages]


def a_page(number: int, *, size: int = 2, dossier: int | None = None, ascending: bool = False) -> PageQuery:
    return PageQuery(dossier_id=dossier, page=number, size=size, ascending=ascending)


class MessagesContract:
    async def test_a_message_is_read_with_where_it_stands(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        assert await ledger.messages.get(ORG, message.id) == message
        sent = (await accept(ledger, await claim_one(ledger))).delivery
        found = await ledger.messages.get(ORG, message.id)
        assert found is not None
        assert (found.delivery, found.draft) == (sent, message.draft)

    async def test_a_message_of_another_org_is_not_there(self, ledger: Ledger) -> None:
        theirs = await submit(ledger, org_id=OTHER_ORG)
        assert await ledger.messages.get(ORG, theirs.id) is None
        assert await ledger.messages.life(ORG, theirs.id) is None
        assert await ledger.messages.find(ORG, Query(), 10) == []
        assert await ledger.messages.find(ORG, Query(recipient=CUSTOMER), 10) == []
        assert await ledger.messages.find(ORG, Query(status=Status.QUEUED), 10) == []
        assert (await ledger.messages.page(ORG, a_page(0))).total == 0

    async def test_a_message_nobody_knows_is_not_there(self, ledger: Ledger) -> None:
        assert await ledger.messages.get(ORG, UNKNOWN) is None
        assert await ledger.messages.life(ORG, UNKNOWN) is None

    async def test_a_life_has_attempts_reports_and_events_in_order(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), try_again(later(minutes(1))), later(seconds(1)))
        await settle(ledger, await claim_one(ledger, now=later(minutes(1))), give_up(), later(minutes(2)))
        await ledger.outbox.retry(ORG, message.id, later(minutes(3)))
        claimed, wamid = await claim_one(ledger, now=later(minutes(4))), a_wamid()
        await accept(ledger, claimed, wamid, later(minutes(5)))
        await take(ledger, a_report("sent", wamid, echo=claimed), now=later(minutes(6)))
        await take(ledger, a_report("delivered", wamid, echo=claimed), now=later(minutes(7)))
        whole = await life(ledger, message.id)
        assert [(a.generation, a.attempt_no, a.status) for a in whole.attempts] == [
            (1, 1, AttemptStatus.FAILED),
            (1, 2, AttemptStatus.FAILED),
            (2, 1, AttemptStatus.SUCCESS),
        ]
        assert [(update.kind, update.received_at) for update in whole.statuses] == [
            ("sent", later(minutes(6))),
            ("delivered", later(minutes(7))),
        ]
        assert [(event.kind, event.at) for event in whole.events] == [("retried", later(minutes(3)))]
        assert whole.message.delivery.status is Status.DELIVERED

    async def test_messages_are_found_newest_first_up_to_the_limit(self, ledger: Ledger) -> None:
        stored = [(await submit(ledger)).id for _ in range(4)]
        assert ids(await ledger.messages.find(ORG, Query(), 3)) == stored[:0:-1]

    async def test_messages_are_found_by_dossier_recipient_status_and_all_of_them(self, ledger: Ledger) -> None:
        one = await submit(ledger, dossier_id=7, recipient=CUSTOMER)
        two = await submit(ledger, dossier_id=7, recipient=OTHER_CUSTOMER)
        three = await submit(ledger, dossier_id=8, recipient=CUSTOMER)
        four = await submit(ledger, recipient=CUSTOMER)
        await ledger.outbox.cancel(ORG, two.id, T0)
        await ledger.outbox.cancel(ORG, four.id, T0)
        gone = Status.CANCELLED
        expected = {
            Query(): [four, three, two, one],
            Query(dossier_id=7): [two, one],
            Query(recipient=CUSTOMER): [four, three, one],
            Query(status=gone): [four, two],
            Query(dossier_id=7, status=gone): [two],
            Query(dossier_id=7, recipient=CUSTOMER): [one],
            Query(recipient=CUSTOMER, status=gone): [four],
            Query(dossier_id=7, recipient=CUSTOMER, status=gone): [],
            Query(dossier_id=7, recipient=OTHER_CUSTOMER, status=gone): [two],
            Query(dossier_id=9): [],
            Query(before=three.id): [two, one],
            Query(dossier_id=7, before=two.id): [one],
            Query(recipient=CUSTOMER, before=four.id): [three, one],
            Query(status=gone, before=four.id): [two],
        }
        for query, messages in expected.items():
            assert ids(await ledger.messages.find(ORG, query, 10)) == ids(messages), query

    async def test_pages_cover_everything_once_with_the_total(self, ledger: Ledger) -> None:
        stored = [(await submit(ledger)).id for _ in range(5)]
        await submit(ledger, org_id=OTHER_ORG)
        pages = [await ledger.messages.page(ORG, a_page(n)) for n in range(4)]
        assert [page.total for page in pages] == [5] * 4
        assert [ids(page.messages) for page in pages] == [stored[4:2:-1], stored[2:0:-1], stored[:1], []]

    async def test_pages_may_start_with_the_oldest(self, ledger: Ledger) -> None:
        stored = [(await submit(ledger)).id for _ in range(3)]
        assert ids((await ledger.messages.page(ORG, a_page(0, ascending=True))).messages) == stored[:2]
        assert ids((await ledger.messages.page(ORG, a_page(1, ascending=True))).messages) == stored[2:]

    async def test_pages_may_be_of_one_dossier(self, ledger: Ledger) -> None:
        stored = [(await submit(ledger, dossier_id=7 + n % 2)).id for n in range(6)]
        for ascending in (True, False):
            page = await ledger.messages.page(ORG, a_page(0, size=9, dossier=7, ascending=ascending))
            assert (ids(page.messages), page.total) == (stored[::2] if ascending else stored[-2::-2], 3)

    async def test_the_lives_of_the_newest_are_those_of_each(self, ledger: Ledger) -> None:
        messages = [await submit(ledger, dossier_id=dossier) for dossier in (7, None, 7, 8)]
        theirs = await submit(ledger, org_id=OTHER_ORG, dossier_id=7)
        for claimed in await claim(ledger):
            await accept(ledger, claimed, wamid := a_wamid(), later(seconds(1)))
            updates = [a_report(kind, wamid, echo=claimed, org_id=claimed.org_id) for kind in ("delivered", "read")]
            await take(ledger, *updates, now=later(seconds(2)))
        await ledger.outbox.cancel(ORG, (await submit(ledger, dossier_id=7)).id, T0)
        whole = await ledger.messages.lives(ORG, None, 100)
        assert [each.message.id for each in whole][1:] == [message.id for message in reversed(messages)]
        for each in whole:
            assert each == await ledger.messages.life(ORG, each.message.id)
        assert whole[1].attempts
        assert len(whole[1].statuses) == 2
        assert whole[0].events
        assert await ledger.messages.lives(ORG, None, 2) == whole[:2]
        assert await ledger.messages.lives(ORG, 7, 100) == [w for w in whole if w.message.draft.dossier_id == 7]
        assert [each.message.id for each in await ledger.messages.lives(OTHER_ORG, 7, 100)] == [theirs.id]
        assert await ledger.messages.lives(ORG, 9, 100) == []

    async def test_a_key_that_was_used_is_known_in_its_org(self, ledger: Ledger) -> None:
        await submit(ledger, key="k")
        assert await ledger.messages.used_key(ORG, "k")
        assert not await ledger.messages.used_key(ORG, "other")
        assert not await ledger.messages.used_key(OTHER_ORG, "k")
