"""The turn queue: each burst is claimed by one worker and answered once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.conversation import (
    Conversation,
    ConversationId,
    EndedTurn,
    Entry,
    Position,
    TurnClaim,
    TurnState,
    TurnTiming,
)
from waypost.model.ids import Fence, MessageId, OrgId, WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant, Span
from waypost.rules.conversations.turn_state import LeaseLost

TurnTimingOf: TypeAlias = Callable[[OrgId], TurnTiming]


class TurnDemand(msgspec.Struct, frozen=True):
    owner: WorkerId
    slots: int


class TurnCommitted(msgspec.Struct, frozen=True, tag=True):
    turn_state: TurnState
    replies: Sequence[MessageId]
    """Their messages in the outbox, in order."""
    blocked: int
    """Replies that were not stored: consent was revoked, or another message has their idempotency key."""


class TurnPostponed(msgspec.Struct, frozen=True, tag=True):
    """A failed turn will be retried with exactly the same burst."""

    at: Instant


class TurnDeadLettered(msgspec.Struct, frozen=True, tag=True):
    """A failed turn has become a dead letter."""

    floor: str


class NoConversation(msgspec.Struct, frozen=True, tag=True):
    """The org has no conversation with this id."""


class FloorTaken(msgspec.Struct, frozen=True, tag=True):
    turn_state: TurnState
    cancelled: Sequence[MessageId]
    """The bot's replies that had not been sent yet."""


class OpenTurn(msgspec.Struct, frozen=True, kw_only=True):
    turn_state: TurnState
    conversation: Conversation
    waiting: int
    """Messages that need an answer."""
    waiting_since: Instant | None
    """When the first of them was stored."""


class TurnAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A bot's decision."""

    drafts: tuple[Draft, ...] = ()
    hand_over: str | None = None
    """The reason for a handover to any agent."""


class TurnQueue(Protocol):
    async def claim(self, demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Sequence[TurnClaim]:
        """Claim turns that are due, and turns whose lease has ended; each is claimed by one worker only.

        A turn takes at most `MOST_MESSAGES` of the customer's messages; the rest of the burst is the next turn, due
        when this one has ended.
        A worker that takes over gets exactly the same burst, under the same turn id.
        """

    async def commit(self, claim: TurnClaim, answered: TurnAnswer, now: Instant) -> TurnCommitted | LeaseLost:
        """Store the replies and end the turn in one transaction, if this claim still holds it; else change nothing."""

    async def fail(
        self,
        claim: TurnClaim,
        error: str,
        times: TurnTiming,
        now: Instant,
        *,
        hopeless: bool = False,
        wait: Span | None = None,
    ) -> TurnPostponed | TurnDeadLettered | LeaseLost:
        """The bot gave no answer: retry the same burst later, or give it up as a dead letter."""

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        """Extend the leases of these turns from now; returns those that are still held."""

    async def let_go(self, claims: Sequence[TurnClaim], now: Instant) -> None:
        """Return turns before they were answered; no attempt is counted."""

    async def abandon(self, owner: WorkerId, now: Instant) -> int:
        """Release the turns of a worker that is known to be gone, so that others can claim them. Returns how many."""

    async def take_floor(
        self, org: OrgId, conversation: ConversationId, holder: str, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        """Give the floor to an agent: the bot loses its turn, and its replies that were not sent are cancelled."""

    async def hand_back(
        self, org: OrgId, conversation: ConversationId, times: TurnTiming, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        """Give the floor back to the bot."""

    async def next_due(self) -> Instant | None:
        """When the next turn is due or its lease ends."""

    async def stale(self, now: Instant) -> int:
        """The number of claimed turns whose lease has ended."""

    async def open(self, org: OrgId, limit: int) -> Sequence[OpenTurn]:
        """Turns that are claimed or waiting, longest waiting first."""

    async def failed(self, org: OrgId, limit: int) -> Sequence[EndedTurn]:
        """Dead letters: turns that were given up, newest first."""

    async def ended(self, org: OrgId, conversation: ConversationId, hi: Position) -> EndedTurn | None:
        """The ended turn up to this message, if it is this org's."""

    async def replay(
        self, org: OrgId, conversation: ConversationId, hi: Position, now: Instant, actor: str
    ) -> TurnState | NoConversation | LeaseLost:
        """Let the bot answer a dead-lettered burst; LeaseLost if something was answered since, or if it is not a dead
        letter: it was replayed already, or never given up."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Prune turns that ended before then, oldest first; dead letters stay. Returns how many."""

    async def history(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        """The latest entries, oldest first, without the customer's messages from this position on."""
