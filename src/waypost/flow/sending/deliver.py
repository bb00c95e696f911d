"""Claims messages, sends each to the provider and settles the result, with no transaction open during the call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence

from waypost.flow import claim_age
from waypost.flow.accounts.policies import quiet_hours_deferral
from waypost.flow.sending import marketing
from waypost.flow.sending.channels import ROUTES, ProviderRoute
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.gate import GateClosing
from waypost.model.ids import Fence, MessageId
from waypost.model.message import ClaimedMessage
from waypost.model.outcome import Outcome, Unreached, Unsure
from waypost.model.outcome import ProviderRejected as Refused
from waypost.model.time import Instant, Span, as_seconds, seconds
from waypost.ports.platform.failure import Busy, LedgerError, Rejected
from waypost.ports.platform.hints import OUTBOX, Listener, about_message
from waypost.ports.sending.outbox import Demand, Settled, Settlement
from waypost.rules.limits import breaker, gates
from waypost.rules.limits.error_catalogue import ErrorCatalogue
from waypost.rules.limits.send_pace import HORIZON
from waypost.rules.sending.delivery import Accept, Defer, DeliveryVerdict, StandBack
from waypost.rules.sending.retry import SHORT, judge
from waypost.rules.sending.send_checks import check_before_send

JUST: Span = seconds(1)
REJECTIONS = 5
LONGEST_PAUSE: Span = seconds(30)


async def deliver(message: ClaimedMessage, world: World) -> Settled:
    """One message from its claim to its settle."""
    await wait_for_pace(message, world)
    route = await ROUTES[message.channel](message, world)
    verdict = await try_to_send(message, route, world)
    settled = await settle(Settlement(message=message, verdict=verdict), world)
    topics = [about_message(message.id)]
    world.hints.give([*topics, OUTBOX] if settled.promoted else topics)
    return settled


async def try_to_send(message: ClaimedMessage, route: ProviderRoute | DeliveryVerdict, world: World) -> DeliveryVerdict:
    """Calls the provider unless a last check stops the message."""
    if isinstance(route, ProviderRoute):
        stopped = await marketing.stop(message, route.account, world) or await last_checks(message, route, world)
        if stopped is None:
            return await call_provider(message, route, world)
    else:
        stopped = route
    await release_probe(message, world)
    return stopped


async def last_checks(message: ClaimedMessage, route: ProviderRoute, world: World) -> DeliveryVerdict | None:
    """Age of the claim, expiry, consent, 24-hour window, quiet hours and gates; None if the message may be sent.

    Nothing is awaited between these and the call. What an old claim says about window and consent may be wrong by now,
    so the message goes back and is claimed anew.
    """
    if await claim_age.is_old(message.claimed_at, world.tuning.stale, world):
        return Defer(world.clock.now(), "old_claim", "its worker stood still for a while and gave it back")
    return (
        check_before_send(message, world.clock.now(), enforce_window=world.tuning.enforce_window)
        or quiet_hours_deferral(message, world)
        or defer_behind_gate(message, route, world)
    )


async def wait_for_pace(message: ClaimedMessage, world: World) -> None:
    """A claim draws the number's pace a little ahead, so each message waits for its own start."""
    ahead = min(message.start_at - world.clock.now(), HORIZON)  # a clock that was set back must not delay it for hours
    if ahead > 0:
        await world.clock.sleep(Span(ahead))


def defer_behind_gate(message: ClaimedMessage, route: ProviderRoute, world: World) -> DeliveryVerdict | None:
    """A gate that this process closed after the claim also stops the message."""
    if not world.just_closed:
        return None
    now = world.clock.now()
    names = [
        route.breaker,
        gates.of_number(message.sender),
        gates.of_account(route.account),
        gates.of_template(route.account, message.template or ""),
    ]
    until = max(world.just_closed.get((message.org_id, name), now) for name in names)
    return Defer(until, "throttle", "what it would go through was closed a moment ago") if now < until else None


async def call_provider(message: ClaimedMessage, route: ProviderRoute, world: World) -> DeliveryVerdict:
    outcome = await route.send()
    await update_breaker(message, route, outcome, world)
    catalogue = world.catalogues[route.catalogue]
    log_for_operator(outcome, catalogue, world)
    now, random = world.clock.now(), world.random.unit()
    backoff = world.policies.known(message.org_id).backoff if message.conversation_id is None else SHORT
    verdict = judge(outcome, message, route.account, catalogue, backoff, now, random)
    if isinstance(verdict, StandBack) and verdict.closing.pair is None:
        remember_closed(verdict.closing, world)
    return verdict


def log_for_operator(outcome: Outcome, catalogue: ErrorCatalogue, world: World) -> None:
    if isinstance(outcome, Unreached | Unsure):
        world.meters.provider_unreachable(outcome.reason, world.clock.now())
    if isinstance(outcome, Refused) and catalogue.find(outcome.code) is None:
        world.meters.unknown_code(outcome.code)


def remember_closed(closing: GateClosing, world: World) -> None:
    """Stops messages that were claimed before the gate closed; later claims see the gate itself."""
    now = world.clock.now()
    for expired in [known for known, until in world.just_closed.items() if until <= now]:
        del world.just_closed[expired]
    world.just_closed[closing.org_id, closing.name] = Instant(now + JUST)


async def update_breaker(message: ClaimedMessage, route: ProviderRoute, outcome: Outcome, world: World) -> None:
    """Too many provider failures close the breaker's gate; a successful probe opens it."""
    failed = breaker.is_failure(outcome)
    record = world.breakers.setdefault(route.breaker, breaker.RecentAttempts())
    if message.probe is not None and not failed:
        record.clear()
        await _ignore_ledger_errors(world.ledger.gates.open(message.probe))
        world.hints.give([OUTBOX])
    elif record.add(failed, world.clock.now()):
        closing = breaker.closing(message.org_id, route.breaker)
        await _ignore_ledger_errors(world.ledger.gates.close(closing, world.clock.now()))
        remember_closed(closing, world)
        record.clear()


