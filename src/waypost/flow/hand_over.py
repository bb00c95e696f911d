"""What was said is handed over to the Log a moment later, behind the feeds; later still its body goes from the Ledger.

A crash or doubled work at any point is harmless: the Log takes everything again, and only what it has confirmed counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from waypost.flow.read_behind import ReadBehind
from waypost.flow.world import World
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId
from waypost.model.log import Waiting
from waypost.model.reading import Reader, Standing
from waypost.model.time import Instant, Span, hours, minutes, seconds
from waypost.ports.failure import LedgerError, LogAway, Rejected, Unavailable
from waypost.ports.hand_over import Told
from waypost.ports.ledger import Ledger
from waypost.rules import hand_over as rule
from waypost.rules import reading

log = structlog.get_logger("hand_over")

AT_ONCE = 500
"""Items that are handed over together."""
MOVED_AT_ONCE = 500
EMPTY_AT_ONCE = 20
"""Stretches of feeds in one transaction, so that nobody waits for it."""
LONGEST_REST: Span = minutes(1)
PAUSE_WHEN_AWAY: Span = seconds(1)
LOOK_EVERY: Span = seconds(5)
LOOK_FOR_NO_LOG_EVERY: Span = hours(1)
FEEDS_ASKED = 1_000
TALKS_ASKED = 500
SHARES = (0.0, 0.3, 0.6, 0.9)
"""Of the length of a conversation: where it is looked for a body that has left."""


def handing_over(world: World) -> ReadBehind:
    """The step of one worker; any number of them may run."""

    async def hand_on(behind: Sequence[Standing]) -> Sequence[Standing]:
        return await hand_over(behind, world)

    return ReadBehind(Reader.LOG, hand_on, world, at_rest=lambda: world.meters.log_waits(0, 0.0))


async def hand_over(behind: Sequence[Standing], world: World) -> Sequence[Standing]:
    """The next items of these feeds: to the Log first, then confirmed in the Ledger. Returns what is left."""
    ledger, stretches = world.ledger.hand_over, reading.stretches(behind, AT_ONCE)
    told = await ledger.told(stretches)
    _measure(behind, told, world)
    try:
        handed = await deliver(told, world)
    except LogAway as away:
        world.meters.log_failed(str(away.__cause__ or away))
        if isinstance(away.__cause__, Rejected):
            return await _each_alone(behind, str(away), world)
        await world.clock.sleep(PAUSE_WHEN_AWAY)
        raise
    confirmed = await ledger.confirm(stretches, world.clock.now())
    world.meters.handed_over(handed)
    if not confirmed:  # another worker does the same: it is left to it for a while
        await world.clock.sleep(Span(round(PAUSE_WHEN_AWAY * world.dice.unit())))
        return []
    return reading.left(behind, stretches)


async def _each_alone(behind: Sequence[Standing], why: str, world: World) -> Sequence[Standing]:
    """What the Log cannot keep stops its own feed, where it stays in the Ledger, and no other. Nothing is refused for
    its size by a Log that takes 4 MiB: what is longer than `rule.LARGEST_BODY` is never handed over."""
    if len(behind) == 1:
        log.warning("not_handed_over", feed=behind[0].feed, after=behind[0].read, error=why)
        return []
    for one in behind:
        await hand_over([one], world)
    return []


def _measure(behind: Sequence[Standing], told: Sequence[Told], world: World) -> None:
    oldest = min((one.at for one in told), default=world.clock.now())
    age = max(0, world.clock.now() - oldest) / 1_000_000
    world.meters.log_waits(sum(one.head - one.read for one in behind), age)


async def deliver(told: Sequence[Told], world: World) -> int:
    """Everything that these items are about, as it stands now; returns how many messages."""
    await world.policies.refresh()
    handed = await _post([one.waiting for one in told if one.waiting is not None], world)
    for conversation in dict.fromkeys(one.conversation_id for one in told if one.kind == "joined"):
        handed += await _deliver_moved(conversation, world)
    return handed


async def _deliver_moved(conversation: ConversationId, world: World) -> int:
    """Items that were told before name places that are others' now: whatever was moved is handed over once more."""
    after, handed = Position(0), 0
    while moved := await world.ledger.hand_over.moved(conversation, after, MOVED_AT_ONCE):
        handed += await _post(moved, world)
        after = moved[-1].entry.position
    return handed


async def _post(waiting: Sequence[Waiting], world: World) -> int:
    def kept_for(org: OrgId) -> Span | None:
        return world.policies.known(org).log_kept

    parcel = rule.parcel(waiting, kept_for, world.clock.now())
    try:
        if parcel.lines:
            await world.log.append(parcel.lines)
        await asyncio.gather(*(world.log.erase(spots, at) for at, spots in parcel.erased.items()))
        if parcel.marks:
            await world.log.settle(parcel.marks)
    except LedgerError as failure:
        raise LogAway(f"the Log does not answer: {failure}") from failure
    if parcel.too_large:
        log.warning("too_large_for_the_log", messages=parcel.too_large, what="they stay in the database")
        world.meters.kept_back(parcel.too_large)
    return len(parcel.lines)


async def only_in_a_log(ledger: Ledger) -> list[Waiting]:
    """Some of the messages whose bodies have left, of the first and the latest conversations; where nothing was ever
    handed over, one look says so."""
    if not any(one.read for one in await ledger.behind.standing(Reader.LOG, "", FEEDS_ASKED)):
        return []
    newest = await ledger.detector.newest_conversation()
    found: dict[ConversationId, Waiting] = {}
    for after in {0, max(0, newest - TALKS_ASKED)}:
        for share in SHARES:
            away = await ledger.hand_over.away(ConversationId(after), ConversationId(after + TALKS_ASKED), share)
            found |= {one.entry.conversation_id: one for one in away}
    return list(found.values())


async def look_for_no_log(world: World) -> None:
    """Of a server whose settings name no Log, on a database that has handed over to one."""
    if away := await only_in_a_log(world.ledger):
        log.warning(
            "log_not_named",
            conversations=len(away),
            what="the bodies of messages are in a Log, and WAYPOST_LOG_URL names none: name it, and restart",
        )


async def look_at_log(world: World) -> None:
    """Whether it answers, also where nobody says or reads anything: whoever looks after it hears at once that it does
    not, and why."""
    try:
        await world.log.ping()
    except LedgerError as failure:
        lasting = not isinstance(failure, Unavailable)
        world.meters.log_answers(str(failure) or type(failure).__name__, lasting=lasting)
    else:
        world.meters.log_answers()


def empty_every(world: World) -> Span:
    """Often enough that a body stays hardly longer than it should."""
    return Span(min(LONGEST_REST, max(seconds(1), world.tuning.log_grace // 4)))


async def empty_bodies(world: World) -> int:
    """Bodies that the Log has had for long enough go from the Ledger, in bites."""
    now, emptied, more = world.clock.now(), 0, True
    before, again = Instant(now - world.tuning.log_grace), now
    while more:
        done = await world.ledger.hand_over.empty(before, EMPTY_AT_ONCE, again, spare_waiting=world.tuning.answering)
        emptied, more = emptied + done.bodies, done.more
        world.meters.bodies_emptied(done.bodies)
        await world.clock.sleep(Span(0))
    return emptied
