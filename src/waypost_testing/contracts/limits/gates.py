"""The contract of gates: one row stops its scope and nothing else, and opening it releases messages at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.gate import Gate, GateClosing, GateId, GateKind, GateName
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.time import Instant, days, minutes
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.ledger import Ledger
from waypost.ports.sending.outbox import Batch, Demand
from waypost.rules.limits.gates import NUMBER_DISABLED, PROBE_AFTER
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    W1,
    Ledgers,
    a_customer,
    a_failure,
    a_number,
    an_org,
    claim,
    delivery,
    later,
    submit,
)

WABA, OTHER_WABA = "300000000000003", "400000000000004"
SECOND_NUMBER = NumberId("100000000000002")
THIRD_NUMBER = NumberId("100000000000003")
FAST = 1000
"""A pace that stops no test about something else."""


async def connect(
    ledger: Ledger, number: NumberId = NUMBER, org: OrgId = ORG, quota: int | None = None, **fields: Any
) -> None:
    await ledger.accounts.create_org(an_org(org), quota)
    assert await ledger.accounts.connect(a_number(number, org, **({"pace": FAST} | fields)))


def a_closing(name: str = f"number:{NUMBER}", kind: GateKind = GateKind.THROTTLE, **fields: Any) -> GateClosing:
    standard: dict[str, Any] = {"org_id": ORG, "code": "80007", "reason": "too many calls", "retry_after": 60.0}
    return GateClosing(name=GateName(name), kind=kind, **(standard | fields))


def a_hold(name: str = f"number:{NUMBER}", code: str = "190") -> GateClosing:
    return a_closing(name, GateKind.HOLD, code=code)


def a_breaker() -> GateClosing:
    return a_closing(f"org:{ORG}", GateKind.BREAKER)


async def batch(ledger: Ledger, slots: int = 100, after: int = 0, now: Instant = T0) -> Batch:
    return await ledger.outbox.claim(Demand(owner=W1, slots=slots, after=after), now)


async def closed_names(ledger: Ledger, org: OrgId = ORG, now: Instant = T0) -> list[tuple[str, str]]:
    return [(shut.gate.name, shut.gate.code) for shut in await ledger.gates.of_org(org, now)]


async def ids_due(ledger: Ledger, now: Instant = T0) -> set[MessageId]:
    return {claimed.id for claimed in await claim(ledger, now=now)}


STOPS = {
    f"number:{NUMBER}": {"freeform", "template"},
    f"account:{WABA}": {"freeform", "template", "second number"},
    f"org:{ORG}": {"freeform", "template", "second number", "other account"},
    f"template:{WABA}/hello": {"template", "second number"},
}
"""Scope -> the messages below that it stops; never the other org's, although it uses the same account id."""


async def one_of_each(ledger: Ledger) -> dict[str, MessageId]:
    await connect(ledger, NUMBER)
    await connect(ledger, SECOND_NUMBER)
    await connect(ledger, THIRD_NUMBER, waba_id=OTHER_WABA)
    await connect(ledger, OTHER_NUMBER, OTHER_ORG)
    drafts: dict[str, dict[str, Any]] = {
        "freeform": {},
        "template": {"template": "hello"},
        "second number": {"template": "hello", "sender": SECOND_NUMBER},
        "other account": {"template": "hello", "sender": THIRD_NUMBER},
        "other org": {"template": "hello", "sender": OTHER_NUMBER, "org_id": OTHER_ORG},
    }
    return {name: (await submit(ledger, **draft)).id for name, draft in drafts.items()}


