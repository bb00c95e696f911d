"""Claims a due turn, asks the bot to answer the whole burst, and commits the reply with the end of the turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from waypost.flow import claim_age
from waypost.flow.conversations import archived_bodies
from waypost.flow.sending import read_receipts
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.conversation import BOT, CONTACT, Conversation, ConversationId, Entry, TurnClaim, TurnTiming
from waypost.model.ids import OrgId
from waypost.model.message import Draft
from waypost.model.time import Span, as_seconds, seconds
from waypost.model.turn import Answer, Turn
from waypost.ports.conversations.bot import Bot, BotFailed
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted, TurnDemand
from waypost.ports.platform.failure import HistoryUnavailable, LedgerError, Rejected
from waypost.ports.platform.hints import OUTBOX, TURNS, Listener
from waypost.rules.conversations import bot_answers, bot_context, customers, reply_draft, reply_keys
from waypost.rules.conversations.turn_state import LeaseLost, is_worn_out
from waypost.rules.receiving import consent_words
from waypost.rules.receiving.inbound import SYSTEM_TYPES, WITH_FILE
from waypost.rules.text.redact import redact

SHOW_TYPING_AFTER: Span = seconds(0.5)
"""A bot that answers faster shows no typing indicator."""
SHOW_TYPING_EVERY: Span = seconds(20)
"""WhatsApp hides the indicator after 25 s."""
SHORTEST_REST: Span = seconds(0.005)


async def converse(claim: TurnClaim, bot: Bot, world: World) -> None:
    """One turn from its claim to its end."""
    times = world.policies.known(claim.turn_state.org_id).turns
    try:
        if is_worn_out(claim.turn_state, times):
            raise BotFailed("several workers stopped while running this turn", hopeless=True)
        turn = await read_turn(claim, bot, world)
        if await is_lost(claim, times, world):
            return
        answer = await ask_bot(turn, claim, bot, times, world)
        await end(claim, bot_answers.parse_answer(answer), world)
    except BotFailed as failed:
        await fail(claim, failed, times, world)
    except LedgerError:
        raise
    except Exception as bug:  # a bug of ours: do not leave the customer waiting for lease after lease
        await fail(claim, BotFailed(f"{type(bug).__name__}: {bug}"), times, world)
        raise


async def is_lost(claim: TurnClaim, times: TurnTiming, world: World) -> bool:
    """Asks the Ledger about an old claim: while this process stood still, another may have taken the turn over."""
    state = claim.turn_state
    if state.claimed_at is None or not await claim_age.is_old(state.claimed_at, times.lease, world):
        return False
    held = [(state.conversation_id, state.fence, times.lease)]
    return state.conversation_id not in await world.ledger.turn_queue.renew(held, world.clock.now())


async def end(claim: TurnClaim, understood: bot_answers.Understood, world: World) -> None:
    match understood:
        case bot_answers.InvalidAnswer(reason):
            raise BotFailed(f"the bot's answer cannot be sent: {reason}")
        case bot_answers.Replies(payloads):
            await commit(claim, TurnAnswer(drafts=drafts(claim, payloads)), world)
        case bot_answers.HandoverRequested(reason):
            await commit(claim, TurnAnswer(hand_over=reason), world)
        case bot_answers.Silence():
            await commit(claim, TurnAnswer(), world)


async def read_turn(claim: TurnClaim, bot: Bot, world: World) -> Turn:
    """Retries until the Ledger answers; the task is cancelled if the turn is lost meanwhile."""
    while True:
        try:
            return await build_turn(claim, bot, world)
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)


async def build_turn(claim: TurnClaim, bot: Bot, world: World) -> Turn:
    """The bot's input: the burst, earlier messages and the customer."""
    state, conversation = claim.turn_state, claim.conversation
    words = world.policies.known(state.org_id).consent_words
    earlier: Sequence[Entry] = []
    burst = await archived_bodies.load_bodies(claim.burst, world.history)
    written = [entry for entry in burst if entry.sender == CONTACT and entry.type not in SYSTEM_TYPES]
    if bot.history:
        first = written[0].position if written else state.tail
        earlier = await _recent(await world.ledger.turn_queue.history(state.conversation_id, first, bot.history), world)
    files = await with_files([*earlier, *burst], conversation, world) if bot.thinks else {}
    return Turn(
        id=claim.turn_id,
        org_id=state.org_id,
        conversation_id=str(state.conversation_id),
        number=conversation.number,
        contact=customers.customer(conversation, claim.contact),
        messages=[
            line
            for line in bot_context.burst(written, files)
            if consent_words.consent_in_message(line.content, words) is None  # STOP and START have their own replies
        ],
        history=bot_context.history(earlier, written, files),
        attempt=state.tries + 1,
    )


