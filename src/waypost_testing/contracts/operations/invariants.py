"""The contract of the invariant checks: no finding in valid data, and each planted violation is named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from waypost.model.ids import MessageId
from waypost.model.time import Instant, hours, minutes
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.ports.operations.invariants import Invariant, InvariantFinding, MessageScan
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    T0,
    PassTime,
    a_report,
    a_tick,
    a_wamid,
    accept,
    an_inbound,
    an_org,
    claim,
    claim_one,
    drain,
    give_up,
    later,
    requeue_stale,
    settle,
    submit,
    take,
    try_again,
    unsure,
    webhooks_up,
)

InsertRows: TypeAlias = Callable[[str], Awaitable[object]]
"""Changes the database directly, past the Ledger."""

LOOK = MessageScan(
    after=0,
    upto=2**40,
    unsettled=minutes(30),
    accepted_since=Instant(T0 - minutes(1)),
    enforce_window=True,
    clock_slack=minutes(1),
    most=20,
)


async def looked(ledger: Ledger, look: MessageScan = LOOK) -> list[InvariantFinding]:
    return list(await ledger.invariants.look(look))


async def written_to(ledger: Ledger, at: Instant = T0, customer: str = CUSTOMER) -> None:
    wrote = an_inbound(customer, at, NUMBER)
    await ledger.journal.apply_webhook(WebhookBatch([], [], [wrote]), T0)


async def a_sent_one(ledger: Ledger) -> MessageId:
    await written_to(ledger)
    await submit(ledger)
    claimed = await claim_one(ledger)
    await accept(ledger, claimed)
    return claimed.id


async def a_queued_one(ledger: Ledger) -> MessageId:
    return (await submit(ledger)).id


class DetectorContract:
    async def test_nothing_is_found_in_an_empty_ledger(self, ledger: Ledger) -> None:
        assert await ledger.invariants.newest() == 0
        assert await looked(ledger) == []

    async def test_nothing_is_found_where_all_is_well(self, ledger: Ledger, pass_time: PassTime) -> None:
        await written_to(ledger)
        for number in range(4):
            await submit(ledger, ordered=number < 3)
        await submit(ledger, scheduled_at=later(hours(1)))
        first, single = await claim(ledger)
        await settle(ledger, single, try_again(later(minutes(1))))
        await settle(ledger, first, give_up())
        second = await claim_one(ledger)
        assert await looked(ledger) == []
        wamid = a_wamid()
        await accept(ledger, second, wamid)
        await take(ledger, a_report("delivered", wamid), a_report("read", wamid))
        await settle(ledger, await claim_one(ledger), unsure())
        await requeue_stale(ledger, pass_time)
        await drain(ledger, later(minutes(2)))
        assert await looked(ledger) == []

    async def test_what_is_outside_the_range_is_not_looked_at(self, ledger: Ledger, plant: InsertRows) -> None:
        planted = await a_queued_one(ledger)
        await plant("DELETE FROM ready")
        assert await ledger.invariants.newest() == planted
        assert await looked(ledger, replace(LOOK, after=planted)) == []

    @pytest.mark.parametrize(
        ("invariant", "hand"),
        [
            (Invariant.QUEUED_NOWHERE, "DELETE FROM ready"),
            (Invariant.PLACED_NOT_QUEUED, "UPDATE delivery SET status = 'CANCELLED'"),
            (Invariant.PLACED_NOT_QUEUED, "DELETE FROM delivery; DELETE FROM message"),
            (
                Invariant.PLACED_TWICE,
                "INSERT INTO later (message_id, outlet, rank, due_at) SELECT message_id, outlet, rank, 1 FROM ready",
            ),
            (Invariant.WITHOUT_DELIVERY, "DELETE FROM delivery; DELETE FROM ready"),
        ],
    )
    async def test_of_one_that_waits(self, invariant: Invariant, hand: str, ledger: Ledger, plant: InsertRows) -> None:
        planted = await a_queued_one(ledger)
        for statement in hand.split("; "):
            await plant(statement)
        assert await looked(ledger) == [InvariantFinding(invariant, f"message {planted}")]

    @pytest.mark.parametrize(
        ("invariant", "hand"),
        [
            (Invariant.MISFIT_STATUS, "UPDATE delivery SET status = 'DELIVERED'"),
            (Invariant.MISFIT_STATUS, "UPDATE delivery SET provider_id = NULL"),
            (Invariant.MISFIT_STATUS, "UPDATE delivery SET status = 'FAILED'"),
            (
                Invariant.ACCEPTED_TWICE,
                """INSERT INTO attempt (message_id, fence, generation, attempt_no, status, created_at)
                SELECT message_id, 2, 1, 2, 'SUCCESS', created_at FROM attempt""",
            ),
            (Invariant.FOREIGN_WAMID, "UPDATE wamid SET message_id = message_id + 1"),
            (Invariant.FOREIGN_WAMID, "DELETE FROM wamid"),
            (
                Invariant.FOREIGN_STATUS,
                """INSERT INTO report (number, wamid, kind, participant, org_id, message_id, fence, recipient, at,
                received_at, body) SELECT '2', 'x', 'sent', '', 'globex', message_id, 1, '', 1, 1, '{}' FROM attempt""",
            ),
            (Invariant.OUTSIDE_WINDOW, "UPDATE pair SET expires_at = last_inbound_at"),
            (Invariant.OUTSIDE_WINDOW, "UPDATE pair SET expires_at = NULL"),
            (
                Invariant.WITHOUT_CONSENT,
                """INSERT INTO consent (org_id, subject, channel, status, at)
                SELECT org_id, 'address:' || recipient, channel, 'REVOKED', created_at - 120000000 FROM message""",
            ),
        ],
    )
    async def test_of_one_that_was_sent(
        self, invariant: Invariant, hand: str, ledger: Ledger, plant: InsertRows
    ) -> None:
        planted = await a_sent_one(ledger)
        assert await looked(ledger) == []
        await plant(hand)
        assert await looked(ledger) == [InvariantFinding(invariant, f"message {planted}")]

    async def test_what_was_sent_before_a_no_came_late_is_none(self, ledger: Ledger, plant: InsertRows) -> None:
        await a_sent_one(ledger)
        await plant(
            """INSERT INTO consent (org_id, subject, channel, status, at, heard_at)
            SELECT org_id, 'address:' || recipient, channel, 'REVOKED', created_at - 120000000, created_at
            FROM message"""
        )
        assert await looked(ledger) == []

    async def test_of_a_dossier_that_had_said_no(self, ledger: Ledger, plant: InsertRows) -> None:
        planted = await a_sent_one(ledger)
        await plant("UPDATE message SET dossier_id = 7")
        await plant(
            """INSERT INTO consent (org_id, subject, channel, status, at)
            SELECT org_id, 'dossier:7', channel, 'PENDING', created_at - 120000000 FROM message"""
        )
        assert await looked(ledger) == [InvariantFinding(Invariant.WITHOUT_CONSENT, f"message {planted}")]

    async def test_of_a_line_whose_head_is_out_of_the_way(self, ledger: Ledger, plant: InsertRows) -> None:
        _, waiting = [(await submit(ledger, ordered=True)).id for _ in range(2)]
        await plant("UPDATE delivery SET status = 'CANCELLED' WHERE message_id IN (SELECT head FROM queue)")
        await plant("DELETE FROM ready")
        assert await looked(ledger) == [InvariantFinding(Invariant.STUCK_LINE, f"message {waiting}")]

    async def test_of_a_try_that_nobody_ever_settled(self, ledger: Ledger, pass_time: PassTime) -> None:
        planted = await a_queued_one(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(20))
        assert await looked(ledger) == []
        await webhooks_up(ledger, pass_time, minutes(20))
        assert await looked(ledger) == [InvariantFinding(Invariant.UNSETTLED, f"message {planted}")]

    async def test_a_try_that_waits_because_a_webhook_was_refused_is_none(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        planted = await a_queued_one(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(20))
        await ledger.webhook_uptime.tick(a_tick(refused=True))
        await webhooks_up(ledger, pass_time, minutes(20))
        assert await looked(ledger) == []
        await webhooks_up(ledger, pass_time, minutes(20))
        assert await looked(ledger) == [InvariantFinding(Invariant.UNSETTLED, f"message {planted}")]

    async def test_where_no_window_is_enforced_none_is_looked_for(self, ledger: Ledger, plant: InsertRows) -> None:
        await a_sent_one(ledger)
        await plant("UPDATE pair SET expires_at = NULL")
        assert await looked(ledger, replace(LOOK, enforce_window=False)) == []

    async def test_every_quota_is_shown(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(), 3)
        (permit,) = await ledger.invariants.quotas(10)
        assert (permit.name, permit.used, permit.most) == (f"quota:{ORG}", 0, 3)