class ScopeContract:
    @pytest.mark.parametrize("kind", GateKind)
    @pytest.mark.parametrize("name", STOPS)
    async def test_a_gate_stops_its_scope_and_nothing_else(self, name: str, kind: GateKind, ledger: Ledger) -> None:
        messages = await one_of_each(ledger)
        stopped = {messages[each] for each in STOPS[name]}
        before = [await delivery(ledger, message) for message in sorted(stopped)]
        await ledger.gates.close(a_closing(name, kind), T0)
        assert await ids_due(ledger) == set(messages.values()) - stopped
        assert [await delivery(ledger, message) for message in sorted(stopped)] == before

    @pytest.mark.parametrize("name", STOPS)
    async def test_opening_frees_at_once_and_in_order(self, name: str, ledger: Ledger) -> None:
        messages = await one_of_each(ledger)
        gate = await ledger.gates.close(a_hold(name), T0)
        await claim(ledger)
        assert await ledger.gates.open(gate.id)
        freed = [claimed.id for claimed in await claim(ledger)]
        assert freed == sorted(messages[each] for each in STOPS[name])
        assert not await ledger.gates.open(gate.id)

    @pytest.mark.parametrize("name", STOPS)
    async def test_it_is_one_row_and_counts_who_waits_behind_it(self, name: str, ledger: Ledger) -> None:
        await one_of_each(ledger)
        for _ in range(3):
            await ledger.gates.close(a_closing(name), T0)
        (shut,) = await ledger.gates.of_org(ORG, T0)
        assert (shut.gate.name, shut.waiting) == (name, len(STOPS[name]))
        assert await ledger.gates.of_org(OTHER_ORG, T0) == []

    async def test_two_orgs_may_close_gates_of_one_name(self, ledger: Ledger) -> None:
        """An account's id is only a claim of its org."""
        messages = await one_of_each(ledger)
        name = f"account:{WABA}"
        ours = await ledger.gates.close(a_hold(name), T0)
        theirs = await ledger.gates.close(replace(a_hold(name), org_id=OTHER_ORG), T0)
        assert ours.id != theirs.id
        assert await ids_due(ledger) == {messages["other account"]}
        await ledger.gates.open(theirs.id)
        assert await ids_due(ledger) == {messages["other org"]}

    async def test_only_its_own_org_releases_a_gate(self, ledger: Ledger) -> None:
        gate = await ledger.gates.close(a_hold(), T0)
        await submit(ledger)
        assert await ledger.gates.release(OTHER_ORG, gate.id) is None
        assert await claim(ledger) == []
        assert await ledger.gates.release(ORG, gate.id) == gate
        assert len(await claim(ledger)) == 1
        assert await ledger.gates.release(ORG, GateId(0)) is None

    async def test_the_longest_of_several_gates_counts(self, ledger: Ledger) -> None:
        await connect(ledger)
        await submit(ledger)
        throttle = await ledger.gates.close(a_closing(f"org:{ORG}"), T0)
        hold = await ledger.gates.close(a_hold(f"account:{WABA}"), T0)
        breaker = await ledger.gates.close(a_breaker(), T0)
        assert await claim(ledger, now=later(minutes(2))) == []
        await ledger.gates.open(hold.id)
        (probe,) = await claim(ledger, now=later(minutes(2)))
        assert probe.probe == breaker.id
        assert throttle.until == later(minutes(1))


