"""The contract of queue statistics: what waits, for what reason and since when."""

from __future__ import annotations

import pytest

from waypost.model.gate import GateClosing, GateKind
from waypost.model.ids import NumberId, OrgId
from waypost.model.queue_stats import ClosedGates, QuotaUse, WaitingFiles, WaitingMessages
from waypost.model.time import minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.rules.limits.gates import of_number
from waypost.rules.receiving.media_fetch import FetchAbandoned, FetchLater
from waypost_testing.contracts.conversation_steps import arrive
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    W1,
    a_number,
    accept,
    an_inbound,
    an_org,
    claim_one,
    later,
    submit,
)
from waypost_testing.contracts.receiving.media import NOTE


class QueueStatsContract:
    @pytest.fixture(autouse=True)
    async def orgs(self, ledger: Ledger) -> None:
        await self.org(ledger, ORG, NUMBER, 2)
        await self.org(ledger, OTHER_ORG, OTHER_NUMBER, None)

    @staticmethod
    async def org(ledger: Ledger, org: OrgId, number: NumberId, quota: int | None) -> None:
        await ledger.accounts.create_org(an_org(org), quota)
        await ledger.accounts.connect(a_number(number, org))

    async def test_an_empty_ledger_has_nothing_to_tell(self, ledger: Ledger) -> None:
        survey = await ledger.queue_stats.survey(10, T0)
        assert (survey.waiting, survey.later, survey.quotas, survey.closed) == ([], 0, [], [])

    async def test_what_is_due_is_counted_by_org_with_its_age(self, ledger: Ledger) -> None:
        for n in range(3):
            await submit(ledger, now=later(seconds(n)))
        await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER, now=later(seconds(9)))
        await submit(ledger, scheduled_at=later(minutes(5)))
        survey = await ledger.queue_stats.survey(10, later(seconds(10)))
        assert survey.waiting == [
            WaitingMessages(ORG, "none", 3, T0),
            WaitingMessages(OTHER_ORG, "none", 1, later(seconds(9))),
        ]
        assert survey.later == 1
        assert [each.org_id for each in (await ledger.queue_stats.survey(1, T0)).waiting] == [ORG]

    async def test_files_that_wait_are_counted_from_their_message_to_their_end(self, ledger: Ledger) -> None:
        await arrive(ledger, *(an_inbound(media=NOTE) for _ in range(3)))
        moment = later(seconds(9))
        assert (await ledger.queue_stats.survey(10, moment)).media == WaitingFiles(files=3, first_due_at=T0)
        lasting, over, _ = await ledger.files.claim(W1, 3, minutes(1), moment)
        assert (await ledger.queue_stats.survey(10, moment)).media == WaitingFiles(files=3), "they are under way"
        await ledger.files.settle(over, FetchAbandoned("gone"), moment)
        await ledger.files.settle(lasting, FetchLater(later(seconds(20)), "busy"), moment)
        files = (await ledger.queue_stats.survey(10, later(seconds(30)))).media
        assert files == WaitingFiles(files=2, first_due_at=later(seconds(20)))

    async def test_a_closed_gate_and_a_used_up_quota_are_told_as_reasons(self, ledger: Ledger) -> None:
        for n in range(2):
            await submit(ledger)
            await accept(ledger, await claim_one(ledger, now=later(minutes(n))))
        await submit(ledger)
        await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        held = GateClosing(
            org_id=OTHER_ORG, name=of_number(OTHER_NUMBER), kind=GateKind.HOLD, code="190", reason="token expired"
        )
        await ledger.gates.close(held, T0)
        survey = await ledger.queue_stats.survey(10, later(minutes(3)))
        assert {(each.org_id, each.reason) for each in survey.waiting} == {(ORG, "quota"), (OTHER_ORG, "hold")}
        assert survey.quotas == [QuotaUse(ORG, 2, 2)]
        assert survey.closed == [ClosedGates("hold", "190", 1)]

    async def test_what_waits_of_one_org_is_told_by_reason_and_of_no_other(self, ledger: Ledger) -> None:
        for n in range(2):
            await submit(ledger, now=later(seconds(n)))
        await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        now = later(seconds(9))
        assert list(await ledger.queue_stats.waiting(ORG, now)) == [WaitingMessages(ORG, "none", 2, T0)]
        held = GateClosing(org_id=ORG, name=of_number(NUMBER), kind=GateKind.HOLD, code="190", reason="token expired")
        await ledger.gates.close(held, T0)
        assert [each.reason for each in await ledger.queue_stats.waiting(ORG, now)] == ["hold"]
        assert [each.reason for each in await ledger.queue_stats.waiting(OTHER_ORG, now)] == ["none"]

    async def test_what_came_and_went_lately_is_told_by_its_moments(self, ledger: Ledger) -> None:
        nothing = await ledger.queue_stats.lately(ORG, 10)
        assert (list(nothing.messages), list(nothing.received), nothing.sent_since) == ([], [], None)
        first = await submit(ledger)
        await accept(ledger, await claim_one(ledger), now=later(seconds(1)))
        second = await submit(ledger, scheduled_at=later(minutes(5)), now=later(seconds(2)))
        await arrive(ledger, an_inbound())
        found = await ledger.queue_stats.lately(ORG, 10)
        assert [(each.created_at, each.wanted_at, each.sent_at) for each in found.messages] == [
            (first.created_at, first.created_at, later(seconds(1))),
            (second.created_at, later(minutes(5)), None),
        ]
        assert [each.done_at for each in found.messages] == [later(seconds(1)), None]
        assert len(found.received) == 1
        assert (found.sent_since, found.received_since) == (None, None)
        others = await ledger.queue_stats.lately(OTHER_ORG, 10)
        assert (list(others.messages), list(others.received)) == ([], [])

    async def test_a_look_that_is_cut_short_sees_what_went_last_and_waits_longest(self, ledger: Ledger) -> None:
        for n in range(2):
            await submit(ledger, now=later(seconds(n)))
            await accept(ledger, await claim_one(ledger, now=later(minutes(n))), now=later(minutes(n)))
        for n in range(2):
            await submit(ledger, scheduled_at=later(minutes(5 + n)))
        await arrive(ledger, an_inbound(), an_inbound())
        cut = await ledger.queue_stats.lately(ORG, 1)
        assert [(each.wanted_at, each.sent_at) for each in cut.messages] == [
            (later(seconds(1)), later(minutes(1))),
            (later(minutes(5)), None),
        ]
        assert cut.sent_since == later(minutes(1))
        assert (len(cut.received), cut.received_since) == (1, cut.received[0])
