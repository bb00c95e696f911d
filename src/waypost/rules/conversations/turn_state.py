"""Turn state: one row per conversation, and all its transitions.

An inbound message and a commit write the same row, so no wake-up is lost; the reply is part of the fenced transaction,
so no burst is answered twice. A worker that takes over an expired turn runs exactly the same (done, hi].
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.model.conversation import ANYBODY, BOT, Position, TurnState, TurnTiming
from waypost.model.ids import Fence, WorkerId
from waypost.model.time import Instant, Span, seconds

MOST_MESSAGES = 50
"""Of a customer, in one turn; the rest of a longer burst is the next turn."""
MOST_TAKEOVERS = 5
"""In addition to the failed attempts that are allowed."""
LONGEST_WISH: Span = seconds(60)
"""The longest delay that a bot may ask for, since a customer waits."""


class LeaseLost(msgspec.Struct, frozen=True, tag=True):
    """The claim no longer holds the turn or the floor; nothing was changed."""


class TurnGivenUp(msgspec.Struct, frozen=True, tag=True):
    """The turn kept failing and was given up: it is a dead letter."""

    turn_state: TurnState


class TurnRetried(msgspec.Struct, frozen=True, tag=True):
    turn_state: TurnState


TurnFailure: TypeAlias = TurnRetried | TurnGivenUp | LeaseLost


def arrive(state: TurnState, position: Position, now: Instant, times: TurnTiming) -> TurnState:
    """A message that needs an answer was stored at `position`."""
    is_next = state.tail == state.hi  # nothing else waits for the turn after this one
    if state.tail == 0:  # the first one: messages from before there was a bot need no answer
        state = replace(state, done=Position(position - 1))
    state = replace(state, tail=position)
    if state.floor != BOT:
        return state
    first_at = now if state.first_at is None else state.first_at
    if state.hi is None:
        return replace(state, first_at=first_at, due_at=_due(first_at, now, times))
    if times.supersede and is_next and now < first_at + times.max_wait:
        return replace(_idle(state), fence=Fence(state.fence + 1), first_at=first_at, due_at=_due(first_at, now, times))
    first_at = now if is_next else first_at
    if state.owner is None:  # its attempt failed: the retry keeps its due time
        return replace(state, first_at=first_at)
    return replace(state, first_at=first_at, due_at=_due(first_at, now, times))


def note_edit(state: TurnState, position: Position) -> TurnState:
    """An edit or revocation was stored: it needs no answer, but belongs to a burst that still waits."""
    waits = state.floor == BOT and state.tail > (state.done if state.hi is None else state.hi)
    return replace(state, tail=position) if waits else state


def _due(first_at: Instant, now: Instant, times: TurnTiming) -> Instant:
    return Instant(min(now + times.quiet, first_at + times.max_wait))


def _idle(state: TurnState) -> TurnState:
    return replace(state, hi=None, owner=None, claimed_at=None, lease_until=None, tries=0)


def is_taken(state: TurnState) -> bool:
    """Whether a new message must wait for a running turn."""
    return state.owner is not None


def is_due(state: TurnState, now: Instant) -> bool:
    if state.floor != BOT or state.tail <= state.done:
        return False
    if state.owner is not None:
        return state.lease_until is None or state.lease_until <= now
    return state.due_at is not None and state.due_at <= now


def is_long(state: TurnState) -> bool:
    """Whether the waiting burst may have more messages than one turn takes: others write into a conversation, too."""
    return state.tail - state.done > MOST_MESSAGES


def claim(state: TurnState, owner: WorkerId, now: Instant, times: TurnTiming, end: Position | None = None) -> TurnState:
    """Claim a turn that is due, or whose lease has ended; otherwise return the same state.

    A new turn takes the whole burst, or its messages up to `end`; then the rest is due when this turn has ended.
    """
    if not is_due(state, now):
        return state
    taken = state
    if state.hi is None:
        hi = state.tail if end is None else end
        is_whole = hi == state.tail
        first_at = state.first_at if times.supersede or not is_whole else None  # `max_wait` counts from here
        taken = replace(state, hi=hi, first_at=first_at, due_at=None if is_whole else now, tries=0)
    if state.owner is not None:  # a burst that crashes its workers must not be retried forever
        taken = replace(state, tries=state.tries + 1)
    since = now if state.claimed_at is None else state.claimed_at
    lease_until = Instant(now + times.lease)
    return replace(taken, fence=Fence(state.fence + 1), owner=owner, claimed_at=since, lease_until=lease_until)


def is_worn_out(state: TurnState, times: TurnTiming) -> bool:
    """Whether so many workers lost the same burst that it must be given up before it crashes another."""
    return state.tries > len(times.retries) + MOST_TAKEOVERS


def holds(state: TurnState, fence: Fence) -> bool:
    return state.owner is not None and state.fence == fence


def commit(state: TurnState, fence: Fence, now: Instant) -> TurnState | LeaseLost:
    """The turn was answered; messages that came since are due as recorded, or now."""
    if not holds(state, fence) or state.hi is None:
        return LeaseLost()
    answered = _idle(replace(state, done=state.hi))
    if answered.tail <= answered.done:
        return replace(answered, first_at=None, due_at=None)
    return replace(answered, due_at=now if state.due_at is None else state.due_at)


def fail(
    state: TurnState, fence: Fence, now: Instant, times: TurnTiming, *, hopeless: bool, wait: Span | None
) -> TurnFailure:
    """An attempt failed: retry exactly the same burst later, or give it up."""
    if not holds(state, fence):
        return LeaseLost()
    if hopeless or state.tries >= len(times.retries):
        given_up = commit(state, fence, now)
        if isinstance(given_up, LeaseLost):
            return given_up
        return TurnGivenUp(given_up if times.after_failure == "bot" else take_floor(given_up, ANYBODY))
    pause = max(times.retries[state.tries], min(wait or 0, LONGEST_WISH))
    waiting = replace(state, owner=None, claimed_at=None, lease_until=None, tries=state.tries + 1)
    return TurnRetried(replace(waiting, due_at=Instant(now + pause)))


def release_turn(state: TurnState, fence: Fence, now: Instant) -> TurnState:
    """Its worker stops before answering: the burst is due at once, and no attempt is counted."""
    if not holds(state, fence):
        return state
    return replace(state, owner=None, claimed_at=None, lease_until=None, due_at=now)


def take_floor(state: TurnState, holder: str) -> TurnState:
    """Give the floor to `holder`; a running turn is lost."""
    return replace(_idle(state), fence=Fence(state.fence + 1), floor=holder, first_at=None, due_at=None)


def human_replied(state: TurnState) -> TurnState:
    """An agent with the floor wrote to the customer: earlier messages need no answer of the bot."""
    return state if state.floor == BOT else replace(state, done=max(state.done, state.tail))


def hand_back(state: TurnState, now: Instant, times: TurnTiming) -> TurnState:
    """Give the floor back to the bot, which answers the messages since then if `on_hand_back` says so."""
    if state.floor == BOT:
        return state
    if times.on_hand_back == "skip":
        return close(state)
    back = take_floor(state, BOT)
    return replace(back, first_at=now, due_at=now) if back.tail > back.done else back


def close(state: TurnState) -> TurnState:
    """An agent closed the conversation: the bot has the floor again and answers only new messages."""
    if state.floor == BOT:
        return state
    back = take_floor(state, BOT)
    return replace(back, done=max(back.done, back.tail))


def reopen(state: TurnState, lo: Position, hi: Position, now: Instant) -> TurnState | LeaseLost:
    """Let the bot answer a given-up burst again, unless something was answered since."""
    if state.done != hi or state.owner is not None:
        return LeaseLost()
    back = replace(_idle(state), fence=Fence(state.fence + 1), floor=BOT, done=lo)
    return replace(back, tail=max(state.tail, hi), first_at=now, due_at=now)


class MergePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where two conversations are cut for a merge: answered here, answered there, waiting here, waiting there."""

    here: Position
    """The last answered position of the remaining conversation; `gone` is that of the merged one."""
    here_end: Position
    gone: Position
    gone_end: Position

    @property
    def end(self) -> Position:
        return Position(self.here_end + self.gone_end)

    @property
    def moves_waiting(self) -> bool:
        """Whether answered messages from there are placed before the waiting ones here."""
        return self.gone > 0 and self.here < self.here_end


