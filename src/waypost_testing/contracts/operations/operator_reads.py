"""The contract of operators' reads and actions: consumer lag, figures, heartbeats, dead letters, replay."""

from __future__ import annotations

import asyncio

from waypost.model.gate import Gate, GateBackoff, GateClosing, GateKind, GateName
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.operations.operator_reads import QueueStanding
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    UNKNOWN,
    Ledgers,
    a_number,
    accept,
    an_org,
    claim,
    claim_one,
    delivery,
    event_kinds,
    give_up,
    later,
    settle,
    submit,
)

EVERYTHING = 1000


async def prepare(ledger: Ledger) -> None:
    await ledger.accounts.create_org(an_org(), 10)
    await ledger.accounts.connect(a_number())


async def close(ledger: Ledger, name: str, kind: GateKind = GateKind.HOLD) -> Gate:
    closing = GateClosing(
        org_id=ORG, name=GateName(name), kind=kind, code="7", reason="why", wait=GateBackoff(first=minutes(3))
    )
    return await ledger.gates.close(closing, T0)


async def fail(ledger: Ledger, code: str = "131026", now: Instant = T0) -> Message:
    """A message that ended with this error."""
    message = await submit(ledger, now=now)
    (claimed,) = [each for each in await claim(ledger, now=now) if each.id == message.id]
    await settle(ledger, claimed, give_up(code), now)
    return message


def ids(messages: object) -> list[MessageId]:
    return [message.id for message in messages]  # type: ignore[attr-defined]  # whatever holds messages


class DispatchStateContract:
    async def test_what_is_ready_is_shown_with_its_permits_and_no_gate(self, ledger: Ledger) -> None:
        await prepare(ledger)
        message = await submit(ledger)
        (standing,) = (await ledger.gates.standing([message.id], T0)).values()
        assert (standing.group.org_id, standing.group.sender, standing.group.gate) == (ORG, NUMBER, None)
        assert {name: permit.most for name, permit in standing.permits.items()} == {
            f"quota:{ORG}": 10,
            f"pace:{NUMBER}": None,
        }

    async def test_it_is_shown_behind_the_gate_that_a_claim_would_meet(self, ledger: Ledger) -> None:
        await prepare(ledger)
        freeform, template = await submit(ledger), await submit(ledger, template="hello")
        await close(ledger, f"org:{ORG}", GateKind.THROTTLE)
        held = await close(ledger, f"number:{NUMBER}")
        found = await ledger.gates.standing([freeform.id, template.id], T0)
        assert {message: standing.group.gate for message, standing in found.items()} == {
            freeform.id: held,
            template.id: held,
        }
        assert await claim(ledger) == []

    async def test_what_is_not_ready_has_no_standing(self, ledger: Ledger) -> None:
        await prepare(ledger)
        scheduled = await submit(ledger, scheduled_at=later(minutes(1)))
        _, in_line = await submit(ledger, ordered=True), await submit(ledger, ordered=True)
        taken = await submit(ledger)
        while taken.id not in ids(await claim(ledger)):
            pass
        assert await ledger.gates.standing([scheduled.id, in_line.id, taken.id, UNKNOWN], T0) == {}
        assert await ledger.gates.standing([], T0) == {}

    async def test_a_thousand_are_looked_at_in_one_go(self, ledger: Ledger) -> None:
        await prepare(ledger)
        first, last = await submit(ledger), await submit(ledger)
        asked = [first.id, *(MessageId(UNKNOWN + n) for n in range(1000)), last.id]
        assert set(await ledger.gates.standing(asked, T0)) == {first.id, last.id}

    async def test_a_closed_gate_has_an_id_and_is_listed_with_who_waits(self, ledger: Ledger) -> None:
        await prepare(ledger)
        await submit(ledger)
        gate = await close(ledger, f"number:{NUMBER}")
        assert [(closed.gate, closed.waiting) for closed in await ledger.gates.of_org(ORG, T0)] == [(gate, 1)]
        assert await ledger.gates.closed(ORG, T0) == [gate]
        assert await ledger.gates.closed(OTHER_ORG, T0) == []
        assert await ledger.gates.release(OTHER_ORG, gate.id) is None
        assert await ledger.gates.release(ORG, gate.id) == gate
        assert await ledger.gates.closed(ORG, T0) == []

    async def test_a_quota_may_be_raised_and_lifted(self, ledger: Ledger) -> None:
        await prepare(ledger)
        assert (await ledger.quotas.set_limit(ORG, 20)).most == 20
        assert (await ledger.quotas.set_limit(ORG, None)).most is None
        assert (await ledger.quotas.get(ORG)).most is None