async def _recent(earlier: Sequence[Entry], world: World) -> Sequence[Entry]:
    """If the history store does not answer, only the latest entries: the customer does not wait for history."""
    try:
        return await archived_bodies.load_bodies(earlier, world.history)
    except HistoryUnavailable:
        return archived_bodies.entries_before_gap(earlier[::-1])[::-1]


async def with_files(entries: Sequence[Entry], conversation: Conversation, world: World) -> dict[int, str]:
    """Maps positions to the ids of the files that came with these messages."""
    positions = [entry.position for entry in entries if entry.type in WITH_FILE]
    if not positions:
        return {}
    found = await world.ledger.files.between(conversation.org_id, conversation.id, min(positions), max(positions))
    return {file.position: str(file.id) for file in found}


async def ask_bot(turn: Turn, claim: TurnClaim, bot: Bot, times: TurnTiming, world: World) -> Answer:
    """The answer within the time limit; any exception of the bot becomes a BotFailed."""
    if not turn.messages:
        return None  # all messages were deleted
    async with typing(claim, world) if bot.thinks else contextlib.nullcontext():
        thinking = asyncio.ensure_future(bot.answer(turn))
        thinking.add_done_callback(lambda done: done.cancelled() or done.exception())  # mark its exception as retrieved
        try:
            await asyncio.wait({thinking}, timeout=as_seconds(times.limit))
        finally:
            thinking.cancel()  # not awaited: a bot that ignores this must not keep its turn
    return _answer_of(thinking, times)


def _answer_of(thinking: asyncio.Future[Answer], times: TurnTiming) -> Answer:
    if not thinking.done():
        raise BotFailed(f"no answer within {as_seconds(times.limit):g} s")
    try:
        return thinking.result()
    except BotFailed:
        raise
    except asyncio.CancelledError:
        raise BotFailed("the bot cancelled its own answer") from None
    except Exception as bug:
        raise BotFailed(f"{type(bug).__name__}: {redact(str(bug))}") from bug


@contextlib.asynccontextmanager
async def typing(claim: TurnClaim, world: World) -> Any:
    """Marks the message as read and shows the typing indicator until the bot has answered."""
    answered = asyncio.Event()
    showing = asyncio.ensure_future(_show_typing(claim, answered, world))
    showing.add_done_callback(
        lambda done: done.cancelled() or done.exception()
    )  # a typing indicator that fails is ignored
    try:
        yield
    finally:
        answered.set()
        showing.cancel()  # not awaited: a call that ignores this must not delay the answer


async def _show_typing(claim: TurnClaim, answered: asyncio.Event, world: World) -> None:
    latest = next((entry.wamid for entry in reversed(claim.burst) if entry.wamid), None)
    number = await world.numbers.find(claim.conversation.number)
    if latest is None or number is None:
        return
    await world.clock.sleep(SHOW_TYPING_AFTER)
    while not answered.is_set():
        await read_receipts.mark_read(number, latest, True, world)
        await world.clock.sleep(SHOW_TYPING_EVERY)


def drafts(claim: TurnClaim, payloads: Sequence[dict[str, Any]]) -> tuple[Draft, ...]:
    """The replies in order; each has an idempotency key that only this turn can produce."""
    return tuple(_draft(claim, payload, reply_keys.key(claim.turn_id, n)) for n, payload in enumerate(payloads, 1))


def _draft(claim: TurnClaim, payload: dict[str, Any], key: str) -> Draft:
    to = claim.conversation
    draft = reply_draft.draft(OrgId(to.org_id), to.number, to.address, payload, key, BOT)
    return replace(draft, conversation_id=to.id)


async def commit(claim: TurnClaim, answered: TurnAnswer, world: World) -> TurnCommitted | LeaseLost:
    """Retries until the Ledger has it or the turn is lost, so that a short outage loses no answer."""
    while True:
        try:
            done = await world.ledger.turn_queue.commit(claim, answered, world.clock.now())
        except Rejected as rejected:
            raise BotFailed(f"the bot's answer cannot be stored: {rejected}", hopeless=True) from rejected
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
            continue
        if isinstance(done, TurnCommitted):
            world.hints.give(_topics(done))
        return done


def _topics(done: TurnCommitted) -> list[str]:
    """Wakes the senders if there are replies, and turn workers if messages came while the bot was thinking."""
    return [*([OUTBOX] if done.replies else []), *([TURNS] if done.turn_state.due_at is not None else [])]


async def fail(claim: TurnClaim, failed: BotFailed, times: TurnTiming, world: World) -> None:
    wait = None if failed.retry_after is None else seconds(min(failed.retry_after, 3600))
    error = bot_answers.storable(redact(failed.reason))
    world.meters.bot_failed(error, claim.turn_state.org_id, claim.turn_id)
    while True:
        try:
            await world.ledger.turn_queue.fail(
                claim, error, times, world.clock.now(), hopeless=failed.hopeless, wait=wait
            )
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)
            continue
        world.hints.give([TURNS])
        return


