"""Invariant checks: every minute, looks for violations in live data and reports each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from waypost.flow.world import Tuning, World
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.history import PendingArchiveEntry
from waypost.model.time import Instant, Span, minutes
from waypost.ports.operations.invariants import ConversationScan, Invariant, InvariantFinding, LateTurn, MessageScan
from waypost.ports.platform.failure import LedgerError
from waypost.rules.history.archive import has_expired
from waypost.rules.limits.send_pace import Permit

LOOK_EVERY: Span = minutes(1)
RECENT = 2_000
"""How many of the newest messages every run checks."""
PAGE = 5_000
"""How many older messages each run checks, continuing where the last one ended."""
MOST = 20
QUOTAS = 5_000
REMEMBERED = 10_000
STALE_TIMES = 3
"""A message unsettled for three times the stale limit is a violation."""
ACCEPTED_WITHIN: Span = minutes(10)
CLOCK_SLACK: Span = minutes(1)


CONVERSATIONS = 1_000
"""How many conversations each run checks: the newest, and the next page of older ones."""
ENTRIES = 5_000
"""How many entries each run looks at for archived bodies, continuing where the last one ended."""
FIRST = (ConversationId(0), Position(0))
LATEST = 100
FEEDS = 500
OVERDUE: Span = minutes(5)
"""How late a turn may be before it is a violation."""
RECEIVED_WITHIN: Span = minutes(10)


@dataclass
class DetectorState:
    """Where the checks of one process continue, and what they have reported."""

    last_message: int = 0
    last_conversation: int = 0
    last_feed: str = ""
    last_archived: tuple[ConversationId, Position] | None = None
    late_turns: frozenset[LateTurn] = frozenset()
    reported: dict[InvariantFinding, None] = field(default_factory=dict)
    quotas: dict[str, Permit] = field(default_factory=dict)


async def detect(world: World, state: DetectorState) -> list[InvariantFinding]:
    """Checks the newest data and the next page of older data; returns the new violations."""
    found = await check_messages(world, state)
    found += await check_conversations(world, state)
    found += await check_feeds(world, state)
    found += await check_bodies(world, state)
    found += await check_late_turns(world, state)
    found += overdrawn(state.quotas, await world.ledger.invariants.quotas(QUOTAS))
    new = [finding for finding in dict.fromkeys(found) if finding not in state.reported]
    for finding in new:
        world.meters.violated(finding.invariant.value, finding.subject)
    _remember(state, new)
    await world.ledger.operator_reads.record_detector_run(world.clock.now())
    return new


async def check_messages(world: World, state: DetectorState) -> list[InvariantFinding]:
    newest = await world.ledger.invariants.newest()
    found = list(await scan_messages(world, newest - RECENT, newest))
    older = newest - RECENT
    if older > 0:
        after = state.last_message if state.last_message < older else 0
        state.last_message = min(after + PAGE, older)
        found += await scan_messages(world, after, state.last_message)
    return found


async def check_conversations(world: World, state: DetectorState) -> list[InvariantFinding]:
    detector, now = world.ledger.invariants, world.clock.now()
    newest = await detector.newest_conversation()
    found = list(await detector.conversations(conversation_scan(now, newest - CONVERSATIONS, newest)))
    older = newest - CONVERSATIONS
    if older > 0:
        after = state.last_conversation if state.last_conversation < older else 0
        state.last_conversation = min(after + CONVERSATIONS, older)
        found += await detector.conversations(conversation_scan(now, after, state.last_conversation))
    return found


def conversation_scan(now: Instant, after: int, upto: int) -> ConversationScan:
    since = Instant(now - RECEIVED_WITHIN)
    return ConversationScan(after=max(0, after), upto=upto, latest=LATEST, arrived_since=since, most=MOST)


async def check_feeds(world: World, state: DetectorState) -> Sequence[InvariantFinding]:
    found, further = await world.ledger.invariants.feeds(state.last_feed, FEEDS, LATEST)
    state.last_feed = further or ""
    return found


async def check_bodies(world: World, state: DetectorState) -> list[InvariantFinding]:
    """Whether the history store has the archived ones of the next entries. Each process begins anywhere."""
    if not world.history_separate:
        return []
    after = state.last_archived
    if after is None:
        newest = await world.ledger.invariants.newest_conversation()
        after = (ConversationId(int(world.random.unit() * newest)), Position(0))
    away, last = await world.ledger.archive.away_after(after, ENTRIES)
    state.last_archived = last or FIRST
    entries = await _unexpired(away, world)
    try:
        stored = await world.history.stored([entry.archive_key for entry in entries]) if entries else []
    except LedgerError:
        return []  # an outage is not a violation
    kept = {(one.conversation_id, one.id_at) for one in stored}
    missing = [one for one in entries if (one.archive_key.conversation_id, one.archive_key.id_at) not in kept]
    return [InvariantFinding(Invariant.BODY_LOST, f"conversation {one.conversation_id}") for one in missing]


async def _unexpired(away: Sequence[PendingArchiveEntry], world: World) -> list[Entry]:
    await world.policies.refresh()
    now = world.clock.now()
    return [one.entry for one in away if not has_expired(one, world.policies.known(one.org_id).history_retention, now)]


async def check_late_turns(world: World, state: DetectorState) -> list[InvariantFinding]:
    """Turns that are late and unchanged since the last run; without a bot there are none."""
    if not world.tuning.answering:
        return []
    now, turns = world.clock.now(), world.tuning.turns
    due_before = Instant(now - turns.max_wait - OVERDUE)
    late_turns = await world.ledger.invariants.late(due_before, Instant(now - turns.lease - OVERDUE), MOST)
    before, state.late_turns = state.late_turns, frozenset(late_turns)
    return [each.finding for each in late_turns if each in before]


async def scan_messages(world: World, after: int, upto: int) -> Sequence[InvariantFinding]:
    return await world.ledger.invariants.look(message_scan(world.tuning, world.clock.now(), after, upto))


def message_scan(tuning: Tuning, now: Instant, after: int, upto: int) -> MessageScan:
    return MessageScan(
        after=max(0, after),
        upto=upto,
        unsettled=Span(STALE_TIMES * (tuning.stale + tuning.webhook_gap)),
        accepted_since=Instant(now - ACCEPTED_WITHIN),
        enforce_window=tuning.enforce_window,
        clock_slack=CLOCK_SLACK,
        most=MOST,
    )


def overdrawn(before: dict[str, Permit], now: Sequence[Permit]) -> list[InvariantFinding]:
    """Quotas drawn beyond a limit that did not change since the last run: a limit may be lowered below what was
    already drawn."""
    found = []
    for permit in now:
        known = before.get(permit.name)
        before[permit.name] = permit
        if known is None or permit.most is None or permit.used <= permit.most or known.most != permit.most:
            continue
        if known.since != permit.since or permit.used > known.used:
            found.append(InvariantFinding(Invariant.ABOVE_QUOTA, f"org {permit.name.partition(':')[2]}"))
    return found


def _remember(state: DetectorState, new: Sequence[InvariantFinding]) -> None:
    state.reported.update(dict.fromkeys(new))
    while len(state.reported) > REMEMBERED:
        del state.reported[next(iter(state.reported))]