class ClosingContract:
    async def test_a_throttle_opens_by_itself_when_its_time_comes(self, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.gates.close(a_closing(), T0)
        stopped = await batch(ledger)
        assert (stopped.claimed, stopped.more, stopped.opens_at) == ([], False, later(minutes(1)))
        assert await claim(ledger, now=Instant(T0 + minutes(1) - 1)) == []
        assert len(await claim(ledger, now=later(minutes(1)))) == 1
        assert await closed_names(ledger, now=later(minutes(1))) == []

    async def test_a_hold_does_not(self, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.gates.close(a_hold(), T0)
        stopped = await batch(ledger, now=later(days(1000)))
        assert (stopped.claimed, stopped.opens_at) == ([], None)
        assert len(await closed_names(ledger, now=later(days(1000)))) == 1

    async def test_closing_again_prolongs_and_never_shortens(self, ledgers: Ledgers) -> None:
        spans = [30.0, 600.0, 5.0, 60.0]
        await asyncio.gather(
            *(ledgers[n % 2].gates.close(a_closing(retry_after=span), T0) for n, span in enumerate(spans))
        )
        (shut,) = await ledgers[0].gates.of_org(ORG, T0)
        assert shut.gate.until == later(minutes(10))

    async def test_it_stays_closed_for_longer_each_time_in_a_row(self, ledger: Ledger) -> None:
        now, gates = T0, []
        for _ in range(3):
            gates.append(await ledger.gates.close(a_closing(retry_after=None), now))
            assert gates[-1].until is not None
            now = gates[-1].until
        assert [gate.times for gate in gates] == [1, 2, 3]
        assert len({gate.id for gate in gates}) == 1

    async def test_over_throttles_are_tidied_away_and_nothing_else(self, ledger: Ledger) -> None:
        await ledger.gates.close(a_closing(), T0)
        await ledger.gates.close(a_closing(f"number:{SECOND_NUMBER}", retry_after=7200), T0)
        await ledger.gates.close(a_hold(), T0)
        await ledger.gates.close(a_breaker(), T0)
        assert await ledger.gates.tidy(later(minutes(1))) == 0
        assert await ledger.gates.tidy(later(minutes(2))) == 1
        kinds = [shut.gate.kind for shut in await ledger.gates.of_org(ORG, T0)]
        assert kinds == [GateKind.THROTTLE, GateKind.HOLD, GateKind.BREAKER]

    async def test_a_webhook_closes_a_gate_with_everything_else_it_brings(self, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.journal.apply_webhook(a_failure(a_hold(f"org:{ORG}")), T0)
        assert await claim(ledger) == []
        assert await closed_names(ledger) == [(f"org:{ORG}", "190")]

    async def test_what_is_ready_knows_what_it_waits_for(self, ledger: Ledger) -> None:
        await connect(ledger, quota=5)
        message = await submit(ledger)
        waits = await submit(ledger, scheduled_at=later(days(1)))
        gate = await ledger.gates.close(a_hold(), T0)
        (stands,) = (await ledger.gates.standing([message.id, waits.id])).values()
        assert (stands.group.gate, stands.group.sender) == (gate, NUMBER)
        assert stands.permits[f"quota:{ORG}"].most == 5
        assert await ledger.gates.standing([]) == {}


class SwitchContract:
    """A number's own hold, and the holds that a new token may have resolved."""

    async def test_a_disabled_number_sends_nothing_until_it_is_enabled(self, ledger: Ledger) -> None:
        await connect(ledger)
        await submit(ledger)
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(enabled=False), T0)
        assert await closed_names(ledger) == [(f"number:{NUMBER}", NUMBER_DISABLED)]
        assert await claim(ledger) == []
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(enabled=True), T0)
        assert len(await claim(ledger)) == 1

    async def test_a_number_may_be_connected_disabled(self, ledger: Ledger) -> None:
        await connect(ledger, enabled=False)
        await submit(ledger)
        assert await claim(ledger) == []

    async def test_a_new_token_releases_the_holds_of_its_number_and_account(self, ledger: Ledger) -> None:
        await connect(ledger)
        kept = [a_hold(f"template:{WABA}/hello"), a_hold(f"number:{SECOND_NUMBER}"), a_closing()]
        for closing in [a_hold(), a_hold(f"account:{WABA}"), *kept]:
            await ledger.gates.close(closing, T0)
        theirs = replace(a_hold(f"account:{WABA}"), org_id=OTHER_ORG)
        await ledger.gates.close(theirs, T0)
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(sealed_token=b"new"), T0)
        assert [name for name, _ in await closed_names(ledger)] == [closing.name for closing in kept]
        assert len(await closed_names(ledger, OTHER_ORG)) == 1

    async def test_a_new_token_enables_no_number(self, ledger: Ledger) -> None:
        await connect(ledger, enabled=False)
        await ledger.gates.close(a_hold(), T0)  # an attempt under way found its token invalid
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(sealed_token=b"new"), T0)
        assert await closed_names(ledger) == [(f"number:{NUMBER}", NUMBER_DISABLED)]
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(enabled=True), T0)
        assert await closed_names(ledger) == []

    async def test_a_number_connected_again_begins_with_open_gates(self, ledger: Ledger) -> None:
        await connect(ledger, enabled=False)
        await ledger.accounts.disconnect(ORG, NUMBER)
        await connect(ledger)
        await submit(ledger)
        assert len(await claim(ledger)) == 1


