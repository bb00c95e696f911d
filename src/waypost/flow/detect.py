"""The loss detector: every minute a look at live data for what must never be, told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from waypost.flow.world import Tuning, World
from waypost.model.conversation import ConversationId, Entry
from waypost.model.time import Instant, Span, minutes
from waypost.ports.detector import Finding, Invariant, Late, Look, TalkLook
from waypost.ports.failure import LedgerError
from waypost.rules.hand_over import has_expired
from waypost.rules.pacing import Permit

LOOK_EVERY: Span = minutes(1)
RECENT = 2_000
"""The newest messages, looked at every time."""
PAGE = 5_000
"""Of all the others, so many at a time, round and round."""
MOST = 20
QUOTAS = 5_000
REMEMBERED = 10_000
STALE_TIMES = 3
"""Three times the stale limit: by then the sweep has long come by."""
WINDOWS_SINCE: Span = minutes(10)
CLOCK_SLACK: Span = minutes(1)


TALKS = 1_000
"""Conversations at a time: the newest, and then the others, round and round."""
LATEST = 100
FEEDS = 500
OVERDUE: Span = minutes(5)
"""Beyond what a customer may wait: by then a busy worker has come round, too."""
ARRIVED_SINCE: Span = minutes(10)


@dataclass
class Memory:
    """What one process has seen so far."""

    walked: int = 0
    talked: int = 0
    fed: str = ""
    asked_for: int = 0
    late: frozenset[Late] = frozenset()
    told: dict[Finding, None] = field(default_factory=dict)
    quotas: dict[str, Permit] = field(default_factory=dict)


async def detect(world: World, memory: Memory) -> list[Finding]:
    """Look at what is newest and at the next page of what is older; returns what was not told before."""
    found = await of_messages(world, memory)
    found += await of_conversations(world, memory)
    found += await of_feeds(world, memory)
    found += await of_bodies(world, memory)
    found += await of_late_turns(world, memory)
    found += overdrawn(memory.quotas, await world.ledger.detector.quotas(QUOTAS))
    fresh = [finding for finding in dict.fromkeys(found) if finding not in memory.told]
    for finding in fresh:
        world.meters.violated(finding.invariant.value, finding.subject)
    _remember(memory, fresh)
    await world.ledger.operating.looked_for_losses(world.clock.now())
    return fresh


async def of_messages(world: World, memory: Memory) -> list[Finding]:
    newest = await world.ledger.detector.newest()
    found = list(await look(world, newest - RECENT, newest))
    older = newest - RECENT
    if older > 0:
        after = memory.walked if memory.walked < older else 0
        memory.walked = min(after + PAGE, older)
        found += await look(world, after, memory.walked)
    return found


async def of_conversations(world: World, memory: Memory) -> list[Finding]:
    detector, now = world.ledger.detector, world.clock.now()
    newest = await detector.newest_conversation()
    found = list(await detector.talks(wanted_talks(now, newest - TALKS, newest)))
    older = newest - TALKS
    if older > 0:
        after = memory.talked if memory.talked < older else 0
        memory.talked = min(after + TALKS, older)
        found += await detector.talks(wanted_talks(now, after, memory.talked))
    return found


def wanted_talks(now: Instant, after: int, upto: int) -> TalkLook:
    since = Instant(now - ARRIVED_SINCE)
    return TalkLook(after=max(0, after), upto=upto, latest=LATEST, arrived_since=since, most=MOST)


async def of_feeds(world: World, memory: Memory) -> Sequence[Finding]:
    found, further = await world.ledger.detector.feeds(memory.fed, FEEDS, LATEST)
    memory.fed = further or ""
    return found


async def of_bodies(world: World, memory: Memory) -> list[Finding]:
    """One message of each of the next conversations, another each time, whose body is only in the Log: is it?"""
    if not world.log_apart:
        return []
    newest = await world.ledger.detector.newest_conversation()
    after = memory.asked_for if memory.asked_for < newest else 0
    memory.asked_for = min(after + TALKS, newest)
    away = await _away(ConversationId(after), ConversationId(memory.asked_for), world)
    try:
        kept = {(one.spot.conversation_id, one.spot.id_at) for one in await world.log.some([e.spot for e in away])}
    except LedgerError:
        return []  # it is away, which is nothing that must never be
    missing = [one for one in away if (one.spot.conversation_id, one.spot.id_at) not in kept]
    return [Finding(Invariant.BODY_LOST, f"conversation {one.conversation_id}") for one in missing]


async def _away(after: ConversationId, upto: ConversationId, world: World) -> list[Entry]:
    """But for what the Log keeps no longer."""
    await world.policies.refresh()
    now, found = world.clock.now(), await world.ledger.hand_over.away(after, upto, world.dice.unit())
    return [one.entry for one in found if not has_expired(one, world.policies.known(one.org_id).log_kept, now)]


async def of_late_turns(world: World, memory: Memory) -> list[Finding]:
    """Those that stood at the last look exactly as they stand now; without a bot nobody would take them."""
    if not world.tuning.answering:
        return []
    now, turns = world.clock.now(), world.tuning.turns
    due_before = Instant(now - turns.max_wait - OVERDUE)
    late = await world.ledger.detector.late(due_before, Instant(now - turns.lease - OVERDUE), MOST)
    before, memory.late = memory.late, frozenset(late)
    return [each.finding for each in late if each in before]


async def look(world: World, after: int, upto: int) -> Sequence[Finding]:
    return await world.ledger.detector.look(wanted(world.tuning, world.clock.now(), after, upto))


def wanted(tuning: Tuning, now: Instant, after: int, upto: int) -> Look:
    return Look(
        after=max(0, after),
        upto=upto,
        unsettled=Span(STALE_TIMES * (tuning.stale + tuning.door_gap)),
        accepted_since=Instant(now - WINDOWS_SINCE),
        enforce_window=tuning.enforce_window,
        clock_slack=CLOCK_SLACK,
        most=MOST,
    )


def overdrawn(before: dict[str, Permit], now: Sequence[Permit]) -> list[Finding]:
    """Drawn beyond a limit that stood unchanged since the last look: one that was lowered may well be below what
    was drawn, and is then drawn from no further."""
    found = []
    for permit in now:
        known = before.get(permit.name)
        before[permit.name] = permit
        if known is None or permit.most is None or permit.used <= permit.most or known.most != permit.most:
            continue
        if known.since != permit.since or permit.used > known.used:
            found.append(Finding(Invariant.ABOVE_QUOTA, f"org {permit.name.partition(':')[2]}"))
    return found


def _remember(memory: Memory, fresh: Sequence[Finding]) -> None:
    memory.told.update(dict.fromkeys(fresh))
    while len(memory.told) > REMEMBERED:
        del memory.told[next(iter(memory.told))]