class OperatorReadsContract:
    async def test_a_worker_is_seen_by_every_process_and_an_older_word_changes_nothing(self, ledgers: Ledgers) -> None:
        one, other = ledgers
        assert await one.operator_reads.worker_seen_at() is None
        await one.operator_reads.record_worker_seen(later(seconds(5)))
        await other.operator_reads.record_worker_seen(T0)
        assert await other.operator_reads.worker_seen_at() == later(seconds(5))

    async def test_that_somebody_looked_for_losses_is_known_to_every_process(self, ledgers: Ledgers) -> None:
        one, other = ledgers
        assert await one.operator_reads.detector_ran_at() is None
        await one.operator_reads.record_detector_run(later(seconds(5)))
        await other.operator_reads.record_detector_run(T0)
        assert await other.operator_reads.detector_ran_at() == later(seconds(5))
        assert await other.operator_reads.worker_seen_at() is None

    async def test_a_ledger_is_named_once_for_every_process(self, ledgers: Ledgers) -> None:
        one, other = ledgers
        assert await one.operator_reads.identity() is None
        names = await asyncio.gather(
            *(ledger.operator_reads.identify(f"{n} {ledger is one}") for n in range(5) for ledger in ledgers)
        )
        assert set(names) == {await one.operator_reads.identity()} == {await other.operator_reads.identify("late")}

    async def test_a_place_is_ready_in_line_or_none(self, ledger: Ledger) -> None:
        head, second = await submit(ledger, ordered=True), await submit(ledger, ordered=True)
        assert await ledger.operator_reads.place(head.id) == QueueStanding(ready_since=T0, head=None)
        assert await ledger.operator_reads.place(second.id) == QueueStanding(ready_since=None, head=head.id)
        assert await ledger.operator_reads.place(UNKNOWN) == QueueStanding(ready_since=None, head=None)
        alone = await submit(ledger)
        asked = [head.id, second.id, alone.id, UNKNOWN]
        assert await ledger.operator_reads.heads(asked) == {second.id: head.id}
        assert await ledger.operator_reads.heads([]) == {}

    async def test_the_tally_counts_statuses_up_to_the_limit_and_looks_at_the_newest(self, ledger: Ledger) -> None:
        await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        await submit(ledger, scheduled_at=later(minutes(9)))
        await fail(ledger)
        sent = [await submit(ledger) for _ in range(3)]
        for claimed in await claim(ledger):
            if claimed.id in ids(sent):
                await accept(ledger, claimed, now=later(seconds(2)))
        tally = await ledger.operator_reads.tally(ORG, 4, 2)
        assert set(tally.counts) == set(Status)
        assert {status.value: count for status, count in tally.counts.items() if count} == {
            "QUEUED": 1,
            "SENT": 2,
            "FAILED": 1,
        }
        assert [each.sent_at for each in tally.recent] == [later(seconds(2))] * 3 + [None]
        assert tally.retries == {}
        everything = await ledger.operator_reads.tally(ORG, EVERYTHING, EVERYTHING)
        assert everything.recent[-1].wanted_at == later(minutes(9))


class DeadLetterContract:
    async def test_dead_letters_are_newest_first_by_error_and_page_by_page(self, ledger: Ledger) -> None:
        first, second, third = [await fail(ledger, code) for code in ("1", "2", "1")]
        await submit(ledger)
        messages = ledger.messages
        assert ids(await messages.dead(ORG, None, None, 10)) == [third.id, second.id, first.id]
        assert ids(await messages.dead(ORG, "1", None, 10)) == [third.id, first.id]
        assert ids(await messages.dead(ORG, "1", third.id, 10)) == [first.id]
        assert ids(await messages.dead(ORG, None, None, 1)) == [third.id]
        assert ids(await messages.dead(ORG, None, third.id, 1)) == [second.id]
        assert await messages.dead(OTHER_ORG, None, None, 10) == []

    async def test_a_replay_begins_a_new_generation_of_what_failed_and_of_nothing_else(self, ledger: Ledger) -> None:
        dead = await fail(ledger)
        cancelled, queued = await submit(ledger), await submit(ledger)
        await ledger.outbox.cancel(ORG, cancelled.id, T0)
        wanted = [dead.id, dead.id, cancelled.id, queued.id, UNKNOWN]
        assert list(await ledger.outbox.replay(ORG, wanted, T0)) == [dead.id]
        again = await delivery(ledger, dead.id)
        assert (again.status, again.generation, again.tries, again.error_code) == (Status.QUEUED, 2, 0, None)
        assert "replayed" in await event_kinds(ledger, dead.id)
        assert (await delivery(ledger, cancelled.id)).status is Status.CANCELLED
        assert await ledger.messages.dead(ORG, None, None, 10) == []

    async def test_nobody_replays_another_orgs_messages(self, ledger: Ledger) -> None:
        dead = await fail(ledger)
        assert list(await ledger.outbox.replay(OTHER_ORG, [dead.id], T0)) == []
        assert (await delivery(ledger, dead.id)).status is Status.FAILED

    async def test_many_are_replayed_together_and_each_is_claimed_once(self, ledger: Ledger) -> None:
        dead = [await fail(ledger) for _ in range(20)]
        assert sorted(await ledger.outbox.replay(ORG, ids(dead), T0)) == ids(dead)
        claimed: list[MessageId] = []
        while batch := await claim(ledger, now=later(seconds(1 + len(claimed)))):
            claimed += ids(batch)
        assert sorted(claimed) == ids(dead)

    async def test_some_messages_are_read_at_once_and_only_the_orgs_own(self, ledger: Ledger) -> None:
        one, two = await submit(ledger), await submit(ledger)
        other = await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        wanted = [two.id, one.id, one.id, other.id, UNKNOWN]
        found = await ledger.messages.some(ORG, wanted)
        assert sorted(found, key=lambda message: message.id) == [one, two]
        assert await ledger.messages.some(ORG, []) == []

    async def test_a_replayed_message_that_fails_again_is_dead_again(self, ledger: Ledger) -> None:
        dead = await fail(ledger, "1")
        await ledger.outbox.replay(ORG, [dead.id], T0)
        await settle(ledger, await claim_one(ledger), give_up("2"))
        assert ids(await ledger.messages.dead(ORG, "2", None, 10)) == [dead.id]
