"""Take a turn that is due, let the bot answer the whole burst, commit the reply together with the end of the turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from waypost.flow import bodies, extras
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.conversation import BOT, CONTACT, Claim, Conversation, ConversationId, Entry, Times
from waypost.model.ids import OrgId
from waypost.model.message import Draft
from waypost.model.time import Span, as_seconds, seconds
from waypost.model.turn import Answer, Turn
from waypost.ports.bot import Bot, BotFailed
from waypost.ports.failure import LedgerError, LogAway, Rejected
from waypost.ports.hints import LANES, OUTBOX, Ear
from waypost.ports.lanes import Answered, Committed, TurnDemand
from waypost.rules import answers, consent_words, customers, replies, reply_keys, telling
from waypost.rules.inbound import NOTICES, WITH_FILE
from waypost.rules.lane import LeaseLost, is_worn_out
from waypost.rules.redact import redact

SHOW_TYPING_AFTER: Span = seconds(0.5)
"""Whoever answers at once needs no sign that somebody types."""
SHOW_TYPING_EVERY: Span = seconds(20)
"""The sign vanishes after 25 s."""
SHORTEST_REST: Span = seconds(0.005)


async def converse(claim: Claim, bot: Bot, world: World) -> None:
    """One turn from its claim to its end."""
    times = world.policies.known(claim.lane.org_id).turns
    try:
        if is_worn_out(claim.lane, times):
            raise BotFailed("worker after worker fell silent over it", hopeless=True)
        turn = await read_turn(claim, bot, world)
        answer = await think(turn, claim, bot, times, world)
        await end(claim, answers.understood(answer), world)
    except BotFailed as failed:
        await fail(claim, failed, times, world)
    except LedgerError:
        raise
    except Exception as bug:  # ours: the customer is not left to one lease after the other
        await fail(claim, BotFailed(f"{type(bug).__name__}: {bug}"), times, world)
        raise


async def end(claim: Claim, understood: answers.Understood, world: World) -> None:
    match understood:
        case answers.Invalid(reason):
            raise BotFailed(f"the bot's answer cannot be sent: {reason}")
        case answers.Replies(payloads):
            await commit(claim, Answered(drafts=drafts(claim, payloads)), world)
        case answers.HandOver(reason):
            await commit(claim, Answered(hand_over=reason), world)
        case answers.Silence():
            await commit(claim, Answered(), world)


async def read_turn(claim: Claim, bot: Bot, world: World) -> Turn:
    """Until the Ledger tells it: who loses the turn meanwhile is cancelled."""
    while True:
        try:
            return telling.capped(await the_turn(claim, bot, world))
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)


async def the_turn(claim: Claim, bot: Bot, world: World) -> Turn:
    """What the bot is asked: the burst as it stands now, what was said before, and who writes."""
    lane, talk = claim.lane, claim.conversation
    words = world.policies.known(lane.org_id).consent_words
    earlier: Sequence[Entry] = []
    burst = await bodies.whole(claim.burst, world.log)
    written = [entry for entry in burst if entry.sender == CONTACT and entry.type not in NOTICES]
    if bot.history:
        first = written[0].position if written else lane.tail
        earlier = await _recent(await world.ledger.lanes.history(lane.conversation_id, first, bot.history), world)
    files = await with_files([*earlier, *burst], talk, world) if bot.thinks else {}
    return Turn(
        id=claim.turn_id,
        org_id=lane.org_id,
        conversation_id=str(lane.conversation_id),
        number=talk.number,
        contact=customers.customer(talk, claim.contact),
        messages=[
            line
            for line in telling.burst(written, files)
            if consent_words.heard_in(line.content, words) is None  # they have their own answer
        ],
        history=telling.history(earlier, written, files),
        attempt=lane.tries + 1,
    )


async def _recent(earlier: Sequence[Entry], world: World) -> Sequence[Entry]:
    """While the Log does not answer, the bot is told what is recent: the customer waits for no history."""
    try:
        return await bodies.whole(earlier, world.log)
    except LogAway:
        return bodies.until_away(earlier[::-1])[::-1]


async def with_files(entries: Sequence[Entry], talk: Conversation, world: World) -> dict[int, str]:
    """Position -> our id of the file that came with the message there."""
    places = [entry.position for entry in entries if entry.type in WITH_FILE]
    if not places:
        return {}
    found = await world.ledger.files.between(talk.org_id, talk.id, min(places), max(places))
    return {file.position: str(file.id) for file in found}


async def think(turn: Turn, claim: Claim, bot: Bot, times: Times, world: World) -> Answer:
    """Within its limit; whatever goes wrong in a bot is the bot's failure."""
    if not turn.messages:
        return None  # everything was taken back
    async with typing(claim, world) if bot.thinks else contextlib.nullcontext():
        thinking = asyncio.ensure_future(bot.answer(turn))
        thinking.add_done_callback(lambda done: done.cancelled() or done.exception())  # who was left says no more
        try:
            await asyncio.wait({thinking}, timeout=as_seconds(times.limit))
        finally:
            thinking.cancel()  # not waited for: one that does not listen must not keep its turn
    return _said(thinking, times)


