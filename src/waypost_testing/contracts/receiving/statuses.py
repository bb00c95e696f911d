"""The contract of statuses: they find their message, in any order, and a status only advances."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pytest

from waypost.model.ids import Fence, NumberId, OrgId
from waypost.model.message import AttemptStatus, ClaimedMessage, Delivery, Status
from waypost.model.time import days, seconds
from waypost.model.webhook import Echo, StatusKind, StatusUpdate
from waypost.ports.ledger import Ledger
from waypost.ports.receiving.journal import AppliedWebhook, DeliveryChange
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    UNKNOWN,
    Ledgers,
    PassTime,
    a_report,
    a_wamid,
    accept,
    attempts,
    claim,
    claim_one,
    delivery,
    event_kinds,
    give_up,
    later,
    life,
    requeue_stale,
    settle,
    status,
    submit,
    take,
    unsure,
)

LADDER = (StatusKind.SENT, StatusKind.DELIVERED, StatusKind.READ)
TIMES = {kind: later(seconds(n)) for n, kind in enumerate([*LADDER, StatusKind.FAILED], start=1)}
ROUNDS = 40


def updates_in(order: Sequence[StatusKind], claimed: ClaimedMessage) -> list[StatusUpdate]:
    wamid = a_wamid()
    return [a_report(kind, wamid, echo=claimed, at=TIMES[kind]) for kind in order]


def stands_at(delivery: Delivery) -> tuple[Status, bool, bool, bool]:
    """The status, and whether it is known when it was sent, delivered and read."""
    sent, delivered, read = (at is not None for at in (delivery.sent_at, delivery.delivered_at, delivery.read_at))
    return delivery.status, sent, delivered, read


def first_end(order: Sequence[StatusKind]) -> Status:
    """The status that ends the message first stays."""
    ends = [kind for kind in order if kind is not StatusKind.SENT]
    return Status.FAILED if ends[0] is StatusKind.FAILED else Status.DELIVERED


class StatusContract:
    async def test_each_status_climbs_one_rung(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await accept(ledger, claimed, wamid, later(seconds(1)))
        await take(ledger, a_report("sent", wamid, echo=claimed, at=later(seconds(2))))
        assert (await delivery(ledger, message.id)).sent_at == later(seconds(1))
        await take(ledger, a_report("delivered", wamid, echo=claimed, at=later(seconds(3))))
        await take(ledger, a_report("read", wamid, echo=claimed, at=later(seconds(4))))
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.provider_id) == (Status.DELIVERED, wamid)
        assert (stands.delivered_at, stands.read_at) == (later(seconds(3)), later(seconds(4)))

    @pytest.mark.parametrize("settled", [True, False], ids=["after the settle", "before the settle"])
    @pytest.mark.parametrize("together", [True, False], ids=["in one POST", "one by one"])
    async def test_every_order_of_statuses_ends_the_same(self, settled: bool, together: bool, ledger: Ledger) -> None:
        ends = set()
        for order in itertools.permutations(LADDER):
            await submit(ledger)
            claimed = await claim_one(ledger)
            reports = [update for update in updates_in(order, claimed) for _ in (1, 2)]
            if settled:
                await accept(ledger, claimed, reports[0].wamid)
            for post in [reports] if together else [[update] for update in reports]:
                await take(ledger, *post)
            ends.add(stands_at(await delivery(ledger, claimed.id)))
        assert ends == {(Status.DELIVERED, True, True, True)}

    async def test_of_statuses_that_end_a_message_the_first_stands(self, ledger: Ledger) -> None:
        for order in itertools.permutations([*LADDER, StatusKind.FAILED]):
            await submit(ledger)
            claimed = await claim_one(ledger)
            reports = updates_in(order, claimed)
            await accept(ledger, claimed, reports[0].wamid)
            for update in [*reports, *reversed(reports)]:
                await take(ledger, update)
            assert await status(ledger, claimed.id) is first_end(order), order

    async def test_statuses_racing_each_other_end_the_same(self, ledgers: Ledgers) -> None:
        for order in itertools.permutations(LADDER):
            await submit(ledgers[0])
            claimed = await claim_one(ledgers[0])
            reports = [*updates_in(order, claimed)] * 2
            await asyncio.gather(*(take(ledgers[n % 2], update) for n, update in enumerate(reports)))
            assert stands_at(await delivery(ledgers[0], claimed.id)) == (Status.DELIVERED, True, True, True)
            assert len((await life(ledgers[0], claimed.id)).statuses) == 3

    async def test_played_counts_as_read(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        await take(ledger, a_report("played", a_wamid(), echo=claimed, at=later(seconds(5))))
        assert (await delivery(ledger, claimed.id)).read_at == later(seconds(5))

    async def test_a_reported_failure_names_its_reason(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await accept(ledger, claimed, wamid)
        update = a_report("failed", wamid, echo=claimed, error_code="131026", error_message="undeliverable")
        await take(ledger, update)
        stands = await delivery(ledger, claimed.id)
        assert (stands.status, stands.error_code, stands.error_message) == (Status.FAILED, "131026", "undeliverable")

    async def test_what_was_reported_is_kept_as_it_came(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, a_report("sent", wamid, echo=claimed, body='{"pricing":"ü"}'), now=later(seconds(7)))
        (stored,) = (await life(ledger, claimed.id)).statuses
        assert (stored.kind, stored.body) == ("sent", '{"pricing":"ü"}')
        assert (stored.at, stored.received_at) == (T0, later(seconds(7)))

    async def test_each_participant_of_a_group_is_heard(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        for participant in ("anna", "ben", "anna"):
            await take(ledger, a_report("delivered", wamid, echo=claimed, participant=participant))
        assert len((await life(ledger, claimed.id)).statuses) == 2

    async def test_the_answer_tells_what_moved(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        sent = (await accept(ledger, claimed, wamid)).delivery
        taken = await take(ledger, *(a_report(kind, wamid, echo=claimed) for kind in ("sent", "delivered", "read")))
        assert taken.moved == [DeliveryChange(sent, await delivery(ledger, claimed.id))]
        assert (taken.early, taken.late, taken.unmatched, taken.promoted) == (0, 3, 0, False)

    async def test_a_status_that_was_heard_before_moves_nothing(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        reports = updates_in(LADDER, claimed)
        await take(ledger, *reports)
        before = await life(ledger, claimed.id)
        again = await take(ledger, *reports, now=later(days(1)))
        assert (again.moved, again.promoted) == ([], False)
        assert await life(ledger, claimed.id) == before

    async def test_a_status_by_wamid_alone_finds_a_settled_message(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await accept(ledger, claimed, wamid)
        taken = await take(ledger, a_report("delivered", wamid))
        assert (taken.late, taken.unmatched) == (1, 0)
        assert await status(ledger, claimed.id) is Status.DELIVERED

    async def test_a_thousand_statuses_in_one_post_are_all_applied(self, ledger: Ledger) -> None:
        await asyncio.gather(*(submit(ledger) for _ in range(250)))
        claimed = await claim(ledger, slots=250)
        doubled = [*LADDER, StatusKind.READ]
        reports = [update for each in claimed for update in updates_in(doubled, each)]
        taken = await take(ledger, *reports)
        assert (len(reports), len(taken.moved)) == (1_000, 250)
        assert {await status(ledger, each.id) for each in claimed} == {Status.DELIVERED}


class EarlyStatusContract:
    """A status may come before our own settle, before its wamid is known, and to another process."""

    async def test_a_status_with_our_echo_settles_the_try(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        taken = await take(ledger, a_report("sent", wamid, echo=claimed), now=later(seconds(1)))
        assert (taken.early, taken.late, taken.unmatched) == (1, 0, 0)
        stands = await delivery(ledger, claimed.id)
        assert (stands.status, stands.provider_id) == (Status.SENT, wamid)
        (attempt,) = await attempts(ledger, claimed.id)
        assert (attempt.status, attempt.finished_at) == (AttemptStatus.SUCCESS, later(seconds(1)))

    async def test_the_settle_that_follows_adds_the_response_and_moves_nothing(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, a_report("delivered", wamid, echo=claimed))
        before = await delivery(ledger, claimed.id)
        settled = await accept(ledger, claimed, wamid)
        assert (settled.held, settled.delivery) == (False, before)
        (attempt,) = await attempts(ledger, claimed.id)
        assert (attempt.status, attempt.response) == (AttemptStatus.SUCCESS, '{"messages":[]}')

    async def test_a_status_settles_an_unsure_try(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, unsure())
        await take(ledger, a_report("sent", a_wamid(), echo=claimed))
        stands = await delivery(ledger, claimed.id)
        assert (stands.status, stands.error_code) == (Status.SENT, None)
        assert [a.status for a in await attempts(ledger, claimed.id)] == [AttemptStatus.SUCCESS]

    async def test_a_failure_reported_before_the_settle_ends_try_and_message(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        update = a_report("failed", a_wamid(), echo=claimed, error_code="131026", error_message="undeliverable")
        await take(ledger, update)
        assert await status(ledger, claimed.id) is Status.FAILED
        (attempt,) = await attempts(ledger, claimed.id)
        assert (attempt.status, attempt.error_code) == (AttemptStatus.FAILED, "131026")

    async def test_a_status_withdraws_a_queued_retry(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await take(ledger, a_report("sent", a_wamid(), echo=claimed))
        assert await status(ledger, message.id) is Status.SENT
        assert await claim(ledger, now=later(days(1))) == []
        assert await event_kinds(ledger, message.id) == ["requeued", "withdrawn"]

    async def test_a_failure_of_an_older_try_says_nothing_of_the_one_under_way(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        await submit(ledger)
        older = await claim_one(ledger)
        await requeue_stale(ledger, pass_time)
        await claim_one(ledger)
        await take(ledger, a_report("failed", a_wamid(), echo=older))
        assert await status(ledger, older.id) is Status.SENDING

    async def test_a_status_of_an_older_generation_changes_nothing(self, ledger: Ledger) -> None:
        await submit(ledger)
        old = await claim_one(ledger)
        await settle(ledger, old, give_up())
        await ledger.outbox.retry(ORG, old.id, T0)
        before = await delivery(ledger, old.id)
        taken = await take(ledger, a_report("delivered", a_wamid(), echo=old))
        assert taken.moved == []
        assert await delivery(ledger, old.id) == before
        assert (await claim_one(ledger)).id == old.id

    async def test_an_echo_of_a_try_that_never_was_changes_nothing(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        before = await delivery(ledger, claimed.id)
        await take(ledger, a_report("delivered", a_wamid(), echo=Echo(claimed.id, Fence(2))))
        assert await delivery(ledger, claimed.id) == before

    async def test_statuses_without_an_echo_wait_for_the_settle(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        taken = await take(ledger, a_report("sent", wamid), a_report("delivered", wamid, at=later(seconds(1))))
        assert taken == AppliedWebhook(moved=[], early=0, late=0, unmatched=2, promoted=False)
        assert await status(ledger, claimed.id) is Status.SENDING
        settled = await accept(ledger, claimed, wamid)
        assert (settled.held, settled.early, settled.delivery.status) == (True, 2, Status.DELIVERED)
        assert await status(ledger, claimed.id) is Status.DELIVERED
        assert [stored.kind for stored in (await life(ledger, claimed.id)).statuses] == ["sent", "delivered"]

    async def test_a_status_that_waited_is_applied_once(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, a_report("delivered", wamid))
        await take(ledger, a_report("delivered", wamid))
        assert (await accept(ledger, claimed, wamid)).early == 1
        assert (await accept(ledger, claimed, wamid)).early == 0

    async def test_a_status_that_waited_is_linked_however_late_its_message_appears(self, ledger: Ledger) -> None:
        wamid = a_wamid()
        await take(ledger, a_report("read", wamid), now=T0)
        await submit(ledger, now=later(days(7)))
        claimed = await claim_one(ledger, now=later(days(7)))
        assert (await accept(ledger, claimed, wamid, later(days(7)))).delivery.read_at is not None
        assert len((await life(ledger, claimed.id)).statuses) == 1

    async def test_an_echo_brings_those_that_waited_for_a_name(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, a_report("delivered", wamid))
        before = await delivery(ledger, claimed.id)
        taken = await take(ledger, a_report("sent", wamid, echo=claimed))
        after = await delivery(ledger, claimed.id)
        assert after.status is Status.DELIVERED
        assert taken.moved == [DeliveryChange(before, after)]
        assert [a.status for a in await attempts(ledger, claimed.id)] == [AttemptStatus.SUCCESS]

    async def test_settle_and_status_racing_from_both_sides_lose_no_link(self, ledgers: Ledgers) -> None:
        for n in range(ROUNDS):
            await submit(ledgers[0])
            claimed, wamid = await claim_one(ledgers[0]), a_wamid()
            sides = [
                accept(ledgers[0], claimed, wamid),
                take(ledgers[1], a_report("delivered", wamid)),
                take(ledgers[n % 2], a_report("read", wamid)),
            ]
            await asyncio.gather(*(sides if n % 3 else reversed(sides)))
            stands = await delivery(ledgers[0], claimed.id)
            assert (stands.status, stands.read_at is not None) == (Status.DELIVERED, True)
            assert len((await life(ledgers[0], claimed.id)).statuses) == 2


class StatusTenancyContract:
    """No other org or number can report on a message."""

    @pytest.mark.parametrize(
        ("org", "number"),
        [(OTHER_ORG, OTHER_NUMBER), (OTHER_ORG, NUMBER), (ORG, OTHER_NUMBER)],
        ids=["another org", "the number's next org", "another number of the org"],
    )
    @pytest.mark.parametrize("echoed", [True, False], ids=["by echo", "by wamid"])
    @pytest.mark.parametrize("settled", [True, False], ids=["settled", "unsettled"])
    async def test_a_status_signed_by_another_changes_nothing(
        self, org: OrgId, number: NumberId, echoed: bool, settled: bool, ledger: Ledger
    ) -> None:
        await submit(ledger)
        claimed, wamid = await claim_one(ledger), a_wamid()
        if settled:
            await accept(ledger, claimed, wamid)
        before = await life(ledger, claimed.id)
        update = a_report("read", wamid, echo=claimed if echoed else None, org_id=org, number=number)
        taken = await take(ledger, update)
        assert (taken.moved, taken.unmatched) == ([], 1)
        assert await life(ledger, claimed.id) == before

    async def test_a_status_of_another_org_that_waited_is_not_applied(self, ledger: Ledger) -> None:
        wamid = a_wamid()
        await take(ledger, a_report("read", wamid, org_id=OTHER_ORG))
        await submit(ledger)
        claimed = await claim_one(ledger)
        settled = await accept(ledger, claimed, wamid)
        assert (settled.early, settled.delivery.status) == (0, Status.SENT)
        assert (await life(ledger, claimed.id)).statuses == []

    async def test_an_echo_of_a_message_nobody_knows_is_kept_unmatched(self, ledger: Ledger) -> None:
        taken = await take(ledger, a_report("sent", a_wamid(), echo=Echo(UNKNOWN, Fence(1))))
        assert (taken.unmatched, taken.moved) == (1, [])

    async def test_an_echo_cannot_take_over_a_wamid_that_is_another_message_s(self, ledger: Ledger) -> None:
        await submit(ledger)
        owner, wamid = await claim_one(ledger), a_wamid()
        await accept(ledger, owner, wamid)
        await submit(ledger)
        other = await claim_one(ledger)
        neighbour = a_report("delivered", a_wamid(), echo=other)
        taken = await take(ledger, a_report("delivered", wamid, echo=other), neighbour)
        assert taken.unmatched == 0
        assert await status(ledger, owner.id) is Status.DELIVERED
        assert (await delivery(ledger, other.id)).provider_id == neighbour.wamid

    async def test_an_acceptance_with_a_wamid_that_is_another_message_s_is_kept(self, ledger: Ledger) -> None:
        await submit(ledger)
        wamid = a_wamid()
        owner = (await accept(ledger, await claim_one(ledger), wamid)).delivery
        await submit(ledger)
        second = await claim_one(ledger)
        assert (await accept(ledger, second, wamid)).delivery.status is Status.SENT
        await take(ledger, a_report("delivered", wamid))
        assert await status(ledger, owner.message_id) is Status.DELIVERED
        assert await status(ledger, second.id) is Status.SENT
