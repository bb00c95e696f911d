"""The contract of failover: a message that may have arrived is never moved, and what is moved is moved whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from waypost.model.gate import GateClosing, GateKind, GateName
from waypost.model.ids import MessageId, NumberId
from waypost.model.message import AttemptStatus, ClaimedMessage
from waypost.model.time import Instant, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.ledger import Ledger
from waypost.ports.sending.failover import START, FailoverRoute
from waypost.rules.limits import gates
from waypost.rules.sending.delivery import StandBack
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    PassTime,
    a_number,
    accept,
    an_inbound,
    an_org,
    claim,
    claim_one,
    event_kinds,
    later,
    life,
    requeue_stale,
    settle,
    submit,
    try_again,
    unsure,
)

WABA = "300000000000003"
SOON = later(seconds(1))


def a_closing(
    name: GateName | None = None, kind: GateKind = GateKind.HOLD, retry_after: float | None = None, **fields: Any
) -> GateClosing:
    where = gates.of_number(NUMBER) if name is None else name
    standard: dict[str, Any] = {"org_id": ORG, "code": "190", "reason": "the token expired"}
    return GateClosing(name=where, kind=kind, retry_after=retry_after, **(standard | fields))


async def move(ledger: Ledger, *, now: Instant = SOON, enforce_window: bool = False) -> list[MessageId]:
    """Move everything that may be sent from another number."""
    moved: list[MessageId] = []
    for route in await ledger.failover.routes(now):
        place = START
        while place is not None:
            page = await ledger.failover.move(route, place, 3, now, enforce_window=enforce_window)
            moved += page.messages
            place = page.after  # type: ignore[assignment]  # the end ends the loop
    return moved


class FailoverContract:
    @pytest.fixture(autouse=True)
    async def two_numbers(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG), None)
        await ledger.accounts.connect(a_number(NUMBER, failover=OTHER_NUMBER))
        await ledger.accounts.connect(a_number(OTHER_NUMBER, waba_id="waba-2"))

    async def test_what_waits_behind_a_hold_goes_from_the_other_number(self, ledger: Ledger) -> None:
        messages = [await submit(ledger) for _ in range(8)]
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == [message.id for message in messages]
        claimed = await claim(ledger, now=SOON)
        assert {each.id for each in claimed} == {message.id for message in messages}
        assert {each.sender for each in claimed} == {OTHER_NUMBER}
        stored = await ledger.messages.get(ORG, messages[0].id)
        assert stored is not None
        assert stored.draft.sender == OTHER_NUMBER
        assert await event_kinds(ledger, messages[0].id) == ["failed_over"]
        await accept(ledger, claimed[0], now=SOON)

    async def test_an_open_gate_moves_nothing(self, ledger: Ledger) -> None:
        await submit(ledger)
        assert await ledger.failover.routes(SOON) == []

    @pytest.mark.parametrize(
        ("closing", "moves"),
        [
            (a_closing(gates.of_account(WABA)), True),
            (a_closing(kind=GateKind.BREAKER), True),
            (a_closing(kind=GateKind.THROTTLE, retry_after=60), True),
            (a_closing(kind=GateKind.THROTTLE, retry_after=5), False),
            (a_closing(gates.of_org(ORG)), False),
            (a_closing(gates.of_template(WABA, "")), False),
            (a_closing(code=gates.NUMBER_DISABLED), False),
        ],
        ids=["account", "breaker", "long throttle", "short throttle", "org", "template", "disabled"],
    )
    async def test_only_a_long_trouble_of_the_number_or_its_account_is_an_outage(
        self, closing: GateClosing, moves: bool, ledger: Ledger
    ) -> None:
        await submit(ledger)
        await ledger.gates.close(closing, T0)
        assert len(await move(ledger)) == moves

    async def test_a_number_that_somebody_disabled_holds_its_messages_in_an_outage_too(self, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.gates.close(a_closing(gates.of_account(WABA)), T0)
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(enabled=False), T0)
        assert await move(ledger) == []

    @pytest.mark.parametrize("name", [gates.of_number(OTHER_NUMBER), gates.of_account("waba-2"), gates.of_org(ORG)])
    async def test_the_other_number_must_be_open_itself(self, name: GateName, ledger: Ledger) -> None:
        await submit(ledger)
        await ledger.gates.close(a_closing(), T0)
        await ledger.gates.close(a_closing(name, GateKind.THROTTLE, 30), T0)
        assert await move(ledger) == []
        assert len(await move(ledger, now=later(seconds(31)))) == 1

    async def test_an_unsure_try_never_moves_however_it_was_queued_again(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), unsure())
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []

    async def test_a_try_of_a_worker_that_vanished_never_moves(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []

    async def test_a_doubt_stays_a_doubt_after_a_later_try_failed(self, ledger: Ledger, pass_time: PassTime) -> None:
        await submit(ledger)
        await settle(ledger, await claim_one(ledger), unsure())
        await requeue_stale(ledger, pass_time)
        await settle(ledger, await claim_one(ledger), try_again(T0))
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []

    async def test_what_the_provider_refused_may_move(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, StandBack(a_closing(), "the token expired", None))
        assert await move(ledger) == [message.id]
        again = await claim_one(ledger, now=SOON)
        assert (again.sender, again.fence, again.tries) == (OTHER_NUMBER, claimed.fence + 1, 1)
        assert [each.status for each in (await life(ledger, message.id)).attempts] == [
            AttemptStatus.FAILED,
            AttemptStatus.TRYING,
        ]

    async def test_what_is_under_way_does_not_move(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []
        assert (await accept(ledger, claimed)).held

    async def test_an_ordered_message_stays_in_its_line(self, ledger: Ledger) -> None:
        for _ in range(2):
            await submit(ledger, ordered=True)
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []

    @pytest.mark.parametrize(("waba", "moves"), [(WABA, 1), ("waba-2", 0)])
    async def test_a_template_moves_within_its_business_account(self, waba: str, moves: int, ledger: Ledger) -> None:
        await ledger.accounts.change_number(ORG, OTHER_NUMBER, NumberChange(waba_id=waba), T0)
        await submit(ledger, template="order")
        await ledger.gates.close(a_closing(), T0)
        assert len(await move(ledger, enforce_window=True)) == moves
        assert [each.template for each in await claim(ledger, now=SOON)] == ["order"] * moves

    async def test_freeform_needs_a_window_with_the_other_number(self, ledger: Ledger) -> None:
        message, _ = await submit(ledger, recipient=CUSTOMER), await submit(ledger, recipient=OTHER_CUSTOMER)
        wrote = [
            an_inbound(CUSTOMER, T0, OTHER_NUMBER),
            an_inbound(OTHER_CUSTOMER, T0, NUMBER),
        ]
        await ledger.journal.apply_webhook(WebhookBatch([], [], wrote), T0)
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger, enforce_window=True) == [message.id]

    @pytest.mark.parametrize(
        ("payload", "moves"),
        [
            ('{"type":"image","image":{"link":"https://x/y.png"}}', 1),
            ('{"type":"image","image":{"id":"7"}}', 0),
            ('{"text":"yes","context":{"message_id":"wamid.1"}}', 0),
            ('{"type":"reaction","reaction":{"message_id":"wamid.1","emoji":"x"}}', 0),
        ],
    )
    async def test_what_belongs_to_its_number_stays(self, payload: str, moves: int, ledger: Ledger) -> None:
        await submit(ledger, payload=payload)
        await ledger.gates.close(a_closing(), T0)
        assert len(await move(ledger)) == moves

    async def test_a_message_moves_once_even_between_two_that_stand_in_for_each_other(self, ledger: Ledger) -> None:
        await ledger.accounts.change_number(ORG, OTHER_NUMBER, NumberChange(failover=NUMBER), T0)
        await submit(ledger)
        await ledger.gates.close(a_closing(), T0)
        assert len(await move(ledger)) == 1
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(sealed_token=b"new"), T0)  # opens it
        await ledger.gates.close(a_closing(gates.of_number(OTHER_NUMBER)), T0)
        assert await move(ledger) == []

    async def test_another_orgs_number_never_takes_over(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(OTHER_ORG), None)
        await ledger.accounts.connect(a_number(NumberId("3"), OTHER_ORG))
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(failover=NumberId("3")), T0)
        await submit(ledger)
        await ledger.gates.close(a_closing(), T0)
        assert await move(ledger) == []

    async def test_a_failover_ends_by_a_word_or_with_its_number(self, ledger: Ledger) -> None:
        (first, _) = await ledger.accounts.numbers(ORG)
        assert first.failover == OTHER_NUMBER
        changed = await ledger.accounts.change_number(ORG, NUMBER, NumberChange(no_failover=True), T0)
        assert changed is not None
        assert changed.failover is None
        await ledger.accounts.change_number(ORG, NUMBER, NumberChange(failover=OTHER_NUMBER), T0)
        await ledger.accounts.disconnect(ORG, OTHER_NUMBER)
        assert [each.failover for each in await ledger.accounts.numbers(ORG)] == [None]

    async def test_processes_that_move_and_claim_at_once_send_each_message_once(self, ledgers: Ledgers) -> None:
        first, second = ledgers
        messages = {(await submit(first)).id for _ in range(40)}
        await first.gates.close(a_closing(), T0)
        (route,) = await first.failover.routes(SOON)

        async def page(ledger: Ledger) -> list[MessageId]:
            return list((await ledger.failover.move(route, START, 20, SOON, enforce_window=False)).messages)

        async def take(ledger: Ledger) -> list[ClaimedMessage]:
            return await claim(ledger, now=later(minutes(1)))

        jobs: list[Awaitable[list[Any]]] = [
            page(first),
            take(second),
            page(second),
            take(first),
            page(first),
            take(second),
        ]
        done = await asyncio.gather(*jobs)
        moved = [each for found in done for each in found if isinstance(each, int)]
        claimed = [each for found in done for each in found if isinstance(each, ClaimedMessage)]
        claimed += [*await claim(first, now=later(minutes(2))), *await claim(first, now=later(minutes(3)))]
        assert sorted(moved) == sorted(messages)
        assert len({each.id for each in claimed}) == len(claimed)
        assert {each.sender for each in claimed} == {OTHER_NUMBER}

    async def test_a_route_tells_why(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await ledger.gates.close(a_closing(), T0)
        (route,) = await ledger.failover.routes(SOON)
        assert isinstance(route, FailoverRoute)
        assert route.reason == "hold: the token expired"
        await move(ledger)
        (event,) = (await life(ledger, message.id)).events
        assert event.detail == f"from {NUMBER} to {OTHER_NUMBER}, because of hold: the token expired"