def _said(thinking: asyncio.Future[Answer], times: Times) -> Answer:
    if not thinking.done():
        raise BotFailed(f"no answer within {as_seconds(times.limit):g} s")
    try:
        return thinking.result()
    except BotFailed:
        raise
    except asyncio.CancelledError:
        raise BotFailed("the bot broke off") from None
    except Exception as bug:
        raise BotFailed(f"{type(bug).__name__}: {redact(str(bug))}") from bug


@contextlib.asynccontextmanager
async def typing(claim: Claim, world: World) -> Any:
    """The customer sees that the message was read and that somebody types, as long as it takes."""
    answered = asyncio.Event()
    showing = asyncio.ensure_future(_show_typing(claim, answered, world))
    showing.add_done_callback(lambda done: done.cancelled() or done.exception())  # a sign not shown is no failure
    try:
        yield
    finally:
        answered.set()
        showing.cancel()  # not waited for: a call that overhears this must not keep the answer


async def _show_typing(claim: Claim, answered: asyncio.Event, world: World) -> None:
    latest = next((entry.wamid for entry in reversed(claim.burst) if entry.wamid), None)
    number = await world.numbers.find(claim.conversation.number)
    if latest is None or number is None:
        return
    await world.clock.sleep(SHOW_TYPING_AFTER)
    while not answered.is_set():
        await extras.mark_read(number, latest, True, world)
        await world.clock.sleep(SHOW_TYPING_EVERY)


def drafts(claim: Claim, payloads: Sequence[dict[str, Any]]) -> tuple[Draft, ...]:
    """In their order, by a queue; each has a key that only this turn can make."""
    return tuple(_draft(claim, payload, reply_keys.key(claim.turn_id, n)) for n, payload in enumerate(payloads, 1))


def _draft(claim: Claim, payload: dict[str, Any], key: str) -> Draft:
    talk = claim.conversation
    draft = replies.draft(OrgId(talk.org_id), talk.number, talk.address, payload, key, BOT)
    return replace(draft, conversation_id=talk.id)


async def commit(claim: Claim, answered: Answered, world: World) -> Committed | LeaseLost:
    """Until the Ledger has it, or somebody else has the turn: an answer must not be lost to a short outage."""
    while True:
        try:
            done = await world.ledger.lanes.commit(claim, answered, world.clock.now())
        except Rejected as rejected:
            raise BotFailed(f"the bot's answer cannot be stored: {rejected}", hopeless=True) from rejected
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
            continue
        if isinstance(done, Committed):
            world.hints.give(_topics(done))
        return done


def _topics(done: Committed) -> list[str]:
    """Replies are to be sent; and what came while the bot was thinking is somebody's next turn."""
    return [*([OUTBOX] if done.replies else []), *([LANES] if done.lane.due_at is not None else [])]


async def fail(claim: Claim, failed: BotFailed, times: Times, world: World) -> None:
    wait = None if failed.retry_after is None else seconds(min(failed.retry_after, 3600))
    error = answers.storable(redact(failed.reason))
    world.meters.bot_failed(error, claim.lane.org_id, claim.turn_id)
    while True:
        try:
            await world.ledger.lanes.fail(claim, error, times, world.clock.now(), hopeless=failed.hopeless, wait=wait)
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
            continue
        world.hints.give([LANES])
        return


