"""The contract of the journal: a POST is stored whole, once, and nothing of it is lost."""

from __future__ import annotations

import asyncio

import pytest

from waypost.model.message import Status
from waypost.model.time import days, hours, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Rejected
from waypost.ports.receiving.journal import UnmatchedStatuses
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_report,
    a_wamid,
    accept,
    an_item,
    claim,
    claim_one,
    later,
    life,
    status,
    submit,
    take,
)
from waypost_testing.contracts.receiving.inbound import InboundContract, ReportedFailureContract
from waypost_testing.contracts.receiving.statuses import EarlyStatusContract, StatusContract, StatusTenancyContract
from waypost_testing.contracts.receiving.updates import JournalRetentionContract

UNWRITABLE = "half of a character: \ud83d"
"""No database can store this text."""


class ApplyWebhookContract:
    async def test_items_are_kept_as_they_came(self, ledger: Ledger) -> None:
        item = an_item(kind="text", key="wamid.in", body='{"from":"49"}', state="failed", error="no such field")
        await ledger.journal.apply_webhook(WebhookBatch([], [item]), later(seconds(4)))
        (kept,) = await ledger.journal.items(ORG, None, 10)
        assert (kept.item, kept.received_at) == (item, later(seconds(4)))

    async def test_an_item_that_came_before_is_kept_once(self, ledgers: Ledgers) -> None:
        item = an_item(key="wamid.in", body="first")
        await ledgers[0].journal.apply_webhook(WebhookBatch([], [item, item]), T0)
        await asyncio.gather(*(ledger.journal.apply_webhook(WebhookBatch([], [item]), T0) for ledger in ledgers * 3))
        assert [kept.item.key for kept in await ledgers[0].journal.items(ORG, None, 10)] == ["wamid.in"]

    async def test_items_differ_by_number_kind_and_key(self, ledger: Ledger) -> None:
        items = [
            an_item(key="a"),
            an_item(key="b"),
            an_item(key="a", kind="reaction"),
            an_item(key="a", number=OTHER_NUMBER),
        ]
        await ledger.journal.apply_webhook(WebhookBatch([], items), T0)
        assert len(await ledger.journal.items(ORG, None, 10)) == 4

    async def test_items_are_read_newest_first_by_state_within_the_org(self, ledger: Ledger) -> None:
        for key, state in (("a", "pending"), ("b", "failed"), ("c", "pending")):
            await ledger.journal.apply_webhook(WebhookBatch([], [an_item(key=key, state=state)]), T0)
        theirs = an_item(key="d", org_id=OTHER_ORG, number=OTHER_NUMBER)
        await ledger.journal.apply_webhook(WebhookBatch([], [theirs]), T0)

        async def keys(state: str | None, limit: int = 10) -> list[str]:
            return [kept.item.key for kept in await ledger.journal.items(ORG, state, limit)]

        assert await keys(None) == ["c", "b", "a"]
        assert await keys("pending") == ["c", "a"]
        assert await keys("failed") == ["b"]
        assert await keys(None, limit=2) == ["c", "b"]
        assert [kept.item for kept in await ledger.journal.items(OTHER_ORG, None, 10)] == [theirs]

    async def test_statuses_and_items_of_one_post_commit_together(self, ledger: Ledger) -> None:
        """The last item cannot be stored, so nothing of its POST is; a concurrent POST is stored."""
        for _ in range(3):
            await submit(ledger)
        first, second, third = await claim(ledger)
        updates = [a_report("delivered", a_wamid(), echo=each) for each in (first, second)]
        bad = WebhookBatch(updates, [an_item(), an_item(body=UNWRITABLE)])
        good = WebhookBatch([a_report("delivered", a_wamid(), echo=third)], [an_item(key="good")])
        answers = await asyncio.gather(
            ledger.journal.apply_webhook(bad, T0), ledger.journal.apply_webhook(good, T0), return_exceptions=True
        )
        assert [type(answer).__name__ for answer in answers] == ["Rejected", "AppliedWebhook"]
        assert [await status(ledger, each.id) for each in (first, second)] == [Status.SENDING] * 2
        assert (await life(ledger, first.id)).statuses == []
        assert await status(ledger, third.id) is Status.DELIVERED
        assert [kept.item.key for kept in await ledger.journal.items(ORG, None, 10)] == ["good"]

    async def test_a_post_that_cannot_be_stored_is_rejected_alone(self, ledger: Ledger) -> None:
        with pytest.raises(Rejected):
            await ledger.journal.apply_webhook(WebhookBatch([], [an_item(body=UNWRITABLE)]), T0)

    async def test_the_same_post_again_changes_nothing(self, ledgers: Ledgers) -> None:
        ledger = ledgers[0]
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        reports = [a_report("sent", wamid, echo=claimed), a_report("delivered", wamid, echo=claimed)]
        post = WebhookBatch([*reports, a_report("sent", a_wamid())], [an_item()])
        await ledger.journal.apply_webhook(post, T0)
        before = await life(ledger, claimed.id), await ledger.journal.items(ORG, None, 10)
        for taken in await asyncio.gather(*(each.journal.apply_webhook(post, later(hours(1))) for each in ledgers)):
            assert taken.moved == []
        assert (await life(ledger, claimed.id), await ledger.journal.items(ORG, None, 10)) == before
        assert await ledger.journal.tidy(later(days(1)), T0) == UnmatchedStatuses(1, 0)

    async def test_an_empty_post_is_taken(self, ledger: Ledger) -> None:
        taken = await ledger.journal.apply_webhook(WebhookBatch([], []), T0)
        assert (taken.moved, taken.unmatched) == ([], 0)


