"""Claim a batch, hand each message to the provider, settle what became of it. No transaction is open meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence

from waypost.flow import marketing
from waypost.flow.channels import LINES, Line
from waypost.flow.policies import keep_quiet
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.gate import Closing
from waypost.model.ids import Fence, MessageId
from waypost.model.message import Claimed
from waypost.model.outcome import Outcome, Unreached, Unsure
from waypost.model.outcome import Rejected as Refused
from waypost.model.time import Instant, Span, as_seconds, seconds
from waypost.ports.failure import Busy, LedgerError, Rejected
from waypost.ports.hints import OUTBOX, Ear, about_message
from waypost.ports.outbox import Demand, Settled, Settlement
from waypost.rules import breaker, gates
from waypost.rules.catalogue import Catalogue
from waypost.rules.clearance import clear
from waypost.rules.delivery import Accept, Defer, StandBack, Verdict
from waypost.rules.pacing import HORIZON
from waypost.rules.retry import SHORT, judge

JUST: Span = seconds(1)
REJECTIONS = 5
LONGEST_PAUSE: Span = seconds(30)


async def deliver(message: Claimed, world: World) -> Settled:
    """One message from its claim to its settle."""
    await wait_for_its_turn(message, world)
    line = await LINES[message.channel](message, world)
    verdict = await try_to_send(message, line, world)
    settled = await settle(Settlement(message=message, verdict=verdict), world)
    topics = [about_message(message.id)]
    world.hints.give([*topics, OUTBOX] if settled.promoted else topics)
    return settled


async def try_to_send(message: Claimed, line: Line | Verdict, world: World) -> Verdict:
    """Unless a rule says no at the last moment."""
    if isinstance(line, Line):
        stopped = stop(message, line, world) or await marketing.stop(message, line.account, world)
        if stopped is None:
            return await call_provider(message, line, world)
    else:
        stopped = line
    await pass_the_probe_on(message, world)
    return stopped


def stop(message: Claimed, line: Line, world: World) -> Verdict | None:
    return (
        clear(message, world.clock.now(), enforce_window=world.tuning.enforce_window)
        or keep_quiet(message, world)
        or stay_behind(message, line, world)
    )


async def wait_for_its_turn(message: Claimed, world: World) -> None:
    """A number's pace is drawn a little ahead; each message then starts at its own moment."""
    ahead = min(message.start_at - world.clock.now(), HORIZON)  # a clock that is set back must not hold it for hours
    if ahead > 0:
        await world.clock.sleep(Span(ahead))


def stay_behind(message: Claimed, line: Line, world: World) -> Verdict | None:
    """A gate that this process closed after the message was claimed stops it all the same."""
    if not world.just_closed:
        return None
    now = world.clock.now()
    names = [
        line.breaker,
        gates.of_number(message.sender),
        gates.of_account(line.account),
        gates.of_template(line.account, message.template or ""),
    ]
    until = max(world.just_closed.get((message.org_id, name), now) for name in names)
    return Defer(until, "throttle", "what it would go through was closed a moment ago") if now < until else None


async def call_provider(message: Claimed, line: Line, world: World) -> Verdict:
    outcome = await line.send()
    await watch_the_breaker(message, line, outcome, world)
    catalogue = world.catalogues[line.catalogue]
    tell_the_operator(outcome, catalogue, world)
    now, dice = world.clock.now(), world.dice.unit()
    backoff = world.policies.known(message.org_id).backoff if message.conversation_id is None else SHORT
    verdict = judge(outcome, message, line.account, catalogue, backoff, now, dice)
    if isinstance(verdict, StandBack) and verdict.closing.pair is None:
        remember_closed(verdict.closing, world)
    return verdict


def tell_the_operator(outcome: Outcome, catalogue: Catalogue, world: World) -> None:
    if isinstance(outcome, Unreached | Unsure):
        world.meters.provider_unreachable(outcome.reason, world.clock.now())
    if isinstance(outcome, Refused) and catalogue.find(outcome.code) is None:
        world.meters.unknown_code(outcome.code)


def remember_closed(closing: Closing, world: World) -> None:
    """For what was claimed before the gate was closed; later claims see the gate itself."""
    now = world.clock.now()
    for passed in [known for known, until in world.just_closed.items() if until <= now]:
        del world.just_closed[passed]
    world.just_closed[closing.org_id, closing.name] = Instant(now + JUST)


async def watch_the_breaker(message: Claimed, line: Line, outcome: Outcome, world: World) -> None:
    """Too many failures of the provider itself close the gate to it; a probe that succeeds opens it."""
    failed = breaker.is_failure(outcome)
    record = world.breakers.setdefault(line.breaker, breaker.Record())
    if message.probe is not None and not failed:
        record.clear()
        await _whatever_comes(world.ledger.gates.open(message.probe))
        world.hints.give([OUTBOX])
    elif record.add(failed, world.clock.now()):
        closing = breaker.closing(message.org_id, line.breaker)
        await _whatever_comes(world.ledger.gates.close(closing, world.clock.now()))
        remember_closed(closing, world)
        record.clear()