def merge_turn_states(here: TurnState, gone: TurnState, seam: MergePoint, now: Instant) -> TurnState:
    """Merge the turn states of two conversations of one customer, cut and joined at `seam`.

    Waiting messages of both wait here; answered ones are not answered again; an agent who had either floor keeps it. A
    turn whose messages have moved is lost and due again at once.
    """
    if gone.floor != BOT and here.floor == BOT:
        here = take_floor(here, gone.floor)
    asks, is_lost = gone.tail > gone.done, seam.moves_waiting and here.hi is not None
    if is_lost:
        here = replace(_idle(here), fence=Fence(here.fence + 1), first_at=now, due_at=now)
    here = replace(here, done=_joined_done(here, gone, seam), tail=_joined_tail(here, gone, seam))
    if not asks or here.floor != BOT or is_lost:
        return here
    first_at = min(at for at in (here.first_at, gone.first_at, now) if at is not None)
    if here.hi is not None and here.owner is None:  # an attempt failed: the retry keeps its due time
        return replace(here, first_at=first_at)
    due_at = min((at for at in (here.due_at, gone.due_at) if at is not None), default=now)
    return replace(here, first_at=first_at, due_at=due_at)


def _joined_done(here: TurnState, gone: TurnState, seam: MergePoint) -> Position:
    """As low as possible, so that the last given-up burst can be replayed while nothing came after it."""
    if here.tail > here.done:
        return Position(seam.here + seam.gone) if seam.moves_waiting else here.done
    return Position(seam.here_end + gone.done) if gone.tail > gone.done else seam.end


def _joined_tail(here: TurnState, gone: TurnState, seam: MergePoint) -> Position:
    if gone.tail > gone.done:
        return Position(seam.here_end + gone.tail)
    return Position(here.tail + seam.gone) if here.tail > here.done else seam.end