class Converser:
    """Keeps turns going in one process: bounded at once, leases renewed, lost ones let go."""

    def __init__(self, world: World, bot: Bot) -> None:
        self._world = world
        self._bot = bot
        self._under_way: dict[ConversationId, tuple[Claim, asyncio.Task[None]]] = {}
        self._slot_freed = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._stopping = False

    async def run(self) -> None:
        self._at_rest.clear()
        try:
            with self._world.hints.listen(LANES) as ear:
                while not self._stopping:
                    await self._take_or_pause(ear)
        finally:
            self._at_rest.set()

    async def _take_or_pause(self, ear: Ear) -> None:
        try:
            await self._take(ear)
        except LedgerError:
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _take(self, ear: Ear) -> None:
        world = self._world
        free = world.tuning.turn_slots - len(self._under_way)
        if free <= 0:
            self._slot_freed.clear()
            await self._slot_freed.wait()
            return
        await world.policies.refresh()
        demand = TurnDemand(world.worker, min(free, world.tuning.batch))
        claims = await world.ledger.lanes.claim(demand, self._times_of, world.clock.now())
        for claim in claims:
            self._start(claim)
        if len(claims) < demand.slots:
            await self._rest(ear, found=bool(claims))

    def _times_of(self, org: OrgId) -> Times:
        return self._world.policies.known(org).turns

    async def _rest(self, ear: Ear, *, found: bool) -> None:
        """Until a turn is due. A hint is no turn yet: each message has its quiet time. Looking is less than a claim.

        What is due and was not found just now is in another worker's hands: it is given a moment.
        """
        pause = await self._until_next()
        if found and not pause:
            return
        while not self._stopping and await ear.wait(max(pause, SHORTEST_REST)):
            pause = await self._until_next()
            if not pause:
                return

    async def _until_next(self) -> Span:
        """Zero when a turn is due."""
        due_at = await self._world.ledger.lanes.next_due()
        poll = self._world.tuning.poll
        return poll if due_at is None else Span(min(poll, max(0, due_at - self._world.clock.now())))

    def _start(self, claim: Claim) -> None:
        where = claim.lane.conversation_id
        if where in self._under_way:  # our own, from before we fell silent: it has lost the turn
            self._under_way.pop(where)[1].cancel()
        task = asyncio.ensure_future(converse(claim, self._bot, self._world))
        self._under_way[where] = (claim, task)
        task.add_done_callback(lambda done: self._done(claim, done))

    def _done(self, claim: Claim, task: asyncio.Task[None]) -> None:
        held = self._under_way.get(claim.lane.conversation_id)
        if held is not None and held[1] is task:
            del self._under_way[claim.lane.conversation_id]
        self._slot_freed.set()
        if task.cancelled() or isinstance(task.exception(), LedgerError):
            return  # nobody renews it: whoever finds the lease ended runs the same burst
        if (bug := task.exception()) is not None:
            context = {"message": f"turn {claim.turn_id} could not be ended", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def keep(self) -> None:
        """Renew what is held, by one statement; whatever is no longer ours stops thinking."""
        while True:
            await self._world.clock.sleep(self._beat())
            held = [(claim.lane.conversation_id, claim.lane.fence, self._lease(claim)) for claim in self._claims()]
            try:
                ours = await self._world.ledger.lanes.renew(held, self._world.clock.now())
            except LedgerError:
                continue
            for where, fence, _ in held:
                current = self._under_way.get(where)
                if where not in ours and current is not None and current[0].lane.fence == fence:
                    current[1].cancel()

    def _claims(self) -> list[Claim]:
        return [claim for claim, _ in self._under_way.values()]

    def _lease(self, claim: Claim) -> Span:
        return self._times_of(claim.lane.org_id).lease

    def _beat(self) -> Span:
        """Three times within the shortest lease that any org has set: its next turn may begin at once."""
        return Span(min([self._world.tuning.turns.lease, *self._world.policies.leases()]) // 3)

    async def stop(self, patience: Span) -> None:
        """Take nothing new, let what is under way end, give the rest back for others to answer."""
        self._stopping = True
        self._slot_freed.set()
        self._world.hints.give([LANES])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(as_seconds(patience)):
                await self._at_rest.wait()  # a claim that is on its way would be left to its lease
                while self._under_way:
                    self._slot_freed.clear()
                    await self._slot_freed.wait()
        left = list(self._under_way.values())
        for _, task in left:
            task.cancel()
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)
        with contextlib.suppress(LedgerError):
            await self._world.ledger.lanes.let_go([claim for claim, _ in left], self._world.clock.now())
        self._world.hints.give([LANES])