async def pass_the_probe_on(message: Claimed, world: World) -> None:
    """What never went to the provider found nothing out about it: the next message may, at once."""
    if message.probe is not None:
        drawn_at = message.claimed_at
        await _whatever_comes(world.ledger.gates.probe_again(message.probe, drawn_at, world.clock.now()))
        world.hints.give([OUTBOX])


async def _whatever_comes(change: Awaitable[object]) -> None:
    """A gate is only a help: that it could not be moved must not keep a message from being settled."""
    with contextlib.suppress(LedgerError):
        await change


async def settle(settlement: Settlement, world: World) -> Settled:
    """Until the Ledger has it: what the provider told us must not be lost to an outage, however long.

    What the Ledger cannot write at all is given up, and stays unsure: it must not hold a slot for ever. But that the
    provider has the message is never given up.
    """
    rejected, pause = 0, PAUSE_AFTER_TROUBLE
    while True:
        try:
            return await world.ledger.outbox.settle(settlement, world.clock.now())
        except LedgerError as trouble:
            rejected += isinstance(trouble, Rejected)
            if rejected >= REJECTIONS and not isinstance(settlement.verdict, Accept):
                raise
        await world.clock.sleep(pause)
        pause = Span(min(LONGEST_PAUSE, pause * 2))


class Courier:
    """Keeps the slots of one process filled, for as long as there is anything to send."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._under_way: dict[tuple[MessageId, Fence], asyncio.Task[Settled]] = {}
        """By try, not by message: a very late one may still be under way when its message is claimed again."""
        self._slot_freed = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._broken_off: set[MessageId] = set()
        self._stopping = False
        self._lost_a_claim = False
        self.trouble: str | None = "not looked at yet"
        """Why nothing can be claimed just now."""
        self._after = 0
        self._opening: list[Instant | None] = []
        """When gates open that claims met since the last pause."""

    async def run(self) -> None:
        self._at_rest.clear()
        try:
            with self._world.hints.listen(OUTBOX) as ear:
                while not self._stopping:
                    await self._turn_or_pause(ear)
        finally:
            self._at_rest.set()

    async def _turn_or_pause(self, ear: Ear) -> None:
        try:
            await self._turn(ear)
        except LedgerError as trouble:
            self._world.meters.ledger_failed(trouble)
            # A claim that was lost on the way back is ours without our knowing of it.
            if not isinstance(trouble, Busy):
                self._lost_a_claim = True
                self.trouble = str(trouble)
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _turn(self, ear: Ear) -> None:
        if self._lost_a_claim:
            await self._hand_back()
        slots, most = self._world.tuning.slots, self._world.tuning.batch
        free = slots - len(self._under_way)
        wanted = min(free, most)
        if free < max(1, min(slots // 4, most)):  # a claim for every single slot would cost more than it brings
            self._slot_freed.clear()
            await self._slot_freed.wait()
            return
        await self._world.numbers.all()
        await self._world.policies.refresh()
        burst = self._world.tuning.pair_burst
        demand = Demand(owner=self._world.worker, slots=wanted, after=self._after, pair_burst=burst)
        batch = await self._world.ledger.outbox.claim(demand, self._world.clock.now())
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
            await ear.wait(await self._until_next(opening))

    def _send(self, message: Claimed) -> None:
        task = asyncio.ensure_future(deliver(message, self._world))
        self._under_way[message.id, message.fence] = task
        task.add_done_callback(lambda done: self._done(message, done))

    def _done(self, message: Claimed, task: asyncio.Task[Settled]) -> None:
        del self._under_way[message.id, message.fence]
        self._slot_freed.set()
        if task.cancelled():
            self._broken_off.add(message.id)  # it may have been sent: never hand it back as untried
        elif (bug := task.exception()) is not None:
            self._broken_off.add(message.id)
            context = {"message": f"message {message.id} could not be delivered", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _until_next(self, opening: Sequence[Instant | None]) -> Span:
        due_at = await self._world.ledger.lookup.next_due()
        poll, now = self._world.tuning.poll, self._world.clock.now()
        return Span(min([poll, *(max(0, moment - now) for moment in (due_at, *opening) if moment is not None)]))

    async def _hand_back(self) -> None:
        world = self._world
        holding = [*(message_id for message_id, _ in self._under_way), *self._broken_off]
        await world.ledger.outbox.hand_back(world.worker, holding, world.clock.now())
        self._lost_a_claim = False

    async def stop(self, patience: Span) -> int:
        """Take nothing new, wait for what is under way; returns how many had to be left unsettled."""
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
