"""Whose turn it is: one row per conversation, and every way in which it may change.

Arrival and commit write the same row, so no wake-up is lost; the reply is inside the fenced transaction, so no burst is
answered twice. Who takes over an expired turn runs exactly the same (done, hi].
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.model.conversation import ANYBODY, BOT, Lane, Position, Times
from waypost.model.ids import Fence, WorkerId
from waypost.model.time import Instant, Span, seconds

MOST_TAKEOVERS = 5
"""Beyond the tries that a bot may fail."""
LONGEST_WISH: Span = seconds(60)
"""A bot may ask for more time, but a customer waits."""


class LeaseLost(msgspec.Struct, frozen=True, tag=True):
    """Somebody else has the turn, or the floor: nothing was changed."""


class Dead(msgspec.Struct, frozen=True, tag=True):
    """The turn kept failing and was given up: it is a dead letter, and a person's."""

    lane: Lane


class Again(msgspec.Struct, frozen=True, tag=True):
    lane: Lane


Failed: TypeAlias = Again | Dead | LeaseLost


def arrive(lane: Lane, position: Position, now: Instant, times: Times) -> Lane:
    """A message that asks for an answer was stored at `position`."""
    is_next = lane.tail == lane.hi  # nothing else waits for the turn after this one
    if lane.tail == 0:  # nothing was ever asked: what was said before there was a bot needs no answer
        lane = replace(lane, done=Position(position - 1))
    lane = replace(lane, tail=position)
    if lane.floor != BOT:
        return lane
    first_at = now if lane.first_at is None else lane.first_at
    if lane.hi is None:
        return replace(lane, first_at=first_at, due_at=_due(first_at, now, times))
    if times.supersede and is_next and now < first_at + times.max_wait:
        return replace(_idle(lane), fence=Fence(lane.fence + 1), first_at=first_at, due_at=_due(first_at, now, times))
    first_at = now if is_next else first_at
    if lane.owner is None:  # its try failed and it waits for the next: that one is due when it was
        return replace(lane, first_at=first_at)
    return replace(lane, first_at=first_at, due_at=_due(first_at, now, times))


def overhear(lane: Lane, position: Position) -> Lane:
    """An edit or a revoke: it asks for nothing, but belongs to a burst that still waits."""
    waits = lane.floor == BOT and lane.hi is None and lane.tail > lane.done
    return replace(lane, tail=position) if waits else lane


def _due(first_at: Instant, now: Instant, times: Times) -> Instant:
    return Instant(min(now + times.quiet, first_at + times.max_wait))


def _idle(lane: Lane) -> Lane:
    return replace(lane, hi=None, owner=None, claimed_at=None, lease_until=None, tries=0)


def is_taken(lane: Lane) -> bool:
    """Whether a message that arrives now must wait for a turn that is under way."""
    return lane.owner is not None


def is_due(lane: Lane, now: Instant) -> bool:
    if lane.floor != BOT or lane.tail <= lane.done:
        return False
    if lane.owner is not None:
        return lane.lease_until is None or lane.lease_until <= now
    return lane.due_at is not None and lane.due_at <= now


def claim(lane: Lane, owner: WorkerId, now: Instant, times: Times) -> Lane:
    """Take a turn that is due, or one whose worker fell silent; the same lane when it is neither."""
    if not is_due(lane, now):
        return lane
    taken = lane
    if lane.hi is None:
        first_at = lane.first_at if times.supersede else None  # who may start anew must know since when it thinks
        taken = replace(lane, hi=lane.tail, first_at=first_at, due_at=None, tries=0)
    if lane.owner is not None:  # a burst that kills whoever runs it must not go on for ever
        taken = replace(lane, tries=lane.tries + 1)
    since = now if lane.claimed_at is None else lane.claimed_at
    lease_until = Instant(now + times.lease)
    return replace(taken, fence=Fence(lane.fence + 1), owner=owner, claimed_at=since, lease_until=lease_until)


def is_worn_out(lane: Lane, times: Times) -> bool:
    """Worker after worker fell silent over the same burst: it is given up before it takes one more along."""
    return lane.tries > len(times.retries) + MOST_TAKEOVERS


def holds(lane: Lane, fence: Fence) -> bool:
    return lane.owner is not None and lane.fence == fence


def commit(lane: Lane, fence: Fence, now: Instant) -> Lane | LeaseLost:
    """The turn was answered; what arrived meanwhile is due as it was put down, at the latest now."""
    if not holds(lane, fence) or lane.hi is None:
        return LeaseLost()
    answered = _idle(replace(lane, done=lane.hi))
    if answered.tail <= answered.done:
        return replace(answered, first_at=None, due_at=None)
    return replace(answered, due_at=now if lane.due_at is None else lane.due_at)