class TurnWorker:
    """Runs the turns of one process: a bounded number at once, with renewed leases; lost turns are cancelled."""

    def __init__(self, world: World, bot: Bot) -> None:
        self._world = world
        self._bot = bot
        self._under_way: dict[ConversationId, tuple[TurnClaim, asyncio.Task[None]]] = {}
        self._slot_freed = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._stopping = False

    async def run(self) -> None:
        self._at_rest.clear()
        try:
            with self._world.hints.listen(TURNS) as listener:
                while not self._stopping:
                    await self._claim_or_pause(listener)
        finally:
            self._at_rest.set()

    async def _claim_or_pause(self, listener: Listener) -> None:
        try:
            await self._claim(listener)
        except LedgerError:
            await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def _claim(self, listener: Listener) -> None:
        world = self._world
        free = world.tuning.turn_slots - len(self._under_way)
        if free <= 0:
            self._slot_freed.clear()
            await self._slot_freed.wait()
            return
        await world.policies.refresh()
        demand = TurnDemand(world.worker, min(free, world.tuning.batch))
        claims = await world.ledger.turn_queue.claim(demand, self._times_of, await world.clock.trusted())
        for claim in claims:
            self._start(claim)
        if len(claims) < demand.slots:
            await self._rest(listener, found=bool(claims))

    def _times_of(self, org: OrgId) -> TurnTiming:
        return self._world.policies.known(org).turns

    async def _rest(self, listener: Listener, *, found: bool) -> None:
        """Waits until a turn is due. A hint alone is not enough, since messages have a quiet time; a look is cheaper
        than a claim. A due turn that was not found is held by another worker, so this waits a moment.
        """
        pause = await self._until_next()
        if found and not pause:
            return
        while not self._stopping and await listener.wait(max(pause, SHORTEST_REST)):
            pause = await self._until_next()
            if not pause:
                return

    async def _until_next(self) -> Span:
        """Zero if a turn is due."""
        due_at = await self._world.ledger.turn_queue.next_due()
        poll = self._world.tuning.poll
        return poll if due_at is None else Span(min(poll, max(0, due_at - self._world.clock.now())))

    def _start(self, claim: TurnClaim) -> None:
        where = claim.turn_state.conversation_id
        if where in self._under_way:  # our own earlier claim, whose lease has expired
            self._under_way.pop(where)[1].cancel()
        task = asyncio.ensure_future(converse(claim, self._bot, self._world))
        self._under_way[where] = (claim, task)
        task.add_done_callback(lambda done: self._done(claim, done))

    def _done(self, claim: TurnClaim, task: asyncio.Task[None]) -> None:
        held = self._under_way.get(claim.turn_state.conversation_id)
        if held is not None and held[1] is task:
            del self._under_way[claim.turn_state.conversation_id]
        self._slot_freed.set()
        if task.cancelled() or isinstance(task.exception(), LedgerError):
            return  # its lease expires, and then another worker runs the same burst
        if (bug := task.exception()) is not None:
            context = {"message": f"turn {claim.turn_id} could not be ended", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def keep(self) -> None:
        """Renews the leases with one statement; turns that were lost are cancelled."""
        while True:
            await self._world.clock.sleep(self._beat())
            held = [
                (claim.turn_state.conversation_id, claim.turn_state.fence, self._lease(claim))
                for claim in self._claims()
            ]
            try:
                ours = await self._world.ledger.turn_queue.renew(held, self._world.clock.now())
            except LedgerError:
                continue
            for where, fence, _ in held:
                current = self._under_way.get(where)
                if where not in ours and current is not None and current[0].turn_state.fence == fence:
                    current[1].cancel()

    def _claims(self) -> list[TurnClaim]:
        return [claim for claim, _ in self._under_way.values()]

    def _lease(self, claim: TurnClaim) -> Span:
        return self._times_of(claim.turn_state.org_id).lease

    def _beat(self) -> Span:
        """Three times within the shortest lease that any org has set: its next turn may begin at once."""
        return Span(min([self._world.tuning.turns.lease, *self._world.policies.leases()]) // 3)

    async def stop(self, patience: Span) -> None:
        """Claims nothing more, waits for the running turns, and releases the rest for other workers."""
        self._stopping = True
        self._slot_freed.set()
        self._world.hints.give([TURNS])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(as_seconds(patience)):
                await self._at_rest.wait()  # else a claim in progress would wait for its lease to expire
                while self._under_way:
                    self._slot_freed.clear()
                    await self._slot_freed.wait()
        left = list(self._under_way.values())
        for _, task in left:
            task.cancel()
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)
        with contextlib.suppress(LedgerError):
            await self._world.ledger.turn_queue.let_go([claim for claim, _ in left], self._world.clock.now())
        self._world.hints.give([TURNS])