class BreakerContract:
    async def opened(self, ledger: Ledger, messages: int = 6) -> Gate:
        for _ in range(messages):
            await submit(ledger, recipient=a_customer())
        return await ledger.gates.close(a_breaker(), T0)

    @pytest.mark.parametrize("quota", [None, 100])
    async def test_it_lets_one_probe_through_per_period(self, quota: int | None, ledgers: Ledgers) -> None:
        await connect(ledgers[0], quota=quota)
        gate = await self.opened(ledgers[0])
        assert await claim(ledgers[0], now=Instant(T0 + PROBE_AFTER - 1)) == []
        for period in (1, 2):
            now = Instant(T0 + period * PROBE_AFTER)
            taken = await asyncio.gather(*(claim(ledgers[n % 2], now=now) for n in range(6)))
            (probe,) = [claimed for some in taken for claimed in some]
            assert probe.probe == gate.id
        assert await claim(ledgers[1], now=Instant(T0 + 3 * PROBE_AFTER - 1)) == []

    async def test_probes_of_two_numbers_of_an_org_are_one(self, ledgers: Ledgers) -> None:
        await connect(ledgers[0], NUMBER)
        await connect(ledgers[0], SECOND_NUMBER)
        await self.opened(ledgers[0], 2)
        for _ in range(2):
            await submit(ledgers[0], sender=SECOND_NUMBER)
        now = Instant(T0 + PROBE_AFTER)
        taken = await asyncio.gather(*(claim(ledgers[n % 2], slots=1, now=now) for n in range(6)))
        assert sum(map(len, taken)) == 1

    async def test_the_next_probe_s_time_is_told(self, ledger: Ledger) -> None:
        await self.opened(ledger)
        assert (await batch(ledger)).opens_at == T0 + PROBE_AFTER
        probed = await batch(ledger, now=Instant(T0 + PROBE_AFTER))
        assert (len(probed.claimed), probed.opens_at) == (1, T0 + 2 * PROBE_AFTER)

    async def test_a_probe_that_nobody_could_take_is_not_spent(self, ledger: Ledger) -> None:
        await ledger.gates.close(a_breaker(), T0)
        now = Instant(T0 + PROBE_AFTER)
        assert await claim(ledger, now=now) == []
        await submit(ledger)
        assert len(await claim(ledger, now=now)) == 1

    async def test_a_probe_that_was_not_used_is_drawn_again_at_once(self, ledger: Ledger) -> None:
        gate = await self.opened(ledger)
        now = Instant(T0 + PROBE_AFTER)
        (unused,) = await claim(ledger, now=now)
        assert await claim(ledger, now=Instant(T0 + PROBE_AFTER + 1)) == []
        assert await ledger.gates.probe_again(gate.id, unused.claimed_at, Instant(T0 + PROBE_AFTER + 1))
        (again,) = await claim(ledger, now=Instant(T0 + PROBE_AFTER + 1))
        assert again.probe == gate.id
        assert await claim(ledger, now=Instant(T0 + PROBE_AFTER + 1)) == []

    async def test_a_breaker_that_closed_again_meanwhile_stays_closed(self, ledger: Ledger) -> None:
        gate = await self.opened(ledger)
        (unused,) = await claim(ledger, now=Instant(T0 + PROBE_AFTER))
        await ledger.gates.close(a_breaker(), Instant(T0 + PROBE_AFTER + 1))
        assert not await ledger.gates.probe_again(gate.id, unused.claimed_at, Instant(T0 + PROBE_AFTER + 2))
        assert await claim(ledger, now=Instant(T0 + PROBE_AFTER + 2)) == []

    async def test_opening_it_frees_the_rest(self, ledger: Ledger) -> None:
        gate = await self.opened(ledger)
        (probe,) = await claim(ledger, now=Instant(T0 + PROBE_AFTER))
        await ledger.gates.open(gate.id)
        rest = await claim(ledger, now=Instant(T0 + PROBE_AFTER))
        assert len(rest) == 5
        assert {claimed.probe for claimed in rest} == {None}
        assert probe.id not in {claimed.id for claimed in rest}


class GatesContract(ScopeContract, ClosingContract, SwitchContract, BreakerContract):
    pass