class StatusRetentionContract:
    async def test_statuses_that_wait_too_long_for_a_message_are_counted(self, ledger: Ledger) -> None:
        await take(ledger, a_report("sent", a_wamid()), now=T0)
        await take(ledger, a_report("sent", a_wamid()), now=later(seconds(10)))
        assert await ledger.journal.tidy(later(seconds(0)), later(days(-8))) == UnmatchedStatuses(0, 0)
        assert await ledger.journal.tidy(later(seconds(5)), later(days(-8))) == UnmatchedStatuses(1, 0)
        assert await ledger.journal.tidy(later(seconds(20)), later(days(-8))) == UnmatchedStatuses(2, 0)

    async def test_a_matched_status_is_neither_counted_nor_forgotten(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        await take(ledger, a_report("sent", a_wamid(), echo=claimed))
        assert await ledger.journal.tidy(later(days(30)), later(days(30))) == UnmatchedStatuses(0, 0)
        assert len((await life(ledger, claimed.id)).statuses) == 1

    async def test_the_very_old_ones_are_let_go(self, ledger: Ledger) -> None:
        old, young = a_wamid(), a_wamid()
        await take(ledger, a_report("read", old), now=T0)
        await take(ledger, a_report("read", young), now=later(days(1)))
        assert await ledger.journal.tidy(later(days(8)), later(days(1))) == UnmatchedStatuses(1, 1)
        for wamid, expected in ((old, Status.SENT), (young, Status.DELIVERED)):
            await submit(ledger)
            assert (await accept(ledger, await claim_one(ledger), wamid)).delivery.status is expected

    async def test_what_found_its_message_waits_no_longer(self, ledger: Ledger) -> None:
        wamid = a_wamid()
        await take(ledger, a_report("read", wamid, number=NUMBER))
        await submit(ledger)
        await accept(ledger, await claim_one(ledger), wamid)
        assert await ledger.journal.tidy(later(days(9)), later(days(9))) == UnmatchedStatuses(0, 0)


class JournalContract(
    ApplyWebhookContract,
    StatusContract,
    EarlyStatusContract,
    StatusTenancyContract,
    StatusRetentionContract,
    InboundContract,
    ReportedFailureContract,
    JournalRetentionContract,
):
    pass