async def release_probe(message: ClaimedMessage, world: World) -> None:
    """A probe that was not sent tested nothing, so the next message may probe at once."""
    if message.probe is not None:
        drawn_at = message.claimed_at
        await _ignore_ledger_errors(world.ledger.gates.probe_again(message.probe, drawn_at, world.clock.now()))
        world.hints.give([OUTBOX])


async def _ignore_ledger_errors(change: Awaitable[object]) -> None:
    """A gate that could not be changed must not keep a message from being settled."""
    with contextlib.suppress(LedgerError):
        await change


async def settle(settlement: Settlement, world: World) -> Settled:
    """Retries until the Ledger has stored the result, so that no outage loses it.

    A settlement that the Ledger keeps rejecting is given up, and the message stays unsure, so that it does not hold a
    slot forever. An accepted message is never given up.
    """
    rejected, pause = 0, PAUSE_AFTER_TROUBLE
    while True:
        try:
            return await world.ledger.outbox.settle(settlement, world.clock.now())
        except LedgerError as error:
            rejected += isinstance(error, Rejected)
            if rejected >= REJECTIONS and not isinstance(settlement.verdict, Accept):
                raise
        await world.clock.sleep(pause)
        pause = Span(min(LONGEST_PAUSE, pause * 2))


class DeliveryWorker:
    """Keeps the send slots of one process filled."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._under_way: dict[tuple[MessageId, Fence], asyncio.Task[Settled]] = {}
        """By attempt, not by message: a very late attempt may still run when its message is claimed again."""
        self._slot_freed = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._interrupted: set[MessageId] = set()
        self._stopping = False
        self._lost_a_claim = False
        self.trouble: str | None = "nothing was claimed yet"
        """Why nothing can be claimed at the moment, or None."""
        self._after = 0
        self._opening: list[Instant | None] = []
        """When the gates open that stopped claims since the last pause."""

    async def run(self) -> None:
        self._at_rest.clear()
        try:
            with self._world.hints.listen(OUTBOX) as listener:
                while not self._stopping:
                    await self._claim_or_pause(listener)
        finally:
            self._at_rest.set()

    async def _claim_or_pause(self, listener: Listener) -> None:
        try:
            await self._claim_and_send(listener)
        except LedgerError as error:
            self._world.meters.ledger_failed(error)
            # The claim may be committed although its answer was lost.
            if not isinstance(error, Busy):
                self._lost_a_claim = True
                self.trouble = str(error)
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _claim_and_send(self, listener: Listener) -> None:
        if self._lost_a_claim:
            await self._hand_back()
        slots, most = self._world.tuning.slots, self._world.tuning.batch
        free = slots - len(self._under_way)
        wanted = min(free, most)
        if free < max(1, min(slots // 4, most)):  # claiming for every single slot would cost too much
            self._slot_freed.clear()
            await self._slot_freed.wait()
            return
        await self._world.numbers.all()
        await self._world.policies.refresh()
        burst = self._world.tuning.pair_burst
        demand = Demand(owner=self._world.worker, slots=wanted, after=self._after, pair_burst=burst)
        now = await self._world.clock.trusted()
        batch = await self._world.ledger.outbox.claim(demand, now)
        self._world.claims_took.append(Span(max(0, self._world.clock.now() - now)))
        self._after = batch.after
        self.trouble = None
        if batch.claimed and self._stopping:
            await self._hand_back()
            return
        for message in batch.claimed:
            self._send(message)
        self._opening.append(batch.opens_at)
        if not batch.more and not self._stopping:
            opening, self._opening = self._opening, []
            await listener.wait(await self._until_next(opening))

    def _send(self, message: ClaimedMessage) -> None:
        task = asyncio.ensure_future(deliver(message, self._world))
        self._under_way[message.id, message.fence] = task
        task.add_done_callback(lambda done: self._done(message, done))

    def _done(self, message: ClaimedMessage, task: asyncio.Task[Settled]) -> None:
        del self._under_way[message.id, message.fence]
        self._slot_freed.set()
        if task.cancelled():
            self._interrupted.add(message.id)  # it may have been sent: never hand it back as unsent
        elif (bug := task.exception()) is not None:
            self._interrupted.add(message.id)
            context = {"message": f"message {message.id} could not be delivered", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _until_next(self, opening: Sequence[Instant | None]) -> Span:
        asked_at = self._world.clock.now()
        due_at = await self._world.ledger.lookup.next_due()
        poll, now = self._world.tuning.poll, self._world.clock.now()
        self._world.reads_took.append(Span(max(0, now - asked_at)))
        return Span(min([poll, *(max(0, moment - now) for moment in (due_at, *opening) if moment is not None)]))

    async def _hand_back(self) -> None:
        world = self._world
        holding = [*(message_id for message_id, _ in self._under_way), *self._interrupted]
        await world.ledger.outbox.hand_back(world.worker, holding, world.clock.now())
        self._lost_a_claim = False

    async def stop(self, patience: Span) -> int:
        """Claims nothing more and waits for the running sends; returns how many were left unsettled."""
        self._stopping = True
        self._slot_freed.set()
        self._world.hints.give([OUTBOX])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(as_seconds(patience)):
                await self._at_rest.wait()
                while self._under_way:
                    self._slot_freed.clear()
                    await self._slot_freed.wait()
        left = list(self._under_way.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return len(left)
