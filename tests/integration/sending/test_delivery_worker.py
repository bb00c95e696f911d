"""The courier at its edges: told to stop in the middle of a claim, and with hardly a slot to send from."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from waypost.adapters.local.clock import SystemClock, SystemIds, SystemRandomSource
from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.vault import AesVault
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import InlineEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.flow.accounts import access
from waypost.flow.sending import marketing, submit
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.world import TIMED, Tuning, World
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Message, Status
from waypost.model.time import Instant, Span, minutes, seconds
from waypost.ports.platform.hints import about_message
from waypost.ports.platform.http_transport import ConnectionCut, HttpReply
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import Ports, build_world

ORG = OrgId("acme")
REQUEST = submit.SubmitRequest(
    channel="WHATSAPP",
    to="+15550001111",
    sender=None,
    template=None,
    subject=None,
    payload={"text": "Hello"},
    dossier_id=None,
    idempotency_key=None,
    priority=5,
    scheduled_at=None,
    expires_at=None,
    ordered=False,
    max_attempts=5,
)

pytestmark = pytest.mark.may_block(reason="SQLite in memory, inline as in a simulation")


@dataclass
class Provider:
    """Takes a call and answers when it is let go."""

    called: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> HttpReply:
        self.called.set()
        await self.let_go.wait()
        raise ConnectionCut("cut")

    async def close(self) -> None:
        pass


@dataclass
class Pauses:
    """Where a transaction of the Ledger stands still, once it is told to."""

    count: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    hold_after_commit: bool = False

    async def __call__(self, moment: str) -> None:
        self.count += moment == "before commit"
        await asyncio.sleep(0)
        if moment == "after commit" and self.hold_after_commit:
            self.hold_after_commit = False
            self.held.set()
            await self.go_on.wait()


class StoppedClock(SystemClock):
    """While the process is stopped, time passes."""

    stopped_for = Span(0)

    def now(self) -> Instant:
        return Instant(super().now() + self.stopped_for)


@dataclass
class Office:
    world: World
    clock: StoppedClock
    store: SqliteStore
    provider: Provider
    pauses: Pauses

    async def post(self) -> Message:
        answer = await submit.submit(REQUEST, ORG, self.world)
        return cast(submit.StoredMessage, answer).message

    def revoke_consent(self) -> None:
        now = self.clock.now()
        address = (ORG, f"address:{REQUEST.to}", "WHATSAPP", "REVOKED", now, now)
        self.store.transact(_run(Once("consent_put", address)))

    async def reaches(self, message: Message, wanted: tuple[Status, int]) -> None:
        with self.world.hints.listen(about_message(message.id)) as listener:
            while await self.status(message) != wanted:
                assert not self.provider.called.is_set()
                await listener.wait(seconds(1))

    async def status(self, message: Message) -> tuple[Status, int]:
        found = await self.world.ledger.messages.get(ORG, message.id)
        assert found
        return found.delivery.status, found.delivery.tries


class SlowReads:
    """Every read of the Ledger takes this long, however many there are at a time."""

    def __init__(self, clock: StoppedClock, take: Span) -> None:
        self._clock, self._take = clock, take

    async def read(self) -> None:
        answered_at = self._clock.now() + self._take
        for _ in range(10):
            await asyncio.sleep(0)  # the others ask, too
        self._clock.stopped_for = Span(self._clock.stopped_for + max(0, answered_at - self._clock.now()))


def _run(step: Once) -> Plan[None]:
    yield step


async def opened(tuning: Tuning) -> Office:
    clock, provider, pauses = StoppedClock(), Provider(), Pauses()
    store = SqliteStore(None)
    store.migrate()
    ports = Ports(
        clock=clock,
        random=SystemRandomSource(),
        ids=SystemIds(),
        ledger=SqlLedger(InlineEngine(store, clock.now, pauses)),
        hints=ProcessHints(),
        wire=provider,
        vault=AesVault("key"),
    )
    tuning = replace(tuning, enforce_window=False, quota=None, pace=1000)  # the courier's edges, not policy
    world = build_world(ports, tuning, Telemetry(), graph_url="http://graph", graph_timeout=5)
    await access.create_org(ORG, world)
    secrets = dict.fromkeys(access.SECRETS, "secret")
    await access.connect_number(ORG, access.NewNumber(number=NumberId("1"), waba_id="2", secrets=secrets), world)
    return Office(world, clock, store, provider, pauses)


async def test_what_is_claimed_while_it_stops_is_handed_back_untried() -> None:
    office = await opened(Tuning())
    message = await office.post()
    courier = DeliveryWorker(office.world)
    office.pauses.hold_after_commit = True
    running = asyncio.ensure_future(courier.run())
    await office.pauses.held.wait()
    assert await office.status(message) == (Status.SENDING, 1), "the claim is committed, and not yet answered"
    stopping = asyncio.ensure_future(courier.stop(seconds(5)))
    await asyncio.sleep(0)
    office.pauses.go_on.set()
    assert await stopping == 0
    assert await office.status(message) == (Status.QUEUED, 0)
    assert not office.provider.called.is_set()
    await running


async def test_a_send_that_outlasts_the_patience_is_let_go_and_stays_unsettled() -> None:
    office = await opened(Tuning())
    message = await office.post()
    courier = DeliveryWorker(office.world)
    running = asyncio.ensure_future(courier.run())
    await office.provider.called.wait()
    assert await courier.stop(seconds(0.05)) == 1
    assert await office.status(message) == (Status.SENDING, 1)
    await running


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
async def test_a_courier_without_a_free_slot_rests(slots: int) -> None:
    office = await opened(Tuning(slots=slots, batch=slots))
    for _ in range(slots + 3):
        await office.post()
    courier = DeliveryWorker(office.world)
    running = asyncio.ensure_future(courier.run())
    await office.provider.called.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    before = office.pauses.count
    for _ in range(500):  # turns of the loop in which it could claim again and again
        await asyncio.sleep(0)
    assert office.pauses.count == before
    office.provider.let_go.set()
    await courier.stop(seconds(5))
    await running


async def test_a_send_that_was_cut_off_is_never_handed_back_as_untried() -> None:
    """A claim that answers after the patience is over hands back what it brought, and nothing that was tried."""
    office = await opened(Tuning(slots=8, batch=2))
    tried = await office.post()
    courier = DeliveryWorker(office.world)
    running = asyncio.ensure_future(courier.run())
    await office.provider.called.wait()
    fresh = await office.post()
    office.pauses.hold_after_commit = True  # the claim that the hint of this post brings
    await office.pauses.held.wait()
    assert await office.status(fresh) == (Status.SENDING, 1)
    assert await courier.stop(seconds(0.05)) == 1
    office.pauses.go_on.set()
    await running
    assert await office.status(fresh) == (Status.QUEUED, 0)
    assert await office.status(tried) == (Status.SENDING, 1), "it may have been sent"


async def test_a_worker_that_stood_still_sends_nothing_of_what_it_held() -> None:
    """It gives it back; then it is claimed again, and its consent is read again."""
    office = await opened(Tuning(poll=seconds(0.05)))
    message = await office.post()
    courier = DeliveryWorker(office.world)
    office.pauses.hold_after_commit = True
    running = asyncio.ensure_future(courier.run())
    await office.pauses.held.wait()
    office.revoke_consent()
    office.clock.stopped_for = seconds(20)
    office.pauses.go_on.set()
    await office.reaches(message, (Status.FAILED, 0))
    await courier.stop(seconds(5))
    await running


async def test_a_worker_that_stood_still_sends_what_it_claims_afterwards() -> None:
    office = await opened(Tuning(poll=seconds(0.05)))
    await office.post()
    courier = DeliveryWorker(office.world)
    office.pauses.hold_after_commit = True
    running = asyncio.ensure_future(courier.run())
    await office.pauses.held.wait()
    office.clock.stopped_for = minutes(11)
    office.pauses.go_on.set()
    await office.provider.called.wait()
    office.provider.let_go.set()
    await courier.stop(seconds(5))
    await running


async def test_reads_that_take_longer_than_a_claim_may_be_old_keep_no_message_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A marketing message waits for its consent after its claim."""
    office = await opened(Tuning(poll=seconds(0.05)))
    reads, next_due = SlowReads(office.clock, seconds(4)), office.world.ledger.lookup.next_due
    over, asked = asyncio.Event(), itertools.count()

    async def read_consent(*_: object) -> None:
        await reads.read()
        if next(asked) > 5 * TIMED:
            over.set()

    async def read_next_due() -> Instant | None:
        await reads.read()
        return await next_due()

    monkeypatch.setattr(marketing, "stop", read_consent)
    monkeypatch.setattr(office.world.ledger.lookup, "next_due", read_next_due)
    await office.post()
    courier = DeliveryWorker(office.world)
    running = asyncio.ensure_future(courier.run())
    await asyncio.wait(
        [asyncio.ensure_future(office.provider.called.wait()), asyncio.ensure_future(over.wait())],
        return_when=asyncio.FIRST_COMPLETED,
    )
    office.provider.let_go.set()
    await courier.stop(seconds(5))
    await running
    assert office.provider.called.is_set()