def fail(lane: Lane, fence: Fence, now: Instant, times: Times, *, hopeless: bool, wait: Span | None) -> Failed:
    """A try brought no answer: again after a while, exactly the same burst, or not at all."""
    if not holds(lane, fence):
        return LeaseLost()
    if hopeless or lane.tries >= len(times.retries):
        given_up = commit(lane, fence, now)
        if isinstance(given_up, LeaseLost):
            return given_up
        return Dead(given_up if times.after_failure == "bot" else hand_over(given_up, ANYBODY))
    pause = max(times.retries[lane.tries], min(wait or 0, LONGEST_WISH))
    waiting = replace(lane, owner=None, claimed_at=None, lease_until=None, tries=lane.tries + 1)
    return Again(replace(waiting, due_at=Instant(now + pause)))


def let_go(lane: Lane, fence: Fence, now: Instant) -> Lane:
    """Its worker stops before it answered: the next one runs the same burst at once, and no try was spent."""
    if not holds(lane, fence):
        return lane
    return replace(lane, owner=None, claimed_at=None, lease_until=None, due_at=now)


def hand_over(lane: Lane, holder: str) -> Lane:
    """The floor is somebody else's: whoever is thinking has lost the turn."""
    return replace(_idle(lane), fence=Fence(lane.fence + 1), floor=holder, first_at=None, due_at=None)


def speak(lane: Lane) -> Lane:
    """A person with the floor wrote to the customer: nothing that came before waits for the bot any more."""
    return lane if lane.floor == BOT else replace(lane, done=max(lane.done, lane.tail))


def hand_back(lane: Lane, now: Instant, times: Times) -> Lane:
    """The bot has the floor again, and answers what came meanwhile if it is set so."""
    if lane.floor == BOT:
        return lane
    if times.on_hand_back == "skip":
        return close(lane)
    back = hand_over(lane, BOT)
    return replace(back, first_at=now, due_at=now) if back.tail > back.done else back


def close(lane: Lane) -> Lane:
    """A person is done with the conversation: the bot has the floor again, and answers only what comes from now on."""
    if lane.floor == BOT:
        return lane
    back = hand_over(lane, BOT)
    return replace(back, done=max(back.done, back.tail))


def reopen(lane: Lane, lo: Position, hi: Position, now: Instant) -> Lane | LeaseLost:
    """A burst that was given up is the bot's again, unless something was answered since."""
    if lane.done != hi or lane.owner is not None:
        return LeaseLost()
    back = replace(_idle(lane), fence=Fence(lane.fence + 1), floor=BOT, done=lo)
    return replace(back, tail=max(lane.tail, hi), first_at=now, due_at=now)


class Seam(msgspec.Struct, frozen=True, kw_only=True):
    """Where two conversations are cut to become one: answered here, answered there, waiting here, waiting there."""

    here: Position
    """The last of what stays before which nothing waits; and so for what is gone."""
    here_end: Position
    gone: Position
    gone_end: Position

    @property
    def end(self) -> Position:
        return Position(self.here_end + self.gone_end)

    @property
    def moves_waiting(self) -> bool:
        """Something that was answered there comes before what waits here."""
        return self.gone > 0 and self.here < self.here_end


def joined(here: Lane, gone: Lane, seam: Seam, now: Instant) -> Lane:
    """Two lanes turn out to be one person's, and their conversations are one now, cut and put together at `seam`.

    What waits in either waits here; what was answered in either is not asked again; a person who had either floor has
    it. A turn whose messages have moved is lost, and asked anew at once.
    """
    if gone.floor != BOT and here.floor == BOT:
        here = hand_over(here, gone.floor)
    asks, is_lost = gone.tail > gone.done, seam.moves_waiting and here.hi is not None
    if is_lost:
        here = replace(_idle(here), fence=Fence(here.fence + 1), first_at=now, due_at=now)
    here = replace(here, done=_joined_done(here, gone, seam), tail=_joined_tail(here, gone, seam))
    if not asks or here.floor != BOT or is_lost:
        return here
    first_at = min(at for at in (here.first_at, gone.first_at, now) if at is not None)
    if here.hi is not None and here.owner is None:  # a try of it failed: the next one is due when it was
        return replace(here, first_at=first_at)
    due_at = min((at for at in (here.due_at, gone.due_at) if at is not None), default=now)
    return replace(here, first_at=first_at, due_at=due_at)


def _joined_done(here: Lane, gone: Lane, seam: Seam) -> Position:
    """No further than it must be: what was given up last can be asked again while nothing came after it."""
    if here.tail > here.done:
        return Position(seam.here + seam.gone) if seam.moves_waiting else here.done
    return Position(seam.here_end + gone.done) if gone.tail > gone.done else seam.end


def _joined_tail(here: Lane, gone: Lane, seam: Seam) -> Position:
    if gone.tail > gone.done:
        return Position(seam.here_end + gone.tail)
    return Position(here.tail + seam.gone) if here.tail > here.done else seam.end
